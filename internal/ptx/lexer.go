package ptx

import (
	"strings"

	"dlaunch/internal/status"
)

type tokenKind uint8

const (
	endOfText tokenKind = iota
	word                // name, %r1, ld
	dotted              // .global, .L1::evict_last
	number              // 12, 0x1fU, 0f3F800000, 1.5
	quoted              // "…", without the quotes
	mark                // one character
)

type token struct {
	kind tokenKind
	text string
	line int
}

func (t token) is(text string) bool { return (t.kind == mark || t.kind == dotted) && t.text == text }

// lexer takes PTX apart on demand. It never fails: what it does not know comes
// as a mark, for the parser to refuse.
type lexer struct {
	text string
	at   int
	line int
}

func newLexer(text string) *lexer { return &lexer{text: text, line: 1} }

func (l *lexer) skipBlank() {
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case c == '\n':
			l.line++
			l.at++
		case c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f':
			l.at++
		case c == '/' && l.follows("/"):
			for l.at < len(l.text) && l.text[l.at] != '\n' {
				l.at++
			}
		case c == '/' && l.follows("*"):
			l.skipComment()
		default:
			return
		}
	}
}

func (l *lexer) follows(s string) bool {
	return l.at+1 < len(l.text) && l.text[l.at+1:l.at+2] == s
}

func (l *lexer) skipComment() {
	for l.at += 2; l.at < len(l.text); l.at++ {
		if l.text[l.at] == '\n' {
			l.line++
		}
		if l.text[l.at] == '*' && l.follows("/") {
			l.at += 2
			return
		}
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '_' || c == '$'
}

func (l *lexer) next() token {
	l.skipBlank()
	start, line := l.at, l.line
	if start >= len(l.text) {
		return token{endOfText, "", line}
	}
	kind := mark
	switch c := l.text[start]; {
	case isDigit(c):
		kind = number
		l.takeNumber()
	case isNameByte(c) || c == '%' && start+1 < len(l.text) && isNameByte(l.text[start+1]):
		kind = word
		l.at++
		l.takeName()
	case c == '.' && start+1 < len(l.text) && isNameByte(l.text[start+1]):
		kind = dotted
		l.at++
		l.takeName()
		for l.at+2 < len(l.text) && l.text[l.at] == ':' && l.text[l.at+1] == ':' && isNameByte(l.text[l.at+2]) {
			l.at += 2
			l.takeName()
		}
	case c == '"':
		return l.takeString()
	default:
		l.at++
	}
	return token{kind, l.text[start:l.at], line}
}

func (l *lexer) takeName() {
	for l.at < len(l.text) && isNameByte(l.text[l.at]) {
		l.at++
	}
}

// takeNumber takes 12, 0x1F, 0f3F800000, and decimal floats: 1.5, 1e-3. A dot
// belongs to the number when a digit follows.
func (l *lexer) takeNumber() {
	start := l.at
	l.takeName()
	if l.at+1 < len(l.text) && l.text[l.at] == '.' && isDigit(l.text[l.at+1]) {
		l.at++
		l.takeName()
	}
	taken := l.text[start:l.at]
	last := taken[len(taken)-1]
	hex := len(taken) > 1 && taken[0] == '0' && taken[1] > '9'
	if (last == 'e' || last == 'E') && !hex && l.at < len(l.text) && (l.text[l.at] == '-' || l.text[l.at] == '+') {
		l.at++
		l.takeName()
	}
}

// takeString takes a quoted string; one that is never closed ends with its line.
func (l *lexer) takeString() token {
	line := l.line
	l.at++
	start := l.at
	for l.at < len(l.text) && l.text[l.at] != '"' && l.text[l.at] != '\n' {
		l.at++
	}
	text := l.text[start:l.at]
	if l.at < len(l.text) && l.text[l.at] == '"' {
		l.at++
	}
	return token{quoted, text, line}
}

// skipBraces passes a body whose opening brace has been taken.
func (l *lexer) skipBraces() {
	for depth := 1; depth > 0; {
		l.skipBlank()
		if l.at >= len(l.text) {
			return
		}
		switch l.text[l.at] {
		case '{':
			depth++
		case '}':
			depth--
		case '"':
			l.takeString()
			continue
		}
		l.at++
	}
}

// Line gives the text of a line, for messages.
func Line(text string, line int) string {
	start := 0
	for n := 1; n < line && start < len(text); start++ {
		if text[start] == '\n' {
			n++
		}
	}
	end := start
	for end < len(text) && text[end] != '\n' && end-start < mostQuoted {
		end++
	}
	for start < end && (text[start] == ' ' || text[start] == '\t') {
		start++
	}
	for end > start && (text[end-1] == '\r' || text[end-1] == ' ' || text[end-1] == '\t') {
		end--
	}
	return text[start:end]
}

// mostQuoted keeps a message readable whose line is not.
const mostQuoted = 120

func failure(text string, line int, format string, args ...any) *status.Error {
	err := status.Errorf(status.Image, format, args...)
	said := status.Errorf(status.Image, "PTX line %d: %s", line, err.Message)
	if source := Line(text, line); source != "" {
		if !strings.HasSuffix(said.Message, "?") {
			said.Message += ":"
		}
		said.Message += " `" + source + "`"
	}
	return said
}
