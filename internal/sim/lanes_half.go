package sim

import "math"

// halfLane gives what an instruction on f16 or bf16 computes: in double, then
// rounded once. Sums of halves are exact there, or rounded to odd.
func halfLane(name, kind string, o floatOptions) laneFunc {
	f, ok := formatOf(kind)
	if !ok {
		return nil
	}
	signBit := uint64(1) << (f.width - 1)
	var of func(a, b, c uint64) uint64
	switch name {
	case "add", "sub", "mul", "fma":
		of = func(a, b, c uint64) uint64 {
			x, y, z := f.widen(a), f.widen(b), f.widen(c)
			switch name {
			case "add":
				x = fmaOdd(x, y)
			case "sub":
				x = fmaOdd(x, -y)
			case "mul":
				x *= y
			default:
				x = fmaOdd(x*y, z)
			}
			if o.relu && x < 0 {
				x = 0
			}
			if o.sat {
				x = max(0, min(x, 1))
				if x != x {
					x = 0
				}
			}
			return f.narrow(x, o.round)
		}
	case "neg":
		return func(a, _, _ uint64) uint64 { return a ^ signBit }
	case "abs":
		return func(a, _, _ uint64) uint64 { return a &^ signBit }
	case "min", "max":
		return func(a, b, _ uint64) uint64 { return minMax(name == "max", a, b, o, signBit, f.nan, f.widen) }
	case "ex2", "tanh":
		approximation := approximate(name)
		return func(a, _, _ uint64) uint64 { return f.narrow(approximation(f.widen(a)), o.round) }
	default:
		return nil
	}
	if !o.ftz || kind != "f16" {
		return of
	}
	flushHalf := func(v uint64) uint64 {
		if math.Abs(f.widen(v)) < 0x1p-14 {
			return v & signBit
		}
		return v
	}
	return func(a, b, c uint64) uint64 { return flushHalf(of(flushHalf(a), flushHalf(b), flushHalf(c))) }
}

// pairLane does both halves of a register.
func pairLane(half laneFunc) laneFunc {
	if half == nil {
		return nil
	}
	const low = 0xffff
	return func(a, b, c uint64) uint64 {
		return half(a>>16, b>>16, c>>16)<<16 | half(a&low, b&low, c&low)
	}
}

// convertPair is cvt.rn.f16x2.f32 d, a, b: a goes into the upper half.
func convertPair(half laneFunc) laneFunc {
	if half == nil {
		return nil
	}
	return func(a, b, _ uint64) uint64 { return half(a, 0, 0)<<16 | half(b, 0, 0) }
}
