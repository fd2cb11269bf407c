package ptx

import (
	"strconv"
	"strings"
)

// scope holds what `{ … }` declares.
type scope struct {
	outer  *scope
	names  map[string]Operand // registers, variables, parameters
	labels map[string]Operand
	ranges []registerRange
}

// registerRange is `%r<40>`: forty registers, made when met.
type registerRange struct {
	prefix string
	count  uint64
	kind   string
	vector uint64
}

// pending is an operand whose name was not known yet: a label further down.
type pending struct {
	operand *Operand
	scope   *scope
	line    int
}

type body struct {
	function *Function
	scope    *scope
	pending  []pending
	depth    int
}

func newScope(outer *scope) *scope {
	return &scope{outer, map[string]Operand{}, map[string]Operand{}, nil}
}

// functionBody reads a body after its brace.
func (p *parser) functionBody(f *Function) error {
	p.source = Source{}
	p.body = &body{function: f, scope: newScope(nil)}
	defer func() { p.body = nil }()
	for i, param := range f.Returns {
		p.body.scope.names[param.Name] = Operand{Kind: ParamOperand, Index: i, Return: true}
	}
	for i, param := range f.Params {
		p.body.scope.names[param.Name] = Operand{Kind: ParamOperand, Index: i}
	}
	for p.body.depth >= 0 {
		if err := p.bodyStatement(); err != nil {
			return err
		}
	}
	return p.resolve()
}

func (p *parser) bodyStatement() error {
	b := p.body
	switch {
	case p.token.kind == endOfText:
		return p.failure("the text ends within the body of %s", b.function.Name)
	case p.take("{"):
		if b.depth++; b.depth > deepest {
			return p.failure("scopes are nested more than %d deep", deepest)
		}
		b.scope = newScope(b.scope)
	case p.take("}"):
		b.depth--
		b.scope = b.scope.outer
	case p.take(";"):
	case p.token.kind == dotted:
		return p.bodyDirective()
	case p.token.kind == word:
		name, line := p.token.text, p.token.line
		p.advance()
		if p.take(":") {
			return p.label(name)
		}
		return p.instruction(name, line, nil)
	case p.token.is("@"):
		return p.guarded()
	default:
		return p.wanted("an instruction")
	}
	return nil
}

func (p *parser) bodyDirective() error {
	switch p.token.text {
	case ".reg":
		p.advance()
		return p.registers()
	case ".local", ".shared", ".param", ".const", ".global":
		return p.variables(Linkage{}, &p.body.function.Variables)
	case ".extern", ".visible", ".weak":
		return p.variables(p.linkage(), &p.body.function.Variables)
	case ".loc":
		return p.loc()
	case ".file":
		return p.file()
	case ".section":
		return p.section()
	case ".pragma":
		p.advance()
		p.advance()
		return p.expect(";")
	}
	return p.failure("%s is not a directive of a function's body", p.token.text)
}

// label notes where a name stands, or reads the list that it names.
func (p *parser) label(name string) error {
	b := p.body
	target := Operand{Kind: LabelOperand, Index: len(b.function.Instructions)}
	switch {
	case p.take(".branchtargets"), p.take(".calltargets"):
		list := Instruction{Line: p.token.line}
		for {
			target, err := p.name("a label")
			if err != nil {
				return err
			}
			list.Operands = append(list.Operands, Operand{Name: target})
			if !p.take(",") {
				break
			}
		}
		target = Operand{Kind: BranchTableOperand, Index: len(b.function.BranchTables)}
		b.function.BranchTables = append(b.function.BranchTables, make([]int, len(list.Operands)))
		for i := range list.Operands {
			list.Operands[i].Kind, list.Operands[i].Index = BranchTableOperand, target.Index
			list.Operands[i].Register = i
			b.pending = append(b.pending, pending{&list.Operands[i], b.scope, list.Line})
		}
		if err := p.expect(";"); err != nil {
			return err
		}
	case p.take(".callprototype"):
		for !p.token.is(";") && p.token.kind != endOfText {
			p.advance()
		}
		target = Operand{Kind: PrototypeOperand, Name: name}
	}
	if _, known := b.scope.labels[name]; known {
		return p.failure("the label %s stands twice", name)
	}
	b.scope.labels[name] = target
	return nil
}

// registers reads `.reg .b32 %r<40>, %x;` after .reg.
func (p *parser) registers() error {
	kind, vector := "", uint64(0)
	for p.token.kind == dotted {
		if v := vectorOf(p.token.text); v > 0 {
			vector = v
		} else if SizeOf(p.token.text) > 0 {
			kind = p.token.text
		} else {
			return p.failure("%s is not a type of a register", p.token.text)
		}
		p.advance()
	}
	if kind == "" {
		return p.wanted("a register's type")
	}
	for {
		name, err := p.name("a register")
		if err != nil {
			return err
		}
		if p.take("<") {
			count, ok := literal(p.token.text)
			if p.token.kind != number || !ok || count.Kind != IntegerOperand {
				return p.wanted("how many registers")
			}
			p.advance()
			if err := p.expect(">"); err != nil {
				return err
			}
			p.body.scope.ranges = append(p.body.scope.ranges, registerRange{name, count.Bits, kind, vector})
		} else if _, err := p.register(p.body.scope, name, kind, vector); err != nil {
			return err
		}
		if !p.take(",") {
			return p.expect(";")
		}
	}
}

func (p *parser) register(s *scope, name, kind string, vector uint64) (Operand, error) {
	f := p.body.function
	if len(f.Registers) >= mostRegisters {
		return Operand{}, p.failure("%s uses more than %d registers", f.Name, mostRegisters)
	}
	o := Operand{Kind: RegisterOperand, Register: len(f.Registers), Component: -1}
	f.Registers = append(f.Registers, Register{name, kind, vector})
	s.names[name] = o
	return o, nil
}

// lookup finds a register, a variable or a parameter, innermost first.
func (p *parser) lookup(name string) (Operand, bool, error) {
	for s := p.body.scope; s != nil; s = s.outer {
		if o, known := s.names[name]; known {
			return o, true, nil
		}
		for i := len(s.ranges) - 1; i >= 0; i-- {
			r := &s.ranges[i]
			if n, ok := r.number(name); ok && n < r.count {
				o, err := p.register(s, name, r.kind, r.vector)
				return o, true, err
			}
		}
	}
	return Operand{}, false, nil
}

// number gives 9 for %r9, if the range's names are such.
func (r *registerRange) number(name string) (uint64, bool) {
	digits, ok := strings.CutPrefix(name, r.prefix)
	if !ok || digits == "" || digits[0] == '0' && len(digits) > 1 {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil
}

// resolve gives labels to the operands that wait for them.
func (p *parser) resolve() error {
	for _, waiting := range p.body.pending {
		found := false
		for s := waiting.scope; s != nil && !found; s = s.outer {
			var target Operand
			if target, found = s.labels[waiting.operand.Name]; !found {
				continue
			}
			if waiting.operand.Kind == BranchTableOperand {
				p.body.function.BranchTables[waiting.operand.Index][waiting.operand.Register] = target.Index
			} else {
				*waiting.operand = target
			}
		}
		if !found {
			return failure(p.text, waiting.line, "%s", p.undeclared(waiting.operand.Name, waiting.scope))
		}
	}
	return nil
}
