package prototype

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"dlaunch/internal/status"
)

// errorAt words a refusal: the column, what is wrong, and the place shown.
func errorAt(text string, at int, format string, args ...any) error {
	return status.Errorf(status.Prototype, "prototype, column %d: %s%s", at+1, fmt.Sprintf(format, args...), excerpt(text, at))
}

// excerpt shows the neighbourhood of an offset with a caret beneath it. It is
// short, since an error message has an end.
func excerpt(text string, at int) string {
	const around, dots = 32, 3
	start, end := at-around, at+around
	if start <= dots {
		start = 0
	}
	if end+dots >= len(text) {
		end = len(text)
	}
	for start > 0 && !utf8.RuneStart(text[start]) {
		start--
	}
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end++
	}
	before, after := "", ""
	if start > 0 {
		before = "..."
	}
	if end < len(text) {
		after = "..."
	}
	left := before + printable(text[start:at])
	return "\n  " + left + printable(text[at:end]) + after + "\n  " + strings.Repeat(" ", utf8.RuneCountInString(left)) + "^"
}

// printable makes one line of valid UTF-8, with as many characters.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}

// quote shows a token in a message.
func (t token) quote() string {
	if t.kind == tokenEnd {
		return "the end"
	}
	return quote(t.text)
}

func quote(text string) string {
	const longest = 40
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "..."
	}
	return `"` + printable(text) + `"`
}
