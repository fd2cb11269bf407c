package ptx

import (
	"strconv"

	"dlaunch/internal/status"
)

// Link makes one module of several: what one text declares extern, another
// defines. inputs names the texts, for messages.
func Link(modules []*Module, inputs []string) (*Module, error) {
	l := linker{inputs: inputs, whole: &Module{}, functions: map[string]placed{}, variables: map[string]placed{}}
	taken := map[string]int{}
	for _, m := range modules {
		for name := range m.names() {
			taken[name]++
		}
	}
	for i, m := range modules {
		m.renameOwn(taken, i+1)
		if err := l.add(m, i); err != nil {
			return nil, err
		}
	}
	return l.whole, nil
}

type linker struct {
	inputs               []string
	whole                *Module
	functions, variables map[string]placed
}

// placed is where a name of the whole is, and which input brought it.
type placed struct{ at, input int }

// names gives each name of a module, and whether others see it. A name that is
// declared and then defined is as it is defined.
func (m *Module) names() map[string]Linkage {
	names := map[string]Linkage{}
	for i := range m.Functions {
		f := &m.Functions[i]
		linkage := f.Linkage
		linkage.Visible = linkage.Visible || f.Entry || !f.Defined // undefined: another text's, or the driver's
		names[f.Name] = linkage
	}
	for i := range m.Variables {
		names[m.Variables[i].Name] = m.Variables[i].Linkage
	}
	return names
}

// renameOwn gives the names that are the text's own, and that others have too, a
// number.
func (m *Module) renameOwn(taken map[string]int, number int) {
	renamed := map[string]string{}
	for name, linkage := range m.names() {
		if linkage != (Linkage{}) || taken[name] < 2 {
			continue
		}
		other := name
		for taken[other] > 0 {
			other += "$" + strconv.Itoa(number)
		}
		taken[other]++
		renamed[name] = other
	}
	if len(renamed) == 0 {
		return
	}
	rename := func(name *string) {
		if other, known := renamed[*name]; known {
			*name = other
		}
	}
	for i := range m.Variables {
		rename(&m.Variables[i].Name)
		for j := range m.Variables[i].Initial {
			rename(&m.Variables[i].Initial[j].Symbol)
		}
	}
	for i := range m.Functions {
		rename(&m.Functions[i].Name)
		for j := range m.Functions[i].Instructions {
			renameOperands(m.Functions[i].Instructions[j].Operands, rename)
		}
	}
}

func renameOperands(operands []Operand, rename func(name *string)) {
	for i := range operands {
		o := &operands[i]
		if o.Kind == SymbolOperand || o.Kind == FunctionOperand {
			rename(&o.Name)
		}
		renameOperands(o.Elements, rename)
	}
}

func (l *linker) add(m *Module, input int) error {
	if l.whole.Version.Less(m.Version) {
		l.whole.Version = m.Version
	}
	for i := range m.Functions {
		m.Functions[i].Input = l.inputs[input]
		if err := l.addFunction(m.Functions[i], input); err != nil {
			return err
		}
	}
	for _, v := range m.Variables {
		if err := l.addVariable(v, input); err != nil {
			return err
		}
	}
	return nil
}

func (l *linker) addFunction(f Function, input int) error {
	if former, known := l.variables[f.Name]; known {
		return l.twice("a function", f.Name, former, input)
	}
	former, known := l.functions[f.Name]
	if !known {
		l.functions[f.Name] = placed{len(l.whole.Functions), input}
		l.whole.Functions = append(l.whole.Functions, f)
		return nil
	}
	there := &l.whole.Functions[former.at]
	switch {
	case !f.Defined, there.Defined && f.Weak:
		return nil
	case there.Defined && !there.Weak:
		return l.twice("a function", f.Name, former, input)
	}
	*there = f
	l.functions[f.Name] = placed{former.at, input}
	return nil
}

func (l *linker) addVariable(v Variable, input int) error {
	if former, known := l.functions[v.Name]; known {
		return l.twice("a variable", v.Name, former, input)
	}
	former, known := l.variables[v.Name]
	if !known {
		l.variables[v.Name] = placed{len(l.whole.Variables), input}
		l.whole.Variables = append(l.whole.Variables, v)
		return nil
	}
	there := &l.whole.Variables[former.at]
	if !v.Unsized && !there.Unsized && (v.Size != there.Size || v.Space != there.Space) {
		return status.Errorf(status.Image, "%s has %d bytes in %s of %s, and %d in %s of %s", v.Name,
			there.Size, there.Space, l.inputs[former.input], v.Size, v.Space, l.inputs[input])
	}
	switch {
	case v.Extern, !there.Extern && v.Weak:
		return nil
	case !there.Extern && !there.Weak:
		return l.twice("a variable", v.Name, former, input)
	}
	*there = v
	l.variables[v.Name] = placed{former.at, input}
	return nil
}

func (l *linker) twice(what, name string, former placed, input int) error {
	return status.Errorf(status.Image, "%s is defined twice: in %s, and as %s in %s", name, l.inputs[former.input], what, l.inputs[input])
}
