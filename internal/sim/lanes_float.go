package sim

import (
	"math"
	"math/big"
)

// canonicalNaN is what every f32 operation gives that has no number.
const canonicalNaN = 0x7fffffff

func f32(v uint64) float32 { return math.Float32frombits(uint32(v)) }
func f64(v uint64) float64 { return math.Float64frombits(v) }

func bits32(f float32) uint64 {
	if f != f {
		return canonicalNaN
	}
	return uint64(math.Float32bits(f))
}

func bits64(f float64) uint64 { return math.Float64bits(f) }

// fma32 rounds once. The product is exact in 64 bits; their sum is rounded
// twice, which is wrong only when the first rounding makes a tie.
func fma32(x, y, z float32) float32 {
	sum := float64(x)*float64(y) + float64(z)
	if math.Float64bits(sum)&(1<<29-1) != 1<<28 && (sum > 0x1p-120 || sum < -0x1p-120) || sum == 0 {
		return float32(sum)
	}
	return float32(fmaOdd(float64(x)*float64(y), float64(z)))
}

// fmaOdd adds and rounds to odd: an inexact result has its last bit set, so
// that rounding again to fewer bits is right.
func fmaOdd(x, y float64) float64 {
	sum := x + y
	if math.IsInf(sum, 0) || math.IsNaN(sum) {
		return sum
	}
	of := sum - x
	lost := (x - (sum - of)) + (y - of)
	if lost == 0 || math.Float64bits(sum)&1 != 0 {
		return sum
	}
	if lost > 0 == (sum > 0) {
		return math.Float64frombits(math.Float64bits(sum) + 1)
	}
	return math.Float64frombits(math.Float64bits(sum) - 1)
}

// rounding is a direction; "" and "rn" are to the nearest even.
type rounding string

// direct corrects a result rounded to nearest: exact says on which side of it
// the true one lies (-1 below, 1 above).
func direct(nearest float64, exact int, r rounding, next func(float64, float64) float64) float64 {
	up, down := math.Inf(1), math.Inf(-1)
	switch {
	case exact == 0 || math.IsNaN(nearest):
	case r == "rz" && nearest > 0 && exact < 0, r == "rm" && exact < 0:
		return next(nearest, down)
	case r == "rz" && nearest < 0 && exact > 0, r == "rp" && exact > 0:
		return next(nearest, up)
	}
	return nearest
}

func next32(x, towards float64) float64 {
	return float64(math.Nextafter32(float32(x), float32(towards)))
}

// residual compares the exact value of an operation on finite numbers with a result.
func residual(name string, result float64, x ...float64) int {
	for _, v := range x {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return 0
		}
	}
	if math.IsNaN(result) {
		return 0
	}
	const all = 4300 // bits that hold any sum of products of doubles
	float := func(v float64) *big.Float { return new(big.Float).SetPrec(all).SetFloat64(v) }
	exact := float(x[0])
	switch name {
	case "add":
		exact.Add(exact, float(x[1]))
	case "sub":
		exact.Sub(exact, float(x[1]))
	case "mul":
		exact.Mul(exact, float(x[1]))
	case "fma":
		exact.Add(exact.Mul(exact, float(x[1])), float(x[2]))
	case "div": // compare x with result*y, the other way round when y is negative
		if x[1] == 0 {
			return 0
		}
		if math.IsInf(result, 0) {
			return -int(math.Copysign(1, result))
		}
		c := exact.Cmp(new(big.Float).SetPrec(all).Mul(float(result), float(x[1])))
		if x[1] < 0 {
			c = -c
		}
		return c
	case "sqrt":
		if x[0] < 0 {
			return 0
		}
		return exact.Cmp(new(big.Float).SetPrec(all).Mul(float(result), float(result)))
	}
	if math.IsInf(result, 0) {
		return -int(math.Copysign(1, result))
	}
	return exact.Cmp(float(result))
}

// arithmetic gives the nearest result of an operation.
func arithmetic[F float32 | float64](name string) func(x, y, z F) F {
	switch name {
	case "add":
		return func(x, y, _ F) F { return x + y }
	case "sub":
		return func(x, y, _ F) F { return x - y }
	case "mul":
		return func(x, y, _ F) F { return x * y }
	case "div":
		return func(x, y, _ F) F { return x / y }
	case "rcp":
		return func(x, _, _ F) F { return 1 / x }
	case "sqrt":
		return func(x, _, _ F) F { return F(math.Sqrt(float64(x))) }
	}
	return nil
}

// floatOptions are the modifiers of a float instruction.
type floatOptions struct {
	round     rounding
	ftz, sat  bool
	nan, xsgn bool // .NaN, .xorsign.abs
	relu      bool
}

func readFloatOptions(modifiers []string) floatOptions {
	var o floatOptions
	for _, m := range modifiers {
		switch m {
		case "rn", "rz", "rm", "rp":
			o.round = rounding(m)
		case "ftz":
			o.ftz = true
		case "sat":
			o.sat = true
		case "NaN":
			o.nan = true
		case "xorsign":
			o.xsgn = true
		case "relu":
			o.relu = true
		}
	}
	return o
}

// finish wraps a lane of f32 with what its modifiers ask for.
func (o floatOptions) finish(f laneFunc) laneFunc {
	if o.ftz {
		inner := f
		f = func(a, b, c uint64) uint64 { return flush(inner(flush(a), flush(b), flush(c))) }
	}
	if o.sat {
		inner := f
		f = func(a, b, c uint64) uint64 { return saturateF32(inner(a, b, c)) }
	}
	return f
}

// flush turns a subnormal f32 into a zero of its sign.
func flush(v uint64) uint64 {
	if v&0x7f800000 == 0 {
		return v & 0x80000000
	}
	return v
}

func saturateF32(v uint64) uint64 {
	f := f32(v)
	switch {
	case f > 1:
		return bits32(1)
	case f > 0:
		return v
	}
	return 0 // NaN too
}

// floatLane gives what an instruction on f32 or f64 computes, or nil.
func floatLane(name, kind string, o floatOptions) laneFunc {
	if kind == "f64" {
		return float64Lane(name, o)
	}
	return o.finish(float32Lane(name, o))
}

func float32Lane(name string, o floatOptions) laneFunc {
	directed := o.round != "" && o.round != "rn"
	if of := arithmetic[float32](name); of != nil {
		if !directed {
			return func(a, b, c uint64) uint64 { return bits32(of(f32(a), f32(b), f32(c))) }
		}
		return func(a, b, c uint64) uint64 {
			x, y, named := f32(a), f32(b), name
			if name == "rcp" {
				x, y, named = 1, x, "div"
			}
			nearest := float64(of(f32(a), f32(b), 0))
			return bits32(float32(direct(nearest, residual(named, nearest, float64(x), float64(y)), o.round, next32)))
		}
	}
	switch name {
	case "fma":
		if !directed {
			return func(a, b, c uint64) uint64 { return bits32(fma32(f32(a), f32(b), f32(c))) }
		}
		return func(a, b, c uint64) uint64 {
			x, y, z := f32(a), f32(b), f32(c)
			nearest := float64(fma32(x, y, z))
			return bits32(float32(direct(nearest, residual("fma", nearest, float64(x), float64(y), float64(z)), o.round, next32)))
		}
	case "neg":
		return func(a, _, _ uint64) uint64 { return a ^ 1<<31 }
	case "abs":
		return func(a, _, _ uint64) uint64 { return a &^ (1 << 31) }
	case "min", "max":
		return func(a, b, _ uint64) uint64 {
			return minMax(name == "max", a, b, o, 1<<31, canonicalNaN, func(v uint64) float64 { return float64(f32(v)) })
		}
	case "copysign":
		return func(a, b, _ uint64) uint64 { return a&(1<<31) | b&(1<<31-1) }
	}
	if of := approximate(name); of != nil {
		return func(a, _, _ uint64) uint64 { return bits32(float32(of(float64(f32(a))))) }
	}
	return nil
}

// approximate has the functions that hardware gives to some bits; here they are
// right to the last but for one rounding.
func approximate(name string) func(float64) float64 {
	switch name {
	case "sin":
		return math.Sin
	case "cos":
		return math.Cos
	case "ex2":
		return math.Exp2
	case "lg2":
		return math.Log2
	case "tanh":
		return math.Tanh
	case "rsqrt":
		return func(x float64) float64 {
			if x == 0 {
				return math.Copysign(math.Inf(1), x)
			}
			return 1 / math.Sqrt(x)
		}
	}
	return nil
}

func float64Lane(name string, o floatOptions) laneFunc {
	directed := o.round != "" && o.round != "rn"
	if of := arithmetic[float64](name); of != nil {
		if !directed {
			return func(a, b, c uint64) uint64 { return bits64(of(f64(a), f64(b), f64(c))) }
		}
		return func(a, b, c uint64) uint64 {
			x, y, named := f64(a), f64(b), name
			if name == "rcp" {
				x, y, named = 1, x, "div"
			}
			nearest := of(f64(a), f64(b), 0)
			return bits64(direct(nearest, residual(named, nearest, x, y), o.round, math.Nextafter))
		}
	}
	switch name {
	case "fma":
		return func(a, b, c uint64) uint64 {
			x, y, z := f64(a), f64(b), f64(c)
			nearest := math.FMA(x, y, z)
			if directed {
				nearest = direct(nearest, residual("fma", nearest, x, y, z), o.round, math.Nextafter)
			}
			return bits64(nearest)
		}
	case "neg":
		return func(a, _, _ uint64) uint64 { return a ^ 1<<63 }
	case "abs":
		return func(a, _, _ uint64) uint64 { return a &^ (1 << 63) }
	case "min", "max":
		return func(a, b, _ uint64) uint64 {
			return minMax(name == "max", a, b, o, 1<<63, math.Float64bits(math.NaN()), f64)
		}
	case "copysign":
		return func(a, b, _ uint64) uint64 { return a&(1<<63) | b&(1<<63-1) }
	case "rsqrt":
		return func(a, _, _ uint64) uint64 { return bits64(approximate("rsqrt")(f64(a))) }
	}
	return nil
}

// minMax orders -0 below +0; a NaN loses against a number unless .NaN is given.
func minMax(larger bool, a, b uint64, o floatOptions, signBit, nan uint64, value func(uint64) float64) uint64 {
	sign := (a ^ b) & signBit
	if o.xsgn {
		a, b = a&^signBit, b&^signBit
	}
	x, y := value(a), value(b)
	var v uint64
	switch {
	case math.IsNaN(x) && math.IsNaN(y), o.nan && (math.IsNaN(x) || math.IsNaN(y)):
		return nan
	case math.IsNaN(x):
		v = b
	case math.IsNaN(y):
		v = a
	case x == y:
		v = a | b
		if larger {
			v = a & b
		}
	case (x > y) == larger:
		v = a
	default:
		v = b
	}
	if o.xsgn {
		v |= sign
	}
	return v
}
