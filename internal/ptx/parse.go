package ptx

import "math"

// Parse reads a whole module. What it cannot read is a *status.Error with the
// line and its text.
func Parse(text []byte) (*Module, error) {
	p := &parser{scanner: scanner{lexer: newLexer(string(text)), image: &Image{}}, module: &Module{},
		symbols: map[string]OperandKind{}, files: map[string]string{}}
	p.advance()
	for p.token.kind != endOfText {
		if err := p.statement(); err != nil {
			return nil, err
		}
	}
	if p.image.Version == (Version{}) {
		return nil, p.failure("there is no .version, with which every PTX text begins")
	}
	p.nameFiles()
	p.module.Version, p.module.Target = p.image.Version, p.image.Target
	return p.module, nil
}

type parser struct {
	scanner
	module  *Module
	symbols map[string]OperandKind // of the module: variables and functions
	files   map[string]string      // by the number that .loc uses
	source  Source
	body    *body // of the function that is being read
}

// most bounds what one text may ask for, so that a short text cannot take all
// memory.
const (
	mostRegisters = 1 << 20
	mostElements  = 1 << 24
)

func (p *parser) wanted(what string) error {
	return p.failure("%q stands where %s is wanted", p.token.text, what)
}

func (p *parser) expect(text string) error {
	if !p.take(text) {
		return p.wanted("`" + text + "`")
	}
	return nil
}

func (p *parser) name(what string) (string, error) {
	if p.token.kind != word {
		return "", p.wanted(what)
	}
	name := p.token.text
	p.advance()
	return name, nil
}

// linkage reads .visible and its like.
func (p *parser) linkage() (l Linkage) {
	for {
		switch {
		case p.take(".extern"):
			l.Extern = true
		case p.take(".visible"):
			l.Visible = true
		case p.take(".weak"), p.take(".common"):
			l.Weak = true
		default:
			return l
		}
	}
}

func (p *parser) statement() error {
	linkage := p.linkage()
	switch p.token.text {
	case ".version", ".target":
		target := p.token.text == ".target"
		err := p.scanner.directive()
		for err == nil && target && p.take(",") {
			p.advance()
		}
		return err
	case ".address_size":
		p.advance()
		if p.token.text != "64" {
			return p.failure("addresses of %s bits: only 64 are supported", p.token.text)
		}
		p.advance()
		return nil
	case ".entry":
		p.advance()
		return p.function(true, linkage)
	case ".func":
		p.advance()
		return p.function(false, linkage)
	case ".global", ".const", ".shared":
		return p.variables(linkage, &p.module.Variables)
	case ".file":
		return p.file()
	case ".loc":
		return p.loc()
	case ".section":
		return p.section()
	case ".alias":
		return p.failure(".alias is not supported")
	case ".pragma":
		p.advance()
		p.advance()
		return p.expect(";")
	case ";":
		p.advance()
		return nil
	}
	return p.wanted("a directive")
}

func (p *parser) file() error {
	p.advance()
	number := p.token.text
	p.advance()
	if p.token.kind != quoted {
		return p.wanted("a file's name")
	}
	p.files[number] = p.token.text
	p.advance()
	for p.take(",") {
		p.advance()
	}
	return nil
}

// nameFiles puts the names of files in the place of their numbers.
func (p *parser) nameFiles() {
	for _, f := range p.module.Functions {
		for i := range f.Instructions {
			source := &f.Instructions[i].Source
			source.File = p.files[source.File]
		}
	}
}

// loc reads `.loc 1 23 5, function_name $L, inlined_at 1 4 3`.
func (p *parser) loc() error {
	line := p.token.line
	p.advance()
	p.source.File = p.token.text // its number: .file may stand at the end of the text
	p.advance()
	source, ok := literal(p.token.text)
	if p.token.kind != number || !ok {
		return p.wanted("a line number")
	}
	p.source.Line = int(source.Bits & math.MaxInt32)
	p.advance()
	if p.token.kind == number {
		p.advance()
	}
	for p.take(",") {
		p.advance()
		for p.token.kind == number || p.token.kind == word && p.token.line == line || p.token.is("+") {
			p.advance()
		}
	}
	return nil
}

// section passes debug information.
func (p *parser) section() error {
	p.advance()
	for !p.token.is("{") && p.token.kind != endOfText {
		p.advance()
	}
	p.skipBraces()
	p.advance()
	return nil
}

// function reads an .entry or .func after that word.
func (p *parser) function(entry bool, linkage Linkage) error {
	f := Function{Entry: entry, Linkage: linkage}
	var err error
	if !entry && p.take("(") {
		if f.Returns, err = p.params(); err != nil {
			return err
		}
		place(f.Returns)
	}
	f.Line = p.token.line
	if f.Name, err = p.name("the name of a function"); err != nil {
		return err
	}
	if p.take("(") {
		if f.Params, err = p.params(); err != nil {
			return err
		}
		f.ParamsSize = place(f.Params)
	}
	for p.token.kind == dotted {
		directive := p.token.text
		p.advance()
		switch directive {
		case ".reqntid":
			f.ReqNTID = p.extents()
		case ".maxntid":
			f.MaxNTID = p.extents()
		case ".minnctapersm":
			f.MinBlocks = p.extents()[0]
		case ".maxnreg":
			f.MaxRegisters = p.extents()[0]
		default:
			for p.token.kind == number || p.token.kind == quoted || p.token.is(",") || p.token.is(";") && directive == ".pragma" {
				p.advance()
			}
		}
	}
	if kind, known := p.symbols[f.Name]; known && kind != FunctionOperand {
		return p.failure("%s is a variable already", f.Name)
	}
	p.symbols[f.Name] = FunctionOperand
	if p.take(";") {
		return p.declare(f)
	}
	if err := p.expect("{"); err != nil {
		return err
	}
	f.Defined = true
	if err := p.functionBody(&f); err != nil {
		return err
	}
	return p.declare(f)
}

// declare adds a function; a definition takes its prototype's place.
func (p *parser) declare(f Function) error {
	for i := range p.module.Functions {
		former := &p.module.Functions[i]
		if former.Name != f.Name {
			continue
		}
		if former.Defined && f.Defined {
			return p.failure("%s is defined twice: first in line %d", f.Name, former.Line)
		}
		if f.Defined {
			*former = f
		}
		return nil
	}
	p.module.Functions = append(p.module.Functions, f)
	return nil
}
