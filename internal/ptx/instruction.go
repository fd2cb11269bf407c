package ptx

import "strings"

// guarded reads `@%p1 instruction`.
func (p *parser) guarded() error {
	p.advance()
	negated := p.take("!")
	name, err := p.name("a predicate")
	if err != nil {
		return err
	}
	o, known, err := p.lookup(name)
	if err != nil {
		return err
	}
	if !known && !isSpecial(name) {
		return p.failure("%s", p.undeclared(name, p.body.scope))
	}
	if !known || o.Kind != RegisterOperand || p.body.function.Registers[o.Register].Type != ".pred" {
		return p.failure("%s is not a predicate", name)
	}
	line := p.token.line
	opcode, err := p.name("an instruction")
	if err != nil {
		return err
	}
	return p.instruction(opcode, line, &Guard{o.Register, negated})
}

func (p *parser) instruction(name string, line int, guard *Guard) error {
	i := Instruction{Line: line, Guard: guard, Name: name, Source: p.source}
	for p.token.kind == dotted {
		i.Modifiers = append(i.Modifiers, p.token.text[1:])
		p.advance()
	}
	f := p.body.function
	for !p.take(";") {
		o, err := p.operand(0)
		if err != nil {
			return err
		}
		i.Operands = append(i.Operands, o)
		if !p.take(",") && !p.token.is(";") {
			return p.wanted("a comma or a semicolon")
		}
	}
	f.Instructions = append(f.Instructions, i)
	last := &f.Instructions[len(f.Instructions)-1]
	p.await(last.Operands, line)
	return nil
}

// await notes operands whose names are labels, perhaps.
func (p *parser) await(operands []Operand, line int) {
	for i := range operands {
		o := &operands[i]
		if o.Kind == LabelOperand {
			p.body.pending = append(p.body.pending, pending{o, p.body.scope, line})
		}
		p.await(o.Elements, line)
	}
}

func (p *parser) operand(depth int) (Operand, error) {
	if depth > 4 {
		return Operand{}, p.failure("the operand is nested too deep")
	}
	switch {
	case p.take("{"):
		return p.elements(VectorOperand, "}", depth)
	case p.take("("):
		if p.token.kind == word || p.token.is(")") {
			return p.elements(ListOperand, ")", depth)
		}
		return p.parenthesis(depth)
	case p.take("["):
		return p.address(depth)
	case p.token.is("!"):
		p.advance()
		o, err := p.named()
		o.Negated = true
		return o, err
	case p.token.kind == word:
		return p.pair()
	}
	return p.constant()
}

// parenthesis tells `(1+2)*4` from a call's `(1, 2)`: the parenthesis has been
// taken.
func (p *parser) parenthesis(depth int) (Operand, error) {
	before, token := *p.lexer, p.token
	if o, err := p.elements(ListOperand, ")", depth); err == nil && (p.token.is(",") || p.token.is(";")) && len(o.Elements) != 1 {
		return o, nil
	}
	*p.lexer, p.token = before, token
	p.at = before.at
	o, err := p.constant()
	if err == nil && !p.take(")") {
		err = p.wanted("a parenthesis")
	}
	return o, err
}

func (p *parser) elements(kind OperandKind, end string, depth int) (Operand, error) {
	list := Operand{Kind: kind}
	for !p.take(end) {
		o, err := p.operand(depth + 1)
		if err != nil {
			return list, err
		}
		list.Elements = append(list.Elements, o)
		if !p.take(",") && !p.token.is(end) {
			return list, p.wanted("a comma or `" + end + "`")
		}
	}
	return list, nil
}

// pair reads `p` or `p|q`.
func (p *parser) pair() (Operand, error) {
	first, err := p.named()
	if err != nil || !p.take("|") {
		return first, err
	}
	second, err := p.named()
	return Operand{Kind: PairOperand, Elements: []Operand{first, second}}, err
}

// named reads a name, with `.x` or `+4` behind it.
func (p *parser) named() (Operand, error) {
	name, err := p.name("an operand")
	if err != nil {
		return Operand{}, err
	}
	if name == "_" {
		return Operand{Kind: SinkOperand}, nil
	}
	o, known, err := p.lookup(name)
	switch {
	case err != nil:
		return o, err
	case known && o.Kind == RegisterOperand:
		return p.component(o)
	case name == "WARP_SZ":
		return Operand{Kind: IntegerOperand, Bits: 32}, nil
	case !known && strings.HasPrefix(name, "%"):
		return p.special(name)
	case !known:
		o = p.global(name)
	}
	o.Offset, err = p.offset()
	return o, err
}

// special reads the `.x` behind a predefined register. A newer PTX than the tables
// have may have others, but for the names that the text itself numbers.
func (p *parser) special(name string) (Operand, error) {
	known, newer := isSpecial(name), newestForms.Less(p.image.Version)
	if !known && (!newer || p.body.scope.rangeOf(name) != nil) {
		return Operand{}, p.failure("%s", p.undeclared(name, p.body.scope))
	}
	if p.token.kind == dotted {
		if known && !hasComponent(name, p.token.text) {
			return Operand{}, p.failure("%s has no component %s", name, p.token.text)
		}
		name += p.token.text
		p.advance()
	}
	return Operand{Kind: SpecialOperand, Name: name}, nil
}

// global is a symbol of the module, or else a label.
func (p *parser) global(name string) Operand {
	kind, known := p.symbols[name]
	if !known {
		kind = LabelOperand
	}
	return Operand{Kind: kind, Name: name}
}

func (p *parser) component(o Operand) (Operand, error) {
	if p.token.kind != dotted {
		return o, nil
	}
	at := strings.Index(".x.y.z.w.r.g.b.a", p.token.text)
	vector := p.body.function.Registers[o.Register].Vector
	if len(p.token.text) != 2 || at < 0 || uint64(at/2%4) >= vector {
		return o, p.failure("%s has no component %s", p.body.function.Registers[o.Register].Name, p.token.text)
	}
	o.Component = int8(at / 2 % 4)
	p.advance()
	return o, nil
}

// offset reads the `+4`, `-4` or `+-4` behind a base.
func (p *parser) offset() (int64, error) {
	if !p.token.is("+") && !p.token.is("-") {
		return 0, nil
	}
	o, err := p.constant()
	if err == nil && o.Kind != IntegerOperand {
		err = p.failure("an offset is an integer")
	}
	return int64(o.Bits), err
}

// address reads `[base+4]` after the bracket, and the indices of tensor
// instructions, which are refused when run.
func (p *parser) address(depth int) (Operand, error) {
	address := Operand{Kind: AddressOperand}
	if p.token.kind != word {
		o, err := p.constant()
		if err != nil {
			return o, err
		}
		address.Offset = int64(o.Bits)
		return address, p.expect("]")
	}
	base, err := p.named()
	if err != nil {
		return base, err
	}
	address.Offset, base.Offset = base.Offset, 0
	if base.Kind == RegisterOperand {
		if address.Offset, err = p.offset(); err != nil {
			return base, err
		}
	}
	address.Elements = []Operand{base}
	for p.take(",") {
		o, err := p.operand(depth + 1)
		if err != nil {
			return o, err
		}
		address.Elements = append(address.Elements, o)
	}
	return address, p.expect("]")
}
