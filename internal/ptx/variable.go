package ptx

import "math"

// variables reads `.global .align 4 .b8 a[8] = {…}, b;`.
func (p *parser) variables(linkage Linkage, to *[]Variable) error {
	v := Variable{Space: p.token.text, Linkage: linkage, Line: p.token.line}
	p.advance()
	vector := uint64(1)
	for p.token.kind == dotted {
		name := p.token.text
		p.advance()
		switch {
		case name == ".align":
			align, ok := literal(p.token.text)
			if p.token.kind != number || !ok || align.Bits == 0 || align.Bits&(align.Bits-1) != 0 || align.Bits > 1<<16 {
				return p.wanted("an alignment (a power of two)")
			}
			v.Align = align.Bits
			p.advance()
		case vectorOf(name) > 0:
			vector = vectorOf(name)
		case SizeOf(name) > 0:
			v.Type = name
		case name == ".attribute":
			if err := p.attribute(); err != nil {
				return err
			}
		default:
			return p.failure("%s is not a type of a variable", name)
		}
	}
	if v.Type == "" {
		return p.wanted("a type")
	}
	item := SizeOf(v.Type)
	if v.Align == 0 {
		v.Align = item * vector
	}
	for {
		if err := p.variable(v, item, vector, to); err != nil {
			return err
		}
		if !p.take(",") {
			return p.expect(";")
		}
	}
}

func (p *parser) attribute() error {
	if err := p.expect("("); err != nil {
		return err
	}
	for !p.token.is(")") && p.token.kind != endOfText {
		p.advance()
	}
	return p.expect(")")
}

func (p *parser) variable(v Variable, item, vector uint64, to *[]Variable) error {
	var err error
	if v.Name, err = p.name("a variable's name"); err != nil {
		return err
	}
	count := uint64(1)
	if p.token.is("<") { // .param .b32 p<4>: numbered, as registers are
		return p.failure("numbered variables (%s<…>) are not supported", v.Name)
	}
	dims, array, err := p.dimensions()
	if err != nil {
		return err
	}
	if array {
		count = dims
		v.Unsized = dims == 0
	}
	v.Size = count * item * vector
	if p.take("=") {
		end, err := p.initial(&v, 0, item, 0)
		if err != nil {
			return err
		}
		if v.Unsized {
			v.Size, v.Unsized = end, false
		}
		if end > v.Size {
			return p.failure("%s has %d bytes, its initial value %d", v.Name, v.Size, end)
		}
	}
	if p.body == nil {
		if _, known := p.symbols[v.Name]; known {
			for i := range *to {
				if former := &(*to)[i]; former.Name == v.Name && (former.Extern || v.Extern) {
					if former.Extern {
						*former = v
					}
					return nil
				}
			}
			return p.failure("%s is declared twice", v.Name)
		}
		p.symbols[v.Name] = SymbolOperand
	} else {
		p.body.scope.names[v.Name] = Operand{Kind: VariableOperand, Index: len(*to)}
	}
	*to = append(*to, v)
	return nil
}

// initial reads an initial value, at an offset, and gives where it ends.
func (p *parser) initial(v *Variable, at, item uint64, depth int) (uint64, error) {
	if p.take("{") {
		if depth > deepest {
			return at, p.failure("the initial value is nested more than %d deep", deepest)
		}
		for !p.take("}") {
			var err error
			if at, err = p.initial(v, at, item, depth+1); err != nil {
				return at, err
			}
			if !p.take(",") && !p.token.is("}") {
				return at, p.wanted("a comma or a brace")
			}
		}
		return at, nil
	}
	if len(v.Initial) >= mostElements {
		return at, p.failure("%s has more than %d initial values", v.Name, mostElements)
	}
	value := Initial{Offset: at, Size: min(item, 8)}
	if err := p.initialValue(&value, v.Type); err != nil {
		return at, err
	}
	v.Initial = append(v.Initial, value)
	return at + item, nil
}

func (p *parser) initialValue(value *Initial, kind string) error {
	if p.token.kind == word {
		return p.initialAddress(value)
	}
	o, err := p.constant()
	if err != nil {
		return err
	}
	if o.Kind == IntegerOperand && p.token.is("(") { // 0xFF00(symbol)
		for mask := o.Bits; mask&1 == 0 && value.Shift < 64; mask >>= 1 {
			value.Shift++
		}
		p.advance()
		if err := p.initialAddress(value); err != nil {
			return err
		}
		return p.expect(")")
	}
	value.Bits = ConstantBits(o, kind)
	return nil
}

// initialAddress reads `symbol`, `symbol+8`, `generic(symbol)`.
func (p *parser) initialAddress(value *Initial) error {
	name, err := p.name("a symbol")
	if err != nil {
		return err
	}
	if name == "generic" && p.take("(") {
		if name, err = p.name("a symbol"); err != nil {
			return err
		}
		if err := p.expect(")"); err != nil {
			return err
		}
	}
	if _, known := p.symbols[name]; !known {
		return p.failure("%s is not declared", name)
	}
	value.Symbol = name
	if p.token.is("+") || p.token.is("-") {
		o, err := p.constant()
		if err != nil {
			return err
		}
		value.Bits = o.Bits
	}
	return nil
}

// ConstantBits gives a constant as a type has it: an integer where a float is
// wanted is converted, a double narrowed.
func ConstantBits(o Operand, kind string) uint64 {
	bits := SizeOf(kind) * 8
	switch {
	case o.Kind == Float64Operand && (kind == ".f32" || kind == ".b32" || kind == ".u32" || kind == ".s32"):
		return uint64(math.Float32bits(float32(math.Float64frombits(o.Bits))))
	case o.Kind == Float32Operand && kind == ".f64":
		return math.Float64bits(float64(math.Float32frombits(uint32(o.Bits))))
	case o.Kind == IntegerOperand && kind == ".f64":
		return math.Float64bits(float64(int64(o.Bits)))
	case o.Kind == IntegerOperand && kind == ".f32":
		return uint64(math.Float32bits(float32(int64(o.Bits))))
	case bits < 64:
		return o.Bits & (1<<bits - 1)
	}
	return o.Bits
}
