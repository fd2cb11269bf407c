package unpack

import "math/bits"

// stateTable is a finite state entropy decoder: each state is a symbol, and with
// the next bits another state.
type stateTable struct {
	accuracy int // log2 of the number of states
	states   []state
}

type state struct {
	symbol uint8
	bits   uint8
	base   uint16
}

// readStates reads how often each symbol comes, and gives what is behind.
func readStates(packed []byte, mostAccuracy, mostSymbols int) (*stateTable, []byte, error) {
	in := &forward{bytes: packed}
	accuracy := in.read(4) + 5
	if accuracy > mostAccuracy {
		return nil, nil, ErrDamaged
	}
	counts := make([]int, 0, mostSymbols)
	for left := 1 << accuracy; left > 0; {
		count := readCount(in, left)
		if left -= max(count, -count); left < 0 || len(counts) >= mostSymbols {
			return nil, nil, ErrDamaged
		}
		counts = append(counts, count)
		for more := 3; count == 0 && more == 3; {
			if more = in.read(2); len(counts)+more > mostSymbols {
				return nil, nil, ErrDamaged
			}
			counts = append(counts, make([]int, more)...)
		}
	}
	rest, err := in.rest()
	if err != nil {
		return nil, nil, err
	}
	table, err := newStates(accuracy, counts)
	return table, rest, err
}

// readCount reads a number up to left, or -1, in as many bits as that takes: the
// smaller ones have one bit less.
func readCount(in *forward, left int) int {
	width := bits.Len(uint(left + 1))
	short := 1<<width - 1 - (left + 1)
	value := in.read(width)
	if low := value & (1<<(width-1) - 1); low < short {
		in.taken--
		value = low
	} else if value >= 1<<(width-1) {
		value -= short
	}
	return value - 1
}

// newStates spreads the symbols over the states as RFC 8878 says, 4.1.1. A count
// of -1 is a symbol that comes less than once.
func newStates(accuracy int, counts []int) (*stateTable, error) {
	size := 1 << accuracy
	t := &stateTable{accuracy, make([]state, size)}
	next, end := make([]int, len(counts)), size
	for symbol, count := range counts {
		next[symbol] = count
		if count == -1 {
			end--
			t.states[end].symbol = uint8(symbol)
			next[symbol] = 1
		}
	}
	at, step := 0, size>>1+size>>3+3
	for symbol, count := range counts {
		for range count {
			t.states[at].symbol = uint8(symbol)
			for at = (at + step) & (size - 1); at >= end; at = (at + step) & (size - 1) {
			}
		}
	}
	if at != 0 {
		return nil, ErrDamaged
	}
	for i := range t.states {
		s := &t.states[i]
		number := next[s.symbol]
		next[s.symbol]++
		s.bits = uint8(accuracy + 1 - bits.Len(uint(number)))
		s.base = uint16(number<<s.bits - size)
	}
	return t, nil
}
