package sim

import "math"

// full has a loop for each hot instruction, when all lanes run.
func (w *warp) full(in *instruction) {
	r := w.registers
	switch in.op {
	case opMove:
		r[in.d] = r[in.a]
	case opAdd32:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = uint64(uint32(a[i]) + uint32(b[i]))
		}
	case opAdd64:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = a[i] + b[i]
		}
	case opSub32:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = uint64(uint32(a[i]) - uint32(b[i]))
		}
	case opMul32:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = uint64(uint32(a[i]) * uint32(b[i]))
		}
	case opMad32:
		d, a, b, c := &r[in.d], &r[in.a], &r[in.b], &r[in.c]
		for i := range d {
			d[i] = uint64(uint32(a[i])*uint32(b[i]) + uint32(c[i]))
		}
	case opMulWideS32:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = uint64(int64(int32(a[i])) * int64(int32(b[i])))
		}
	case opMadWideS32:
		d, a, b, c := &r[in.d], &r[in.a], &r[in.b], &r[in.c]
		for i := range d {
			d[i] = uint64(int64(int32(a[i]))*int64(int32(b[i]))) + c[i]
		}
	case opMulWideU32:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = uint64(uint32(a[i])) * uint64(uint32(b[i]))
		}
	case opAnd:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = a[i] & b[i]
		}
	case opOr:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = a[i] | b[i]
		}
	case opXor:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = a[i] ^ b[i]
		}
	case opShl32:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = uint64(uint32(a[i]) << uint32(b[i]))
		}
	case opShl64:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = a[i] << uint32(b[i])
		}
	case opCvtS64S32:
		d, a := &r[in.d], &r[in.a]
		for i := range d {
			d[i] = uint64(int64(int32(a[i])))
		}
	case opLow32:
		d, a := &r[in.d], &r[in.a]
		for i := range d {
			d[i] = uint64(uint32(a[i]))
		}
	default:
		w.fullFloat(in)
	}
}

func (w *warp) fullFloat(in *instruction) {
	r := w.registers
	switch in.op {
	case opAddF32:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = bits32(f32(a[i]) + f32(b[i]))
		}
	case opSubF32:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = bits32(f32(a[i]) - f32(b[i]))
		}
	case opMulF32:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = bits32(f32(a[i]) * f32(b[i]))
		}
	case opFmaF32:
		d, a, b, c := &r[in.d], &r[in.a], &r[in.b], &r[in.c]
		for i := range d {
			sum := float64(f32(a[i]))*float64(f32(b[i])) + float64(f32(c[i]))
			v := math.Float64bits(sum)
			// fma32, but for what rounds twice or may be tiny or no number.
			if exponent := v >> 52 & 0x7ff; v&(1<<29-1) != 1<<28 && exponent-903 < 1024 || sum == 0 {
				d[i] = uint64(math.Float32bits(float32(sum)))
			} else {
				d[i] = bits32(fma32(f32(a[i]), f32(b[i]), f32(c[i])))
			}
		}
	case opMaxF32:
		d, a, b, fn := &r[in.d], &r[in.a], &r[in.b], in.fn
		for i := range d {
			switch x, y := f32(a[i]), f32(b[i]); {
			case x > y:
				d[i] = a[i]
			case x < y:
				d[i] = b[i]
			default:
				d[i] = fn(a[i], b[i], 0)
			}
		}
	case opAddF64:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = bits64(f64(a[i]) + f64(b[i]))
		}
	case opMulF64:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = bits64(f64(a[i]) * f64(b[i]))
		}
	case opFmaF64:
		d, a, b, c := &r[in.d], &r[in.a], &r[in.b], &r[in.c]
		for i := range d {
			d[i] = bits64(math.FMA(f64(a[i]), f64(b[i]), f64(c[i])))
		}
	case opSelect:
		d, a, b, p := &r[in.d], &r[in.a], &r[in.b], w.predicates[in.c]
		for i := range d {
			v := b[i]
			if p>>i&1 != 0 {
				v = a[i]
			}
			d[i] = v
		}
	default:
		w.fullCompare(in)
	}
}

func (w *warp) fullCompare(in *instruction) {
	a, b := &w.registers[in.a], &w.registers[in.b]
	m := uint32(0)
	switch in.op {
	case opSetEqual:
		for i := range a {
			m |= bit(a[i] == b[i]) << i
		}
	case opSetNotEqual:
		for i := range a {
			m |= bit(a[i] != b[i]) << i
		}
	case opSetLessS32:
		for i := range a {
			m |= bit(int32(a[i]) < int32(b[i])) << i
		}
	case opSetLessEqualS32:
		for i := range a {
			m |= bit(int32(a[i]) <= int32(b[i])) << i
		}
	case opSetLessU32:
		for i := range a {
			m |= bit(uint32(a[i]) < uint32(b[i])) << i
		}
	case opSetLessEqualU32:
		for i := range a {
			m |= bit(uint32(a[i]) <= uint32(b[i])) << i
		}
	case opSetLessS64:
		for i := range a {
			m |= bit(int64(a[i]) < int64(b[i])) << i
		}
	case opSetLessEqualS64:
		for i := range a {
			m |= bit(int64(a[i]) <= int64(b[i])) << i
		}
	case opSetLessF32:
		for i := range a {
			m |= bit(f32(a[i]) < f32(b[i])) << i
		}
	case opSetLessEqualF32:
		for i := range a {
			m |= bit(f32(a[i]) <= f32(b[i])) << i
		}
	default:
		w.masked(in, allLanes)
		return
	}
	w.predicates[in.d] = m
}

func bit(b bool) uint32 {
	v := uint32(0)
	if b {
		v = 1
	}
	return v
}
