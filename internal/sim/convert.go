package sim

import (
	"math"
	"math/big"
)

// format is a binary floating-point format narrower than 64 bits.
type format struct {
	mantissa int // bits stored
	least    int // exponent of the smallest normal number
	most     int // exponent of the largest
	width    int
	nan      uint64
}

var (
	formatF16  = format{10, -14, 15, 16, 0x7fff}
	formatBF16 = format{7, -126, 127, 16, 0x7fff}
	formatF32  = format{23, -126, 127, 32, canonicalNaN}
)

func formatOf(kind string) (format, bool) {
	switch kind {
	case "f16":
		return formatF16, true
	case "bf16":
		return formatBF16, true
	case "f32":
		return formatF32, true
	}
	return format{}, false
}

// narrow rounds a double to a format.
func (f format) narrow(x float64, r rounding) uint64 {
	sign := uint64(0)
	if math.Signbit(x) {
		sign = 1 << (f.width - 1)
	}
	infinity := uint64(f.most-f.least+2) << f.mantissa
	switch {
	case math.IsNaN(x):
		return f.nan
	case math.IsInf(x, 0):
		return sign | infinity
	case x == 0:
		return sign
	}
	fraction, exponent := math.Frexp(math.Abs(x)) // in [0.5, 1)
	exponent--
	unit := max(exponent, f.least) - f.mantissa // of the last place
	scaled := math.Ldexp(fraction, exponent+1-unit)
	whole := math.Floor(scaled)
	rest := scaled - whole
	up := false
	switch r {
	case "rz":
	case "rm":
		up = rest > 0 && sign != 0
	case "rp":
		up = rest > 0 && sign == 0
	case "rna":
		up = rest >= 0.5
	default:
		up = rest > 0.5 || rest == 0.5 && math.Mod(whole, 2) == 1
	}
	if up {
		whole++
	}
	bits := uint64(whole)
	if exponent >= f.least {
		bits += uint64(exponent-f.least) << f.mantissa // the hidden bit adds 1 to the exponent
	}
	if bits >= infinity {
		bits = infinity
		if r == "rz" || r == "rm" && sign == 0 || r == "rp" && sign != 0 {
			bits--
		}
	}
	return sign | bits
}

// widen gives a number of a format as a double.
func (f format) widen(v uint64) float64 {
	exponent := int(v >> f.mantissa & (1<<(f.width-1-f.mantissa) - 1))
	fraction := v & (1<<f.mantissa - 1)
	var x float64
	switch {
	case exponent == f.most-f.least+2 && fraction != 0:
		return math.NaN()
	case exponent == f.most-f.least+2:
		x = math.Inf(1)
	case exponent == 0:
		x = math.Ldexp(float64(fraction), f.least-f.mantissa)
	default:
		x = math.Ldexp(float64(fraction|1<<f.mantissa), exponent-1+f.least-f.mantissa)
	}
	if v>>(f.width-1)&1 != 0 {
		return -x
	}
	return x
}

// valueOf reads a register as a number of a float type.
func valueOf(kind string) func(v uint64) float64 {
	switch kind {
	case "f64":
		return f64
	case "f32":
		return func(v uint64) float64 { return float64(f32(v)) }
	case "f16":
		return formatF16.widen
	case "bf16":
		return formatBF16.widen
	}
	return nil
}

// integral rounds to a whole number.
func integral(r string) func(float64) float64 {
	switch r {
	case "rzi":
		return math.Trunc
	case "rmi":
		return math.Floor
	case "rpi":
		return math.Ceil
	case "rni":
		return math.RoundToEven
	}
	return nil
}

// conversion gives cvt.to.from, or nil for one that does not exist.
func conversion(to, from string, modifiers []string) laneFunc {
	var whole string
	round, sat, ftz, relu := rounding(""), false, false, false
	for _, m := range modifiers {
		switch m {
		case "rni", "rzi", "rmi", "rpi":
			whole = m
		case "rn", "rz", "rm", "rp", "rna":
			round = rounding(m)
		case "sat":
			sat = true
		case "ftz":
			ftz = true
		case "relu":
			relu = true
		case "satfinite":
			return nil
		}
	}
	value := valueOf(from)
	if ftz && from == "f32" {
		value = func(v uint64) float64 { return float64(f32(flush(v))) }
	}
	switch {
	case to == "tf32" && from == "f32":
		return func(a, _, _ uint64) uint64 { return format{10, -126, 127, 19, 0x3ffff}.narrow(value(a), round) << 13 }
	case valueOf(to) != nil && value != nil:
		return floatToFloat(to, from, value, whole, round, sat, ftz, relu)
	case valueOf(to) != nil && widthOf(from) > 0:
		return integerToFloat(to, from, round, sat)
	case value != nil && widthOf(to) > 0:
		return floatToInteger(to, from, value, whole)
	case widthOf(to) > 0 && widthOf(from) > 0:
		return integerToInteger(to, from, sat)
	}
	return nil
}

func floatToFloat(to, from string, value func(uint64) float64, whole string, round rounding, sat, ftz, relu bool) laneFunc {
	toWhole := integral(whole)
	f, narrows := formatOf(to)
	return func(a, _, _ uint64) uint64 {
		x := value(a)
		if toWhole != nil {
			x = toWhole(x)
		}
		if sat {
			x = max(0, min(x, 1))
			if x != x {
				x = 0
			}
		}
		if relu && x < 0 {
			x = 0
		}
		switch {
		case to == from && !sat && toWhole == nil && !ftz && !relu:
			return a
		case !narrows:
			return bits64(x)
		case ftz && to == "f32":
			return flush(f.narrow(x, round))
		}
		return f.narrow(x, round)
	}
}

func integerToFloat(to, from string, round rounding, sat bool) laneFunc {
	width, sign := widthOf(from), isSigned(from)
	f, narrows := formatOf(to)
	return func(a, _, _ uint64) uint64 {
		v := extend(a, width, sign)
		if !narrows {
			return bits64(wholeToDouble(v, sign, round))
		}
		x := wholeToOdd(v, sign)
		if sat {
			x = max(0, min(x, 1))
		}
		return f.narrow(x, round)
	}
}

// wholeToOdd gives a 64-bit integer as a double, rounded to odd.
func wholeToOdd(v uint64, sign bool) float64 {
	negative := sign && int64(v) < 0
	if negative {
		v = -v
	}
	x := float64(v)
	if v>>53 != 0 {
		const lost = 11
		kept := v >> lost
		if v&(1<<lost-1) != 0 {
			kept |= 1
		}
		x = float64(kept) * (1 << lost)
	}
	if negative {
		return -x
	}
	return x
}

func wholeToDouble(v uint64, sign bool, round rounding) float64 {
	nearest := float64(v)
	exact := new(big.Int).SetUint64(v)
	if sign {
		nearest = float64(int64(v))
		exact.SetInt64(int64(v))
	}
	if round == "" || round == "rn" {
		return nearest
	}
	rounded, _ := big.NewFloat(nearest).Int(nil)
	return direct(nearest, exact.Cmp(rounded), round, math.Nextafter)
}

// floatToInteger saturates always. What is no number becomes 0, or where 64
// bits are involved the value with the top bit set (PTX ISA, cvt).
func floatToInteger(to, from string, value func(uint64) float64, whole string) laneFunc {
	toWhole := integral(whole)
	if toWhole == nil {
		return nil
	}
	width, sign := widthOf(to), isSigned(to)
	least, most := 0.0, math.Ldexp(1, width)
	if sign {
		least, most = -math.Ldexp(1, width-1), math.Ldexp(1, width-1)
	}
	return func(a, _, _ uint64) uint64 {
		x := toWhole(value(a))
		switch {
		case x != x && (from == "f64" || width == 64):
			return 1 << (width - 1)
		case x != x:
			return 0
		case x >= most && sign:
			return maskOf(width - 1)
		case x >= most:
			return maskOf(width)
		case x <= least && sign:
			return 1 << (width - 1)
		case x <= least:
			return 0
		case sign:
			return uint64(int64(x)) & maskOf(width)
		}
		return uint64(x)
	}
}

func integerToInteger(to, from string, sat bool) laneFunc {
	width, sign := widthOf(from), isSigned(from)
	toWidth, toSign := widthOf(to), isSigned(to)
	if !sat {
		return func(a, _, _ uint64) uint64 { return extend(extend(a, width, sign), toWidth, toSign) }
	}
	least, most := new(big.Int), new(big.Int).SetUint64(maskOf(toWidth))
	if toSign {
		least.SetInt64(-1 << (toWidth - 1))
		most.SetUint64(maskOf(toWidth - 1))
	}
	return func(a, _, _ uint64) uint64 {
		v := extend(a, width, sign)
		exact := new(big.Int).SetUint64(v)
		if sign {
			exact.SetInt64(int64(v))
		}
		switch {
		case exact.Cmp(least) < 0:
			return uint64(least.Int64())
		case exact.Cmp(most) > 0:
			return most.Uint64()
		}
		return v
	}
}
