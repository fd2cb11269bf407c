package unpack

// valueCode is a number's least value, and how many bits are added to it.
type valueCode struct {
	base int
	bits int
}

// A field of a sequence: its codes, how exact its table can be, and the table that
// it has when none is given.
type field struct {
	codes        []valueCode
	mostAccuracy int
	accuracy     int
	counts       []int
}

// fields gives those of literal lengths, offsets and match lengths (RFC 8878,
// 3.1.1.3.2.1.1 and 3.1.1.3.2.2).
func fields() [3]field {
	return [3]field{
		{
			valueCodes(0, []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}), 9, 6,
			[]int{4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1},
		},
		{
			valueCodes(1, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31}), 8, 5,
			[]int{1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1},
		},
		{
			valueCodes(3, []int{
				0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
				1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
			}), 9, 6,
			[]int{
				1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
				1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
			},
		},
	}
}

// valueCodes gives codes that follow each other without a gap.
func valueCodes(first int, widths []int) []valueCode {
	codes := make([]valueCode, len(widths))
	for i, bits := range widths {
		codes[i] = valueCode{first, bits}
		first += 1 << bits
	}
	return codes
}

// sequences appends what a block becomes: some literals, then some of what came
// before, again and again, and the literals that are left.
func (f *frame) sequences(literals, packed []byte) error {
	count, packed, err := sequenceCount(packed)
	if err != nil {
		return err
	}
	most := min(f.size, len(f.out)+mostBlock)
	if count > 0 {
		if literals, err = f.runSequences(count, literals, packed, most); err != nil {
			return err
		}
	} else if len(packed) > 0 {
		return ErrDamaged
	}
	if len(literals) > most-len(f.out) {
		return ErrDamaged
	}
	f.out = append(f.out, literals...)
	return nil
}

func sequenceCount(packed []byte) (int, []byte, error) {
	const two, three, threeFrom = 128, 255, 0x7f00
	switch {
	case len(packed) > 0 && packed[0] < two:
		return int(packed[0]), packed[1:], nil
	case len(packed) > 1 && packed[0] < three:
		return int(packed[0]-two)<<8 | int(packed[1]), packed[2:], nil
	case len(packed) > 2:
		return int(packed[1]) | int(packed[2])<<8 + threeFrom, packed[3:], nil
	}
	return 0, nil, ErrDamaged
}

// readTables makes the three tables as the block says: the usual one, one symbol
// only, one that is given, or the last block's.
func (f *frame) readTables(of [3]field, packed []byte) ([]byte, error) {
	const usual, single, given = 0, 1, 2
	if len(packed) == 0 || packed[0]&3 != 0 {
		return nil, ErrDamaged
	}
	modes, rest := packed[0], packed[1:]
	for i := range of {
		err := error(nil)
		switch modes >> (6 - 2*i) & 3 {
		case usual:
			f.tables[i], err = newStates(of[i].accuracy, of[i].counts)
		case single:
			if len(rest) == 0 || int(rest[0]) >= len(of[i].codes) {
				return nil, ErrDamaged
			}
			f.tables[i], rest = &stateTable{0, []state{{symbol: rest[0]}}}, rest[1:]
		case given:
			f.tables[i], rest, err = readStates(rest, of[i].mostAccuracy, len(of[i].codes))
		}
		if err != nil {
			return nil, err
		}
		if f.tables[i] == nil {
			return nil, ErrDamaged
		}
	}
	return rest, nil
}

func (f *frame) runSequences(count int, literals, packed []byte, most int) ([]byte, error) {
	const literal, offset, match = 0, 1, 2
	of := fields()
	packed, err := f.readTables(of, packed)
	if err != nil {
		return nil, err
	}
	in, err := newBackward(packed)
	if err != nil {
		return nil, err
	}
	var states [3]state
	for i, t := range f.tables {
		states[i] = t.states[in.read(t.accuracy)]
	}
	for n := range count {
		var values [3]int
		for _, i := range []int{offset, match, literal} {
			code := of[i].codes[states[i].symbol]
			values[i] = code.base + in.read(code.bits)
		}
		back := f.offset(values[offset], values[literal] == 0)
		if values[literal] > len(literals) || values[literal]+values[match] > most-len(f.out) {
			return nil, ErrDamaged
		}
		f.out, literals = append(f.out, literals[:values[literal]]...), literals[values[literal]:]
		if back <= 0 || back > len(f.out) {
			return nil, ErrDamaged
		}
		f.out = repeat(f.out, back, values[match])
		if n == count-1 {
			break
		}
		for _, i := range []int{literal, match, offset} {
			states[i] = f.tables[i].states[int(states[i].base)+in.read(int(states[i].bits))]
		}
	}
	if in.left != 0 {
		return nil, ErrDamaged
	}
	return literals, nil
}

// offset gives how far back a value means: up to 3 it is one of the last three, of
// which the first makes no sense right behind a match.
func (f *frame) offset(value int, noLiterals bool) int {
	last := &f.offsets
	if value > 3 {
		*last = [3]int{value - 3, last[0], last[1]}
		return last[0]
	}
	if noLiterals {
		value++
	}
	switch value {
	case 2:
		*last = [3]int{last[1], last[0], last[2]}
	case 3:
		*last = [3]int{last[2], last[0], last[1]}
	case 4:
		*last = [3]int{last[0] - 1, last[0], last[1]}
	}
	return last[0]
}
