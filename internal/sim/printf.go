package sim

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"os"
	"strings"

	"dlaunch/internal/driver"
)

// mostOutput is how much one launch may print: CUDA's default buffer.
const mostOutput = 1 << 20

// builtin runs a function of the driver's, lane by lane.
func (w *warp) builtin(at int, c *call) {
	g := &w.groups[at]
	for m := g.mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m)
		arguments := make([]uint64, 5)
		for i, p := range c.args[:min(len(c.args), len(arguments))] {
			arguments[i] = w.passedValue(p, g.frame.base, lane)
		}
		if c.builtin == "__assertfail" {
			w.fail(g.pc, lane, driver.ResultAssert, "assertion `%s` failed at %s:%d, in %s", w.text(arguments[0]), w.text(arguments[1]), arguments[2], w.text(arguments[3]))
			return
		}
		line := formatPrintf(w.text(arguments[0]), w.words(arguments[1], lane), w.text)
		w.block.run.say(line)
		for _, p := range c.returns {
			var result [8]byte
			binary.LittleEndian.PutUint32(result[:], uint32(len(line)))
			if p.slot >= 0 {
				w.registers[p.slot][lane] = uint64(len(line))
			} else {
				copy(w.local[lane][g.frame.base+p.offset:][:p.size], result[:])
			}
		}
	}
}

func (w *warp) passedValue(p passed, base uint64, lane int) uint64 {
	if p.slot >= 0 {
		return w.registers[p.slot][lane]
	}
	var word [8]byte
	copy(word[:], w.local[lane][base+p.offset:][:min(8, p.size)])
	return binary.LittleEndian.Uint64(word[:])
}

// text reads a string of the kernel's memory, as far as it may be read.
func (w *warp) text(address uint64) string {
	var text []byte
	for low, last, ok := w.block.run.find(address, 1, false); ok && address >= low && address <= last && len(text) < mostOutput; address++ {
		c := *(*byte)(pointer(address))
		if c == 0 {
			break
		}
		text = append(text, c)
	}
	return string(text)
}

// words gives a reader of printf's arguments, which lie one after another, each
// at a multiple of its size.
func (w *warp) words(address uint64, lane int) func(size uint64) uint64 {
	memory := w.local[lane]
	return func(size uint64) uint64 {
		address = alignUp(address, size)
		at := address
		address += size
		if spaceAt(at) == local {
			if at -= localWindow; at+size <= uint64(len(memory)) {
				return read(pointerTo(memory, at), uint8(size))
			}
			return 0
		}
		if _, _, ok := w.block.run.find(at, size, false); ok {
			return read(pointer(at), uint8(size))
		}
		return 0
	}
}

// formatPrintf does as C's printf, for what CUDA takes.
func formatPrintf(format string, next func(size uint64) uint64, text func(uint64) string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(format, "%")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		end := strings.IndexAny(rest, "%csdiouxXaAeEfFgGp")
		if end < 0 {
			out.WriteString("%" + rest)
			return out.String()
		}
		spec, verb := rest[:end], rest[end]
		format = rest[end+1:]
		if verb == '%' {
			out.WriteByte('%')
			continue
		}
		out.WriteString(formatOne(spec, verb, next, text))
	}
}

func formatOne(spec string, verb byte, next func(size uint64) uint64, text func(uint64) string) string {
	for strings.Contains(spec, "*") {
		spec = strings.Replace(spec, "*", fmt.Sprint(int32(next(4))), 1)
	}
	flags := strings.TrimRight(spec, "hlzjtqL")
	size := uint64(4)
	if long := spec[len(flags):]; strings.ContainsAny(long, "lzjtq") {
		size = 8
	}
	switch verb {
	case 'c':
		return fmt.Sprintf("%"+flags+"c", rune(uint8(next(4))))
	case 's':
		return fmt.Sprintf("%"+flags+"s", text(next(8)))
	case 'p':
		return fmt.Sprintf("%"+flags+"s", fmt.Sprintf("0x%x", next(8)))
	case 'd', 'i':
		return fmt.Sprintf("%"+flags+"d", extendInt(next(size), size))
	case 'u':
		return fmt.Sprintf("%"+flags+"d", next(size))
	case 'o', 'x', 'X':
		return fmt.Sprintf("%"+flags+string(verb), next(size))
	case 'a', 'A':
		return fmt.Sprintf("%"+flags+string(verb+'x'-'a'), math.Float64frombits(next(8)))
	}
	return fmt.Sprintf("%"+flags+string(verb), math.Float64frombits(next(8)))
}

func extendInt(v, size uint64) int64 { return int64(extend(v, int(size)*8, true)) }

// say adds to what the launch prints when it ends.
func (r *run) say(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.output)+len(line) <= mostOutput {
		r.output = append(r.output, line...)
	}
}

// print writes it to standard output, whole.
func (r *run) print() {
	if len(r.output) == 0 {
		return
	}
	r.simulator.output.Lock()
	defer r.simulator.output.Unlock()
	_, _ = os.Stdout.Write(r.output) // a closed standard output is the user's wish
}
