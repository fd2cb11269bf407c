package ptx

import (
	"math"
	"strconv"
	"strings"
)

// constant reads an expression of integers: `4*(2+1)`, `-1`, `~0x0F`; or one
// float, with an optional sign.
func (p *parser) constant() (Operand, error) { return p.conditional(0) }

const deepest = 64 // parentheses within one another, and nested scopes

// binaryOperators by their precedence in C.
var binaryOperators = []struct {
	text       string
	precedence int
	of         func(a, b int64) (int64, bool)
}{
	{"||", 1, func(a, b int64) (int64, bool) { return truth(a != 0 || b != 0), true }},
	{"&&", 2, func(a, b int64) (int64, bool) { return truth(a != 0 && b != 0), true }},
	{"|", 3, func(a, b int64) (int64, bool) { return a | b, true }},
	{"^", 4, func(a, b int64) (int64, bool) { return a ^ b, true }},
	{"&", 5, func(a, b int64) (int64, bool) { return a & b, true }},
	{"==", 6, func(a, b int64) (int64, bool) { return truth(a == b), true }},
	{"!=", 6, func(a, b int64) (int64, bool) { return truth(a != b), true }},
	{"<<", 8, func(a, b int64) (int64, bool) { return a << uint64(b&63), true }},
	{">>", 8, func(a, b int64) (int64, bool) { return a >> uint64(b&63), true }},
	{"<=", 7, func(a, b int64) (int64, bool) { return truth(a <= b), true }},
	{">=", 7, func(a, b int64) (int64, bool) { return truth(a >= b), true }},
	{"<", 7, func(a, b int64) (int64, bool) { return truth(a < b), true }},
	{">", 7, func(a, b int64) (int64, bool) { return truth(a > b), true }},
	{"+", 9, func(a, b int64) (int64, bool) { return a + b, true }},
	{"-", 9, func(a, b int64) (int64, bool) { return a - b, true }},
	{"*", 10, func(a, b int64) (int64, bool) { return a * b, true }},
	{"/", 10, func(a, b int64) (int64, bool) {
		if b == 0 || b == -1 {
			return -a, b != 0
		}
		return a / b, true
	}},
	{"%", 10, func(a, b int64) (int64, bool) {
		if b == 0 || b == -1 {
			return 0, b != 0
		}
		return a % b, true
	}},
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (p *parser) conditional(depth int) (Operand, error) {
	left, err := p.binary(0, depth)
	if err != nil || !p.take("?") {
		return left, err
	}
	yes, err := p.conditional(depth + 1)
	if err != nil {
		return yes, err
	}
	if !p.take(":") {
		return yes, p.failure("%q stands where the colon of a condition is wanted", p.token.text)
	}
	no, err := p.conditional(depth + 1)
	if left.Bits != 0 {
		return yes, err
	}
	return no, err
}

func (p *parser) binary(least, depth int) (Operand, error) {
	left, err := p.unary(depth)
	if err != nil {
		return left, err
	}
	for {
		at := p.operator()
		if at < 0 || binaryOperators[at].precedence <= least {
			return left, nil
		}
		operator := &binaryOperators[at]
		for range operator.text {
			p.advance()
		}
		right, err := p.binary(operator.precedence, depth+1)
		if err != nil {
			return right, err
		}
		if left.Kind != IntegerOperand || right.Kind != IntegerOperand {
			return left, p.failure("%s joins what are no integers", operator.text)
		}
		result, ok := operator.of(int64(left.Bits), int64(right.Bits))
		if !ok {
			return left, p.failure("division by zero")
		}
		left.Bits = uint64(result)
	}
}

// operator gives the index of the one that the text has here, or -1.
func (p *parser) operator() int {
	if p.token.kind != mark {
		return -1
	}
	rest := p.text[p.at-1:]
	for i := range binaryOperators {
		if strings.HasPrefix(rest, binaryOperators[i].text) {
			return i
		}
	}
	return -1
}

func (p *parser) unary(depth int) (Operand, error) {
	if depth > deepest {
		return Operand{}, p.failure("the expression is nested more than %d deep", deepest)
	}
	switch {
	case p.take("-"):
		o, err := p.unary(depth + 1)
		switch o.Kind {
		case Float32Operand:
			o.Bits ^= 1 << 31
		case Float64Operand:
			o.Bits ^= 1 << 63
		default:
			o.Bits = -o.Bits
		}
		return o, err
	case p.take("+"):
		return p.unary(depth + 1)
	case p.take("~"):
		o, err := p.unary(depth + 1)
		o.Bits = ^o.Bits
		return o, err
	case p.take("!"):
		o, err := p.unary(depth + 1)
		o.Bits = uint64(truth(o.Bits == 0))
		return o, err
	case p.take("("):
		if p.token.is(".") || p.token.kind == dotted && (p.token.text == ".s64" || p.token.text == ".u64") {
			p.advance() // a cast: all is 64 bits wide
			if !p.take(")") {
				return Operand{}, p.failure("%q stands where the parenthesis of a cast is wanted", p.token.text)
			}
			return p.unary(depth + 1)
		}
		o, err := p.conditional(depth + 1)
		if err == nil && !p.take(")") {
			err = p.failure("%q stands where a parenthesis is wanted", p.token.text)
		}
		return o, err
	case p.token.kind == number:
		o, ok := literal(p.token.text)
		if !ok {
			return o, p.failure("%q is not a number", p.token.text)
		}
		p.advance()
		return o, nil
	}
	return Operand{}, p.failure("%q stands where a number is wanted", p.token.text)
}

// literal reads one number: 0f3F800000 are the bits of a float, 0d… of a double.
func literal(text string) (Operand, bool) {
	if len(text) > 2 && text[0] == '0' {
		switch text[1] {
		case 'f', 'F':
			bits, err := strconv.ParseUint(text[2:], 16, 32)
			return Operand{Kind: Float32Operand, Bits: bits}, err == nil && len(text) == 10
		case 'd', 'D':
			bits, err := strconv.ParseUint(text[2:], 16, 64)
			return Operand{Kind: Float64Operand, Bits: bits}, err == nil && len(text) == 18
		}
	}
	bits, err := strconv.ParseUint(strings.TrimSuffix(text, "U"), 0, 64)
	if err == nil && !strings.Contains(text, "_") {
		return Operand{Kind: IntegerOperand, Bits: bits}, true
	}
	f, err := strconv.ParseFloat(text, 64)
	return Operand{Kind: Float64Operand, Bits: math.Float64bits(f)}, err == nil && !strings.ContainsAny(text, "_xXpP")
}
