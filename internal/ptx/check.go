package ptx

import (
	"errors"
	"slices"
	"strings"

	"dlaunch/internal/spelling"
)

// Check gives the first instruction that PTX does not have, and what is wrong with
// it: a name that is none, a modifier that does not go with the others, a register
// of another type. What the table of forms does not say is right, and so are the
// words of a PTX that is newer.
func (m *Module) Check() (*Instruction, error) {
	newer := newestForms.Less(m.Version)
	for i := range m.Functions {
		f := &m.Functions[i]
		for n := range f.Instructions {
			at := &f.Instructions[n]
			var err error
			if form, types := formOf(at); form != nil {
				err = f.checkOperands(at, form, types)
			} else if !newer {
				err = explain(at)
			}
			if err != nil {
				return at, err
			}
		}
	}
	return nil, nil
}

// formOf finds the form that an instruction is written in, and the types among its
// modifiers.
func formOf(i *Instruction) (*form, [2]string) {
	o := opcodeOf(i.Name)
	if o == nil {
		return nil, [2]string{}
	}
	for n := range o.forms {
		if types, wrong := o.forms[n].fit(i.Modifiers); wrong.why == fits {
			return &o.forms[n], types
		}
	}
	return nil, [2]string{}
}

// explain says why an instruction has no form; nothing where it is one that the
// simulator lacks.
func explain(i *Instruction) error {
	o := opcodeOf(i.Name)
	if o == nil {
		return errors.New("there is no such instruction" + spelling.DidYouMean(i.Name, opcodeNames))
	}
	if len(o.forms) == 0 {
		return nil
	}
	wrong := o.misfit(i.Modifiers)
	if wrong.why == lacking {
		return errors.New(wantedOf(wrong.list))
	}
	m, words := i.Modifiers[wrong.at], o.words()
	if slices.Contains(words, m) {
		return errors.New("." + m + " does not go with " + rest(i, wrong.at))
	}
	said := "." + m + " is no modifier of " + i.Name
	if near := spelling.Nearest(m, words); near != "" {
		said += "; did you mean ." + near + "?"
	}
	return errors.New(said)
}

// misfit of modifiers that no form has: of the one that goes furthest. One that is
// open to any says little of what was meant.
func (o *opcode) misfit(modifiers []string) misfit {
	var furthest misfit
	for n := range o.forms {
		_, wrong := o.forms[n].fit(modifiers)
		switch {
		case o.forms[n].open:
		case furthest.why == fits || wrong.at > furthest.at:
			furthest = wrong
		case wrong.at == furthest.at && wrong.why == lacking:
			furthest.list = slices.Concat(furthest.list, wrong.list)
		}
	}
	return furthest
}

// misfit says why modifiers are not those of a form, and from which on.
type misfit struct {
	why  reason
	at   int
	list []string // of which one is lacking
}

type reason uint8

const (
	fits    reason = iota
	unknown        // the form does not have it, or has it in another's place
	lacking        // one of a group, or a type
)

func (f *form) fit(modifiers []string) (types [2]string, wrong misfit) {
	typed, taken := 0, uint32(0)
	for at, m := range modifiers {
		w, known := f.words[m]
		switch {
		case !known && f.open:
		case !known:
			return types, misfit{why: unknown, at: at}
		case w.group < 0:
			if w.types>>typed&1 == 0 {
				return types, misfit{why: unknown, at: at}
			}
			if typed < len(types) {
				types[typed] = m
			}
			typed++
		case taken&^f.repeated>>w.group&1 != 0:
			return types, misfit{why: unknown, at: at}
		default:
			taken |= 1 << w.group
		}
	}
	for n, group := range f.groups {
		if f.wanted&^taken>>n&1 != 0 {
			return types, misfit{why: lacking, at: len(modifiers), list: group}
		}
	}
	if typed < len(f.types) {
		return types, misfit{why: lacking, at: len(modifiers), list: f.types[typed]}
	}
	return types, misfit{}
}

// wantedOf names what is lacking: one, or the choice.
func wantedOf(list []string) string {
	choice := "." + list[0]
	for n, w := range list[1:] {
		if !slices.Contains(list[:n+1], w) {
			choice += ", ." + w
		}
	}
	if choice == "."+list[0] {
		return choice + " is wanted"
	}
	return "one of " + choice + " is wanted"
}

// rest gives the modifiers before one, or else those behind it, or the name.
func rest(i *Instruction, at int) string {
	list := i.Modifiers[:at]
	if at == 0 {
		list = i.Modifiers[1:]
	}
	if len(list) == 0 {
		return i.Name
	}
	return "." + strings.Join(list, ".")
}
