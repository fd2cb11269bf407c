package prototype

import (
	"strconv"
	"strings"

	"dlaunch/dlpack"
	"dlaunch/internal/status"
)

// parser reads a text from left to right with one token of look-ahead.
type parser struct {
	text   string
	token  token // the next one
	result *Prototype
	sizes  map[string]int

	certain []bool // by size: a tensor that cannot be null has it
}

// Parse reads and checks a prototype. Its errors are status.Prototype.
func Parse(text string) (*Prototype, error) {
	start := listStart(text)
	if start < 0 {
		return nil, errorAt(text, len(strings.TrimRight(text, space)), `"(" is wanted, the end found: a prototype is name(parameter: type, ...)`)
	}
	name := strings.Trim(text[:start], space)
	if fault := nameFault(name); fault >= 0 {
		at := fault + len(text[:start]) - len(strings.TrimLeft(text[:start], space))
		return nil, errorAt(text, at, "%s cannot be here in a kernel's name; a PTX identifier is wanted", lex(text, at).quote())
	}
	p := &parser{text: text, result: &Prototype{Name: name}, sizes: map[string]int{}}
	p.move(start + 1)
	if err := p.list(); err != nil {
		return nil, err
	}
	if err := p.resolve(); err != nil {
		return nil, err
	}
	return p.result, nil
}

// Agree refuses a prototype that names another kernel than the call does.
func (p *Prototype) Agree(name string) error {
	if p.Name == "" || p.Name == name {
		return nil
	}
	return status.Errorf(status.Prototype, "prototype, column 1: it is of the kernel %s; the call is for %s", quote(p.Name), quote(name))
}

func (p *parser) move(at int) { p.token = lex(p.text, at) }

// take gives the next token and goes on to the one after it.
func (p *parser) take() token {
	t := p.token
	p.move(t.at + len(t.text))
	return t
}

func (p *parser) next(mark string) bool { return p.token.kind == tokenMark && p.token.text == mark }

func (p *parser) accept(mark string) bool {
	if !p.next(mark) {
		return false
	}
	p.take()
	return true
}

func (p *parser) expect(mark, where string) error {
	if !p.accept(mark) {
		return p.wanted(`"` + mark + `" ` + where)
	}
	return nil
}

// wanted refuses the next token.
func (p *parser) wanted(what string) error {
	return p.fail(p.token, "%s is wanted, %s found", what, p.token.quote())
}

func (p *parser) fail(t token, format string, args ...any) error {
	return errorAt(p.text, t.at, format, args...)
}

func (p *parser) list() error {
	if !p.next(")") {
		for {
			if len(p.result.Params) == MaxParams {
				return p.fail(p.token, "more than %d parameters", MaxParams)
			}
			if err := p.param(); err != nil {
				return err
			}
			if !p.accept(",") {
				break
			}
		}
	}
	if !p.next(")") {
		return p.wanted(`"," or ")"` + p.mayFollow())
	}
	p.take()
	if p.token.kind != tokenEnd {
		return p.wanted("the end")
	}
	return nil
}

// mayFollow helps where a part stands in the wrong order.
func (p *parser) mayFollow() string {
	switch {
	case p.next("@"):
		return ` (attributes stand before "=")`
	case p.next("?"):
		return ` ("?" stands right after the type)`
	case p.next("+"), p.next("-"), p.next("/"):
		return ` (an expression is a product: a*b)`
	}
	return ""
}

func (p *parser) param() error {
	name := p.token
	if name.kind != tokenIdent {
		return p.wanted("a parameter's name")
	}
	if name.text == "_" {
		return p.fail(name, `"_" is no name; give the parameter one`)
	}
	p.take()
	for i := range p.result.Params {
		if p.result.Params[i].Name == name.text {
			return p.fail(name, "a second parameter %s; the first is at column %d", quote(name.text), p.result.Params[i].Column)
		}
	}
	param := Param{Name: name.text, Column: name.at + 1}
	if err := p.expect(":", "and a type after "+quote(name.text)); err != nil {
		return err
	}
	mode := p.mode(&param)
	if err := p.typeOf(&param); err != nil {
		return err
	}
	if param.Mode != In && !param.Tensor {
		return p.fail(mode, "%s is for tensors; a result of one element is written %s[]", mode.text, scalarOr(param, "f32"))
	}
	if err := p.attributes(&param); err != nil {
		return err
	}
	if p.next("=") {
		if err := p.fill(&param); err != nil {
			return err
		}
	}
	p.result.Params = append(p.result.Params, param)
	return nil
}

// scalarOr gives the scalar type of a parameter that is one.
func scalarOr(param Param, other string) string {
	if param.isScalar() {
		return param.Scalar.String()
	}
	return other
}

func (p *parser) mode(param *Param) token {
	if p.token.kind != tokenIdent {
		return token{}
	}
	for _, m := range []Mode{In, Out, InOut} {
		if p.token.text == m.String() {
			param.Mode = m
			return p.take()
		}
	}
	return token{}
}

// number reads a whole number of 63 bits.
func (p *parser) number(what string) (int64, token, error) {
	t := p.token
	if t.kind != tokenNumber {
		return 0, t, p.wanted(what)
	}
	p.take()
	for i := range len(t.text) {
		if !isDigit(t.text[i]) {
			return 0, t, p.fail(t, "%s is no whole decimal number; %s is wanted", t.quote(), what)
		}
	}
	if len(t.text) > 1 && t.text[0] == '0' {
		return 0, t, p.fail(t, "%s begins with 0; a decimal number is wanted", t.quote())
	}
	n, err := strconv.ParseInt(t.text, 10, 64)
	if err != nil {
		return 0, t, p.fail(t, "%s is more than 2^63-1", t.quote())
	}
	return n, t, nil
}

// power reads a power of two that fits 31 bits.
func (p *parser) power(what string) (uint32, token, error) {
	n, t, err := p.number(what)
	if err != nil {
		return 0, t, err
	}
	if n < 1 || n > 1<<30 || n&(n-1) != 0 {
		return 0, t, p.fail(t, "%s is no alignment; a power of two is wanted", t.quote())
	}
	return uint32(n), t, nil
}

func (p *parser) dims(param *Param) error {
	open := p.take()
	for !p.next("]") {
		if len(param.Dims) == dlpack.MaxRank {
			return p.fail(p.token, "more than %d axes", dlpack.MaxRank)
		}
		if err := p.dim(param); err != nil {
			return err
		}
		if !p.accept(",") {
			break
		}
		if p.next("]") {
			return p.wanted("a size after the comma")
		}
	}
	if !p.next("]") {
		return p.wanted(`"," or "]" for the "[" at column ` + strconv.Itoa(open.at+1))
	}
	p.take()
	return nil
}

func (p *parser) dim(param *Param) error {
	t := p.token
	switch {
	case t.text == "...":
		if param.OpenRank {
			return p.fail(t, `a second "..."; one is wanted, alone or first`)
		}
		if len(param.Dims) > 0 {
			return p.fail(t, `"..." after other sizes; it is wanted alone or first`)
		}
		param.OpenRank = true
		p.take()
	case t.kind == tokenNumber:
		n, _, err := p.number("a size")
		if err != nil {
			return err
		}
		param.Dims = append(param.Dims, Dim{Kind: Fixed, Extent: n})
	case t.text == "_":
		param.Dims = append(param.Dims, Dim{Kind: Free})
		p.take()
	case t.kind == tokenIdent:
		index, known := p.sizes[t.text]
		if !known {
			index = len(p.result.Sizes)
			p.sizes[t.text] = index
			p.result.Sizes = append(p.result.Sizes, t.text)
			p.certain = append(p.certain, false)
		}
		param.Dims = append(param.Dims, Dim{Kind: Named, Name: t.text, Size: index})
		p.take()
	default:
		return p.wanted(`a size (a number, a name, "_" or "...")`)
	}
	return nil
}
