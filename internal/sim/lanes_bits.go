package sim

import "math/bits"

// product gives all 128 bits.
func product(a, b uint64, sign bool) (high, low uint64) {
	high, low = bits.Mul64(a, b)
	if sign {
		if int64(a) < 0 {
			high -= b
		}
		if int64(b) < 0 {
			high -= a
		}
	}
	return high, low
}

// multiplyHigh gives mul.hi and mad.hi (add the third operand).
func multiplyHigh(kind string, add bool) laneFunc {
	width, sign := widthOf(kind), isSigned(kind)
	return func(a, b, c uint64) uint64 {
		high, low := product(extend(a, width, sign), extend(b, width, sign), sign)
		if width < 64 {
			high = low >> width
		}
		if add {
			high += c
		}
		return high & maskOf(width)
	}
}

func multiplyWide(kind string, add bool) laneFunc {
	width, sign := widthOf(kind), isSigned(kind)
	return func(a, b, c uint64) uint64 {
		wide := extend(a, width, sign) * extend(b, width, sign)
		if add {
			wide += c
		}
		return wide & maskOf(2*width)
	}
}

// multiply24 takes 24 bits of each operand.
func multiply24(kind string, high, add bool) laneFunc {
	sign := isSigned(kind)
	return func(a, b, c uint64) uint64 {
		v := extend(a, 24, sign) * extend(b, 24, sign)
		if high {
			v >>= 16
		}
		if add {
			v += c
		}
		return v & maskOf(32)
	}
}

// saturate32 is add.sat.s32 and sub.sat.s32.
func saturate32(subtract bool) laneFunc {
	return func(a, b, _ uint64) uint64 {
		v := int64(int32(a)) + int64(int32(b))
		if subtract {
			v = int64(int32(a)) - int64(int32(b))
		}
		return uint64(uint32(max(-1<<31, min(v, 1<<31-1))))
	}
}

func bitFieldExtract(kind string) laneFunc {
	width, sign := widthOf(kind), isSigned(kind)
	return func(a, b, c uint64) uint64 {
		at, length := int(b&0xff), int(c&0xff)
		if length == 0 {
			return 0
		}
		last := min(at+length-1, width-1)
		filled := uint64(0)
		if sign && a>>last&1 != 0 {
			filled = maskOf(width)
		}
		if at >= width {
			return filled
		}
		kept := maskOf(min(length, width-at))
		return (filled&^kept | a>>at&kept) & maskOf(width)
	}
}

func bitFieldInsert(width int, f, into, at, length uint64) uint64 {
	at, length = at&0xff, length&0xff
	if at >= uint64(width) || length == 0 {
		return into
	}
	kept := maskOf(int(min(length, uint64(width)-at))) << at
	return into&^kept | f<<at&kept
}

func findLeading(kind string, shift bool) laneFunc {
	width, sign := widthOf(kind), isSigned(kind)
	return func(a, _, _ uint64) uint64 {
		if sign && a>>(width-1)&1 != 0 {
			a = ^a & maskOf(width)
		}
		if a == 0 {
			return maskOf(32)
		}
		at := bits.Len64(a) - 1
		if shift {
			at = width - 1 - at
		}
		return uint64(at)
	}
}

func bitLane(name string, width int) laneFunc {
	switch name {
	case "clz":
		return func(a, _, _ uint64) uint64 { return uint64(bits.LeadingZeros64(a) - 64 + width) }
	case "brev":
		return func(a, _, _ uint64) uint64 { return bits.Reverse64(a) >> (64 - width) }
	case "popc":
		return func(a, _, _ uint64) uint64 { return uint64(bits.OnesCount64(a)) }
	}
	return nil
}

// funnel is shf: the wanted half of c:a shifted by b.
func funnel(left, wrap bool) laneFunc {
	return func(low, high, by uint64) uint64 {
		n := min(by&maskOf(32), 32)
		if wrap {
			n = by & 31
		}
		both := high<<32 | low
		if left {
			return both << n >> 32
		}
		return both >> n & maskOf(32)
	}
}

// findNth is fns: the n-th set bit from a base, up or down.
func findNth(mask, base, offset uint64) uint64 {
	n, at, step := int(int32(offset)), int(base), 1
	if n == 0 {
		if at < 32 && mask>>at&1 != 0 {
			return uint64(at)
		}
		return maskOf(32)
	}
	if n < 0 {
		n, step = -n, -1
	}
	for ; at >= 0 && at < 32; at += step {
		if mask>>at&1 != 0 {
			if n--; n == 0 {
				return uint64(at)
			}
		}
	}
	return maskOf(32)
}

// permute is prmt in its default mode and the six others.
func permute(kind string) laneFunc {
	return func(a, b, c uint64) uint64 {
		bytes := b<<32 | a
		if kind != "" {
			c = permutation(kind, uint(c&3))
		}
		var v uint64
		for i := range 4 {
			selected := c >> (4 * i) & 0xf
			one := bytes >> (8 * (selected & 7)) & 0xff
			if selected&8 != 0 {
				one = uint64(uint8(int8(one) >> 7))
			}
			v |= one << (8 * i)
		}
		return v
	}
}

func permutation(kind string, n uint) uint64 {
	switch kind {
	case "f4e":
		return [4]uint64{0x3210, 0x4321, 0x5432, 0x6543}[n]
	case "b4e":
		return [4]uint64{0x5670, 0x6701, 0x7012, 0x0123}[n]
	case "rc8":
		return 0x1111 * uint64(n)
	case "ecl":
		return [4]uint64{0x3210, 0x3211, 0x3222, 0x3333}[n]
	case "ecr":
		return [4]uint64{0x0000, 0x1110, 0x2210, 0x3210}[n]
	}
	return [4]uint64{0x1010, 0x3232, 0x1010, 0x3232}[n] // rc16
}

// lookup3 is lop3 with its table.
func lookup3(table uint64) laneFunc {
	return func(a, b, c uint64) uint64 {
		var v uint64
		for i := range 8 {
			if table>>i&1 == 0 {
				continue
			}
			term := maskOf(32)
			for bit, operand := range [3]uint64{c, b, a} {
				if i>>bit&1 == 0 {
					operand = ^operand
				}
				term &= operand
			}
			v |= term
		}
		return v & maskOf(32)
	}
}

// dotProduct is dp4a (four bytes) and dp2a (two halves by two bytes).
func dotProduct(signA, signB bool, name string, high bool) laneFunc {
	return func(a, b, c uint64) uint64 {
		if name == "dp2a" {
			if high {
				b >>= 16
			}
			for i := range 2 {
				c += extend(a>>(16*i)&0xffff, 16, signA) * extend(b>>(8*i)&0xff, 8, signB)
			}
			return c & maskOf(32)
		}
		for i := range 4 {
			c += extend(a>>(8*i)&0xff, 8, signA) * extend(b>>(8*i)&0xff, 8, signB)
		}
		return c & maskOf(32)
	}
}

// carryLane gives add.cc, addc, sub.cc, subc and the mads: the sum, and the
// carry out.
func carryLane(name string, high, usesCarry bool, width int) func(a, b, c, in uint64) (uint64, uint64) {
	add := func(a, b, in uint64) (uint64, uint64) {
		sum, out := bits.Add64(a, b, in)
		if width == 32 {
			return sum & maskOf(32), sum >> 32
		}
		return sum, out
	}
	return func(a, b, c, in uint64) (uint64, uint64) {
		if !usesCarry {
			in = 0
		}
		switch name {
		case "add":
			return add(a, b, in)
		case "sub":
			difference, borrow := bits.Sub64(a, b, in)
			return difference & maskOf(width), borrow
		}
		top, low := bits.Mul64(a, b)
		if width == 32 {
			top, low = low>>32, low&maskOf(32)
		}
		if high {
			low = top
		}
		return add(low, c, in)
	}
}
