package ptx

import (
	"strings"
	"sync"
)

// opcode is an instruction of the PTX ISA, with the forms that the table has.
type opcode struct{ forms []form }

// form is a line of formTable.
type form struct {
	words    map[string]standing
	groups   [][]string // of which one stands at most
	wanted   uint32     // the groups of which one must
	repeated uint32     // the groups of which several may
	open     bool       // to other modifiers
	types    [][]string
	operands []wanted
}

// standing says where a modifier stands: in which group, or in which lists of types.
type standing struct {
	group int // -1 for a type
	types uint8
}

// wanted says what is right at one operand's place.
type wanted struct {
	what   byte // as formTable has it; '[' for an address
	beside bool // a predicate may stand beside it
	wider  bool
	braces bool // there may be several, each of the type
	parts  bool // or several that are the type's bits together
}

var (
	opcodes     = map[string]*opcode{}
	opcodeNames []string
	readOnce    sync.Once
)

// opcodeOf gives an instruction's opcode; nil where there is none.
func opcodeOf(name string) *opcode {
	readOnce.Do(readForms)
	return opcodes[name]
}

func readForms() {
	lists := map[string]string{}
	for _, line := range strings.Split(formLists, "\n") {
		name, list, _ := strings.Cut(line, " ")
		lists[name] = list
	}
	for _, name := range strings.Fields(otherOpcodes) {
		opcodes[name] = &opcode{}
	}
	for _, line := range strings.Split(strings.TrimSpace(formTable), "\n") {
		columns := strings.Split(line, " |")
		f := readForm(expanded(columns[1], lists), expanded(columns[2], lists), strings.Fields(columns[3]))
		for _, name := range strings.Split(columns[0], "/") {
			o := opcodes[name]
			if o == nil {
				o = &opcode{}
				opcodes[name] = o
			}
			o.forms = append(o.forms, f)
		}
	}
	for name := range opcodes {
		opcodeNames = append(opcodeNames, name)
	}
}

// words are the modifiers and types of all forms.
func (o *opcode) words() []string {
	var words []string
	for i := range o.forms {
		for w := range o.forms[i].words {
			words = append(words, w)
		}
	}
	return words
}

func readForm(groups, types, operands []string) form {
	f := form{words: map[string]standing{}}
	for _, group := range groups {
		if group == "..." {
			f.open = true
			continue
		}
		switch group[len(group)-1] {
		case '!':
			f.wanted |= 1 << len(f.groups)
		case '*':
			f.repeated |= 1 << len(f.groups)
		}
		list := strings.Split(strings.TrimRight(group, "!*"), "/")
		for _, w := range list {
			f.words[w] = standing{group: len(f.groups)}
		}
		f.groups = append(f.groups, list)
	}
	for i, alternatives := range types {
		list := strings.Split(alternatives, "/")
		for _, w := range list {
			f.words[w] = standing{group: -1, types: f.words[w].types | 1<<i}
		}
		f.types = append(f.types, list)
	}
	for _, operand := range operands {
		f.operands = append(f.operands, wanted{what: strings.TrimLeft(operand, "{<")[0], beside: strings.Contains(operand, "|"),
			wider: strings.Contains(operand, "+"), braces: operand[0] == '{', parts: operand[0] == '<'})
	}
	return f
}

// expanded gives a column's entries, with the lists in the place of their names.
func expanded(column string, lists map[string]string) []string {
	var all []string
	for _, entry := range strings.Fields(column) {
		alternatives := strings.TrimRight(entry, "!*")
		parts := strings.Split(alternatives, "/")
		for i, part := range parts {
			if list, known := lists[part]; known {
				parts[i] = list
			}
		}
		all = append(all, strings.Join(parts, "/")+entry[len(alternatives):])
	}
	return all
}
