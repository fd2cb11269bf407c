package prototype

import "strings"

const space = " \t\r\n"

// Is says whether a text is a prototype rather than a kernel's name: its last
// character is ")", and what the matching "(" opens is empty or begins with
// `ident :`. C++ names such as f(float*), f(ns::type) and f<float, 3> are names.
func Is(text string) bool {
	_, ok := matching(text)
	return ok
}

// matching finds the "(" of the parameter list.
func matching(text string) (int, bool) {
	text = strings.TrimRight(text, space)
	depth := 0
	for i := len(text) - 1; i >= 0; i-- {
		switch text[i] {
		case ')':
			depth++
		case '(':
			depth--
			if depth == 0 {
				inside := strings.Trim(text[i+1:len(text)-1], space)
				return i, inside == "" || beginsParam(inside)
			}
		}
		if depth == 0 {
			return 0, false // the last character is no ")"
		}
	}
	return 0, false
}

// beginsParam says whether a text begins with `ident :`, and not with C++'s `::`.
func beginsParam(text string) bool {
	text = strings.TrimLeft(text, space)
	n := identLength(text)
	if n == 0 {
		return false
	}
	text = strings.TrimLeft(text[n:], space)
	return strings.HasPrefix(text, ":") && !strings.HasPrefix(text, "::")
}

// listStart finds the "(" where the parameters begin, also in a text whose end
// is damaged, so that the error is where the damage is.
func listStart(text string) int {
	if at, ok := matching(text); ok {
		return at
	}
	for i := range len(text) {
		if text[i] == '(' && beginsParam(text[i+1:]) {
			return i
		}
	}
	return strings.IndexByte(text, '(')
}

func identLength(text string) int {
	n := 0
	for n < len(text) && (isLetter(text[n]) || text[n] == '_' || n > 0 && (isDigit(text[n]) || text[n] == '$')) {
		n++
	}
	return n
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// nameFault finds what a kernel's name cannot be, as an offset, or -1. A name is
// a PTX identifier, or what a demangler makes of one: then anything may stand
// in its < > and ( ).
func nameFault(name string) int {
	var opened []int
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '<' || c == '(':
			opened = append(opened, i)
		case c == '>' || c == ')':
			if len(opened) == 0 {
				return i
			}
			opened = opened[:len(opened)-1]
		case strings.IndexByte(space, c) >= 0 && len(opened) == 0:
			return len(name) - len(strings.TrimLeft(name[i:], space))
		case c < ' ' || c == 0x7f:
			return i
		case len(opened) > 0:
		case isLetter(c) || strings.IndexByte("_$%.:~", c) >= 0 || isDigit(c) && i > 0:
		default:
			return i
		}
	}
	if len(opened) > 0 {
		return opened[0]
	}
	return -1
}

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenIdent
	tokenNumber // whatever begins with a digit
	tokenMark
)

type token struct {
	kind tokenKind
	text string
	at   int // offset in the text
}

// lex reads the token that begins at or after an offset.
func lex(text string, at int) token {
	for at < len(text) && strings.IndexByte(space, text[at]) >= 0 {
		at++
	}
	rest := text[at:]
	if rest == "" {
		return token{tokenEnd, "", at}
	}
	if n := identLength(rest); n > 0 {
		return token{tokenIdent, rest[:n], at}
	}
	if isDigit(rest[0]) {
		n := 1
		for n < len(rest) && (isDigit(rest[n]) || isLetter(rest[n]) || rest[n] == '_' || rest[n] == '.') {
			n++
		}
		return token{tokenNumber, rest[:n], at}
	}
	if strings.HasPrefix(rest, "...") {
		return token{tokenMark, "...", at}
	}
	for n := range rest { // to the second character, so that one is never torn
		if n > 0 {
			return token{tokenMark, rest[:n], at}
		}
	}
	return token{tokenMark, rest, at}
}
