package sim

import (
	"math"
	"strings"
)

// classOf is testp.
func classOf(test, kind string) func(a, b uint64) bool {
	value := func(v uint64) float64 { return float64(f32(v)) }
	least := float64(math.Float32frombits(0x00800000))
	if kind == "f64" {
		value, least = f64, 0x1p-1022
	}
	return func(a, _ uint64) bool {
		x := value(a)
		finite := !math.IsNaN(x) && !math.IsInf(x, 0)
		switch test {
		case "finite":
			return finite
		case "infinite":
			return math.IsInf(x, 0)
		case "number":
			return !math.IsNaN(x)
		case "notanumber":
			return math.IsNaN(x)
		case "normal":
			return finite && math.Abs(x) >= least
		}
		return finite && x != 0 && math.Abs(x) < least // subnormal
	}
}

// comparison gives a test on integers or floats; nil for one that does not exist.
func comparison(name, kind string, ftz bool) func(a, b uint64) bool {
	switch {
	case kind == "f64" || kind == "f32" || kind == "f16" || kind == "bf16":
		return floatComparison(name, kind, ftz)
	case widthOf(kind) == 0:
		return nil
	}
	width, sign := widthOf(kind), isSigned(kind)
	less := func(a, b uint64) bool {
		a, b = extend(a, width, sign), extend(b, width, sign)
		if sign {
			return int64(a) < int64(b)
		}
		return a < b
	}
	switch name {
	case "eq":
		return func(a, b uint64) bool { return a&maskOf(width) == b&maskOf(width) }
	case "ne":
		return func(a, b uint64) bool { return a&maskOf(width) != b&maskOf(width) }
	case "lt", "lo":
		return less
	case "gt", "hi":
		return func(a, b uint64) bool { return less(b, a) }
	case "le", "ls":
		return func(a, b uint64) bool { return !less(b, a) }
	case "ge", "hs":
		return func(a, b uint64) bool { return !less(a, b) }
	}
	return nil
}

func floatComparison(name, kind string, ftz bool) func(a, b uint64) bool {
	value := valueOf(kind)
	if ftz && kind == "f32" {
		value = func(v uint64) float64 { return float64(f32(flush(v))) }
	}
	test := func(of func(x, y float64) bool) func(a, b uint64) bool {
		return func(a, b uint64) bool { return of(value(a), value(b)) }
	}
	switch name {
	case "num":
		return test(func(x, y float64) bool { return x == x && y == y })
	case "nan":
		return test(func(x, y float64) bool { return x != x || y != y })
	}
	ordered, unordered := strings.CutSuffix(name, "u")
	var of func(x, y float64) bool
	switch ordered {
	case "eq":
		of = func(x, y float64) bool { return x == y }
	case "ne":
		of = func(x, y float64) bool { return x < y || x > y }
	case "lt":
		of = func(x, y float64) bool { return x < y }
	case "le":
		of = func(x, y float64) bool { return x <= y }
	case "gt":
		of = func(x, y float64) bool { return x > y }
	case "ge":
		of = func(x, y float64) bool { return x >= y }
	default:
		return nil
	}
	if unordered {
		return test(func(x, y float64) bool { return x != x || y != y || of(x, y) })
	}
	return test(of)
}
