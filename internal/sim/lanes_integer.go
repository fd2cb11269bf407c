package sim

import "math/bits"

type signed interface {
	int8 | int16 | int32 | int64
}

type unsigned interface {
	uint8 | uint16 | uint32 | uint64
}

// widthOf gives the bits of a type's name: "s32" has 32.
func widthOf(kind string) int {
	switch kind {
	case "b8", "u8", "s8", "e4m3", "e5m2":
		return 8
	case "b16", "u16", "s16", "f16", "bf16":
		return 16
	case "b32", "u32", "s32", "f32", "f16x2", "bf16x2", "u16x2", "s16x2", "tf32":
		return 32
	case "b64", "u64", "s64", "f64", "f32x2":
		return 64
	}
	return 0
}

func isSigned(kind string) bool { return kind[0] == 's' }

func maskOf(width int) uint64 {
	if width >= 64 {
		return 1<<64 - 1
	}
	return 1<<width - 1
}

// extend gives a register's value as a 64-bit integer of that type.
func extend(v uint64, width int, sign bool) uint64 {
	if !sign || width == 64 {
		return v & maskOf(width)
	}
	return uint64(int64(v<<(64-width)) >> (64 - width))
}

// integerLane gives what name.kind computes, or nil.
func integerLane(name, kind string) laneFunc {
	switch kind {
	case "u16", "b16":
		return unsignedLane[uint16](name)
	case "u32", "b32":
		return unsignedLane[uint32](name)
	case "u64", "b64":
		return unsignedLane[uint64](name)
	case "s16":
		return signedLane[int16, uint16](name)
	case "s32":
		return signedLane[int32, uint32](name)
	case "s64":
		return signedLane[int64, uint64](name)
	case "pred":
		return unsignedLane[uint8](name)
	}
	return nil
}

// unsignedLane has what needs no sign, for signed types too.
func unsignedLane[U unsigned](name string) laneFunc {
	switch name {
	case "add":
		return func(a, b, _ uint64) uint64 { return uint64(U(a) + U(b)) }
	case "sub":
		return func(a, b, _ uint64) uint64 { return uint64(U(a) - U(b)) }
	case "mul.lo":
		return func(a, b, _ uint64) uint64 { return uint64(U(a) * U(b)) }
	case "mad.lo":
		return func(a, b, c uint64) uint64 { return uint64(U(a)*U(b) + U(c)) }
	case "and":
		return func(a, b, _ uint64) uint64 { return uint64(U(a & b)) }
	case "or":
		return func(a, b, _ uint64) uint64 { return uint64(U(a | b)) }
	case "xor":
		return func(a, b, _ uint64) uint64 { return uint64(U(a ^ b)) }
	case "not":
		return func(a, _, _ uint64) uint64 { return uint64(^U(a)) }
	case "cnot":
		return func(a, _, _ uint64) uint64 { return boolean(U(a) == 0) }
	case "div":
		return func(a, b, _ uint64) uint64 {
			if U(b) == 0 {
				return uint64(^U(0)) // unspecified; what the hardware gives
			}
			return uint64(U(a) / U(b))
		}
	case "rem":
		return func(a, b, _ uint64) uint64 {
			if U(b) == 0 {
				return uint64(U(a))
			}
			return uint64(U(a) % U(b))
		}
	case "min":
		return func(a, b, _ uint64) uint64 { return uint64(min(U(a), U(b))) }
	case "max":
		return func(a, b, _ uint64) uint64 { return uint64(max(U(a), U(b))) }
	case "shl":
		return func(a, b, _ uint64) uint64 { return uint64(U(a) << uint32(b)) }
	case "shr":
		return func(a, b, _ uint64) uint64 { return uint64(U(a) >> uint32(b)) }
	case "sad":
		return func(a, b, c uint64) uint64 { return uint64(max(U(a), U(b)) - min(U(a), U(b)) + U(c)) }
	case "neg":
		return func(a, _, _ uint64) uint64 { return uint64(-U(a)) }
	case "abs":
		return func(a, _, _ uint64) uint64 { return uint64(U(a)) }
	case "popc":
		return func(a, _, _ uint64) uint64 { return uint64(bits.OnesCount64(uint64(U(a)))) }
	case "exch":
		return func(_, b, _ uint64) uint64 { return uint64(U(b)) }
	case "cas":
		return func(a, b, c uint64) uint64 {
			if U(a) == U(b) {
				return uint64(U(c))
			}
			return uint64(U(a))
		}
	case "inc":
		return func(a, b, _ uint64) uint64 {
			if U(a) >= U(b) {
				return 0
			}
			return uint64(U(a) + 1)
		}
	case "dec":
		return func(a, b, _ uint64) uint64 {
			if U(a) == 0 || U(a) > U(b) {
				return uint64(U(b))
			}
			return uint64(U(a) - 1)
		}
	}
	return nil
}

func signedLane[S signed, U unsigned](name string) laneFunc {
	switch name {
	case "div":
		return func(a, b, _ uint64) uint64 {
			if S(b) == 0 {
				return uint64(^U(0))
			}
			return uint64(U(S(a) / S(b)))
		}
	case "rem":
		return func(a, b, _ uint64) uint64 {
			if S(b) == 0 {
				return uint64(U(a))
			}
			return uint64(U(S(a) % S(b)))
		}
	case "min":
		return func(a, b, _ uint64) uint64 { return uint64(U(min(S(a), S(b)))) }
	case "max":
		return func(a, b, _ uint64) uint64 { return uint64(U(max(S(a), S(b)))) }
	case "shr":
		return func(a, b, _ uint64) uint64 { return uint64(U(S(a) >> uint32(b))) }
	case "sad":
		return func(a, b, c uint64) uint64 { return uint64(U(max(S(a), S(b))) - U(min(S(a), S(b))) + U(c)) }
	case "abs":
		return func(a, _, _ uint64) uint64 { return uint64(U(max(S(a), -S(a)))) }
	}
	return unsignedLane[U](name)
}

func boolean(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
