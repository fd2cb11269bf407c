package launch

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// isMapped says whether this process can read size bytes at an address, by what the
// kernel lists: that touches nothing, and works where ptrace calls are forbidden.
func isMapped(address, size uintptr) bool {
	file, err := os.Open("/proc/self/maps")
	if err != nil {
		return false
	}
	defer file.Close()
	end := address + size
	if end < address {
		return false
	}
	for lines := bufio.NewScanner(file); lines.Scan(); { // in the order of addresses
		low, high, readable := mapping(lines.Text())
		if readable && low <= address && address < high {
			address = high // and what follows
		}
		if address >= end {
			return true
		}
	}
	return false
}

// mapping reads a line: 7f2c8a000000-7f2c8a021000 rw-p 00000000 00:00 0.
func mapping(line string) (low, high uintptr, readable bool) {
	bounds, rest, _ := strings.Cut(line, " ")
	from, to, _ := strings.Cut(bounds, "-")
	l, badLow := strconv.ParseUint(from, 16, 64)
	h, badHigh := strconv.ParseUint(to, 16, 64)
	return uintptr(l), uintptr(h), badLow == nil && badHigh == nil && strings.HasPrefix(rest, "r")
}
