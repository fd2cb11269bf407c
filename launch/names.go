package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"dlaunch/internal/spelling"
	"dlaunch/internal/status"
)

// squeezedNames are the caller's names for symbols, by what identifies them: the
// blanks of `f<float, 3>` are as one likes.
func squeezedNames(names map[string]string) (map[string]string, error) {
	squeezed := make(map[string]string, len(names))
	for name, symbol := range names {
		key := squeeze(name)
		if key == "" || symbol == "" {
			return nil, status.Errorf(status.Argument, "names: %q stands for the symbol %q; neither may be empty", name, symbol)
		}
		if former, known := squeezed[key]; known && former != symbol {
			return nil, status.Errorf(status.Argument, "names: %q stands for two symbols, %q and %q", name, former, symbol)
		}
		squeezed[key] = symbol
	}
	return squeezed, nil
}

// squeeze takes blanks out but where they part words: unsigned int.
func squeeze(name string) string {
	var out []byte
	for _, field := range strings.Fields(name) {
		if len(out) > 0 && isWord(out[len(out)-1]) && isWord(field[0]) {
			out = append(out, ' ')
		}
		out = append(out, field...)
	}
	return string(out)
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// symbolOf gives the symbol that a name was said to stand for, else the name.
func (l *library) symbolOf(name string) string {
	if symbol, known := l.aliases[squeeze(name)]; known {
		return symbol
	}
	return name
}

// spellings are a mangled symbol's names, from the most to the least exact.
// For _ZN2ns1fIfLi3EEEvPT_: void ns::f<float, 3>(float*), the same without what it
// returns, ns::f<float, 3>, ns::f, f.
func spellings(symbol string) []string {
	const most = 4096 // the time to read one grows with the square of its length
	if !strings.HasPrefix(symbol, "_Z") || len(symbol) > most {
		return nil
	}
	longest := demangle.MaxLength(12) // 4096 bytes: a short symbol can stand for gigabytes
	whole, err := demangle.ToString(symbol, longest)
	if err != nil {
		return nil
	}
	name, err := demangle.ToString(symbol, longest, demangle.NoParams)
	if err != nil {
		return nil
	}
	base, err := demangle.ToString(symbol, longest, demangle.NoParams, demangle.NoTemplateParams)
	if err != nil {
		return nil
	}
	signature := whole[max(0, strings.Index(whole, name)):]
	return []string{whole, signature, name, base, base[strings.LastIndex(base, ":")+1:]}
}

// named gives the symbols that a name stands for when it is demangled: those that
// it names most exactly.
func named(name string, symbols []string) []string {
	name = squeeze(name)
	best, found := -1, []string(nil)
	for _, symbol := range symbols {
		for level, spelling := range spellings(symbol) {
			if squeeze(spelling) != name || best >= 0 && level > best {
				continue
			}
			if level != best {
				best, found = level, nil
			}
			found = append(found, symbol)
			break
		}
	}
	return found
}

// notThere says what there is instead of a name that no symbol, or more than one,
// goes by; all says whether the symbols are all that there are.
func (l *library) notThere(what, name string, symbols []string, all bool) *status.Error {
	if candidates := named(name, symbols); len(candidates) > 1 {
		return status.Errorf(status.NotFound, "%s %q could be any of %d in %s: %s; ask for one of these names",
			what, name, len(candidates), l.label, listed(candidates, what))
	}
	asked := fmt.Sprintf("%q", name)
	if symbol := l.symbolOf(name); symbol != name {
		asked = fmt.Sprintf("%q (which names say is %q)", symbol, name)
	}
	err := status.Errorf(status.NotFound, "no %s %s in %s", what, asked, l.label)
	if all || len(symbols) > 0 {
		err.Message += "; " + nearest(what, name, symbols)
	}
	return err
}

// nearest lists the symbols that are most like the name that was asked for.
func nearest(what, asked string, symbols []string) string {
	if len(symbols) == 0 {
		return "the image has no " + what
	}
	asked = strings.ToLower(asked)
	distances := make(map[string]int, len(symbols))
	for _, symbol := range symbols {
		least := unlike(asked, symbol)
		for _, spelling := range spellings(symbol) {
			least = min(least, unlike(asked, spelling))
		}
		distances[symbol] = least
	}
	sorted := slices.Clone(symbols)
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(distances[a], distances[b]) })
	said := "there are "
	if distances[sorted[0]] <= 1+len(asked)/3 && asked != "" {
		said = "the nearest are "
	}
	if len(symbols) == 1 {
		said = "there is only "
	}
	return said + listed(sorted, what)
}

func unlike(asked, name string) int {
	name = strings.ToLower(name)
	if asked != "" && strings.Contains(name, asked) {
		return 0
	}
	return spelling.Distance(asked, name)
}

// listed shows the first few symbols, and what they are called in the source.
func listed(symbols []string, what string) string {
	const most = 4
	var list []string
	for _, symbol := range symbols[:min(most, len(symbols))] {
		shown := fmt.Sprintf("%q", symbol)
		if names := spellings(symbol); names != nil {
			shown += " (" + names[1] + ")"
		}
		list = append(list, shown)
	}
	if len(symbols) > most {
		list = append(list, fmt.Sprintf("… (%d %ss)", len(symbols), what))
	}
	return strings.Join(list, ", ")
}
