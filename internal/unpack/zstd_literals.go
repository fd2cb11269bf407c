package unpack

import "math/bits"

// literals unpacks the bytes that a block's sequences take, and gives the sequences.
func (f *frame) literals(packed []byte) (literals, rest []byte, err error) {
	if len(packed) == 0 {
		return nil, nil, ErrDamaged
	}
	const plain, repeated, withCodes = 0, 1, 2
	kind, format := int(packed[0]&3), int(packed[0]>>2&3)
	headerBytes, width, shift := []int{1, 2, 1, 3}[format], []int{5, 12, 5, 20}[format], []int{3, 4, 3, 4}[format]
	if kind >= withCodes {
		headerBytes, width, shift = []int{3, 3, 4, 5}[format], []int{10, 10, 14, 18}[format], 4
	}
	if len(packed) < headerBytes {
		return nil, nil, ErrDamaged
	}
	header := 0
	for i := range headerBytes {
		header |= int(packed[i]) << (8 * i)
	}
	packed = packed[headerBytes:]
	size := header >> shift & (1<<width - 1)
	inFile := size
	switch {
	case kind == repeated:
		inFile = 1
	case kind >= withCodes:
		inFile = header >> (shift + width)
	}
	if size > mostBlock || inFile > len(packed) {
		return nil, nil, ErrDamaged
	}
	content, rest := packed[:inFile], packed[inFile:]
	switch kind {
	case plain:
		return content, rest, nil
	case repeated:
		return repeat([]byte{content[0]}, 1, max(0, size-1))[:size], rest, nil
	case withCodes:
		if f.codes, content, err = readCodes(content); err != nil {
			return nil, nil, err
		}
	}
	if f.codes == nil {
		return nil, nil, ErrDamaged
	}
	literals, err = f.codes.unpack(content, size, format != 0)
	return literals, rest, err
}

// prefixCodes are Huffman's, of up to 11 bits: what any bits begin with.
type prefixCodes struct {
	width   int
	symbols []struct{ symbol, bits uint8 }
}

// readCodes reads the weights of the symbols: the more, the shorter the code.
func readCodes(packed []byte) (*prefixCodes, []byte, error) {
	const plainFrom, mostWidth = 128, 11
	if len(packed) == 0 {
		return nil, nil, ErrDamaged
	}
	header, packed := int(packed[0]), packed[1:]
	inFile, plain := header, max(0, header-plainFrom+1)
	if plain > 0 {
		inFile = (plain + 1) / 2
	}
	if inFile > len(packed) {
		return nil, nil, ErrDamaged
	}
	weights, err := []uint8(nil), error(nil)
	if plain > 0 {
		for i := range plain {
			weights = append(weights, packed[i/2]>>(4*(1-i%2))&15)
		}
	} else if weights, err = readWeights(packed[:inFile]); err != nil {
		return nil, nil, err
	}
	// The last symbol's weight is what makes the sum a power of two.
	sum := 0
	for _, w := range weights {
		if w > 0 {
			sum += 1 << (w - 1)
		}
	}
	width := bits.Len(uint(sum))
	left := 1<<width - sum
	if sum == 0 || width > mostWidth || left&(left-1) != 0 {
		return nil, nil, ErrDamaged
	}
	weights = append(weights, uint8(bits.Len(uint(left))))
	codes := &prefixCodes{width: width, symbols: make([]struct{ symbol, bits uint8 }, 0, 1<<width)}
	for weight := 1; weight <= width; weight++ {
		for symbol, w := range weights {
			for i := 0; int(w) == weight && i < 1<<(weight-1); i++ {
				codes.symbols = append(codes.symbols, struct{ symbol, bits uint8 }{uint8(symbol), uint8(width + 1 - weight)})
			}
		}
	}
	return codes, packed[inFile:], nil
}

// readWeights unpacks weights from two states that take turns, until one finds no
// more bits.
func readWeights(packed []byte) ([]uint8, error) {
	const mostAccuracy, mostWeights = 6, 255
	table, rest, err := readStates(packed, mostAccuracy, 16)
	if err != nil {
		return nil, err
	}
	in, err := newBackward(rest)
	if err != nil {
		return nil, err
	}
	var weights []uint8
	turns := [2]int{in.read(table.accuracy), in.read(table.accuracy)}
	for turn := 0; len(weights) < mostWeights-1; turn = 1 - turn {
		s := table.states[turns[turn]]
		weights = append(weights, s.symbol)
		turns[turn] = int(s.base) + in.read(int(s.bits))
		if in.left < 0 {
			return append(weights, table.states[turns[1-turn]].symbol), nil
		}
	}
	return nil, ErrDamaged
}

// unpack unpacks one stream, or four of which the first three tell their sizes.
func (c *prefixCodes) unpack(packed []byte, size int, four bool) ([]byte, error) {
	out := make([]byte, 0, size)
	streams, each := [][]byte{packed}, size
	if four {
		const table = 6
		if len(packed) < table {
			return nil, ErrDamaged
		}
		each, streams = (size+3)/4, streams[:0]
		rest := packed[table:]
		for i := range 3 {
			n := int(packed[2*i]) | int(packed[2*i+1])<<8
			if n > len(rest) {
				return nil, ErrDamaged
			}
			streams, rest = append(streams, rest[:n]), rest[n:]
		}
		streams = append(streams, rest)
	}
	for _, stream := range streams {
		in, err := newBackward(stream)
		if err != nil {
			return nil, err
		}
		for range min(each, size-len(out)) {
			s := c.symbols[in.peek(c.width)]
			in.left -= int(s.bits)
			out = append(out, s.symbol)
		}
		if in.left != 0 {
			return nil, ErrDamaged
		}
	}
	if len(out) != size {
		return nil, ErrDamaged
	}
	return out, nil
}
