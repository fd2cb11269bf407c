package prototype_test

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/status"
	. "dlaunch/launch/prototype"
)

// Any text is either read, and then its canonical spelling is read as the same,
// or refused with a column inside it.
func FuzzParse(f *testing.F) {
	for _, text := range good {
		f.Add(text)
	}
	f.Fuzz(check)
}

func check(t *testing.T, text string) {
	p, err := Parse(text)
	if err == nil {
		require.True(t, Is(text), "%q is read, but called no prototype", text)
		require.LessOrEqual(t, len(p.Params), MaxParams)
		checkRoundTrip(t, text)
		return
	}
	var e *status.Error
	require.True(t, errors.As(err, &e))
	require.Equal(t, status.Prototype, e.Code)
	require.True(t, utf8.ValidString(e.Message))
	column, _, found := strings.Cut(strings.TrimPrefix(e.Message, "prototype, column "), ":")
	require.True(t, found)
	n, convErr := strconv.Atoi(column)
	require.NoError(t, convErr)
	require.GreaterOrEqual(t, n, 1)
	require.LessOrEqual(t, n, len(text)+1)
}

// Good texts with tokens removed, doubled, exchanged and cut: the neighbourhood
// of the language, where a parser's mistakes are.
func TestMutations(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 1))
	marks := strings.Fields("( ) [ ] : , ? @ = * - ... _ n x 0 1 9223372036854775808 in out stride scratch bytes ptr any f32 i8 b16 @view @align(4) \u00e9 \xff")
	var refused, read int
	for range 30000 {
		tokens := split(good[random.IntN(len(good))])
		for range 1 + random.IntN(2) {
			if len(tokens) == 0 {
				break
			}
			at := random.IntN(len(tokens))
			switch random.IntN(4) {
			case 0:
				tokens = append(tokens[:at], tokens[at+1:]...)
			case 1:
				tokens = append(tokens[:at+1], tokens[at:]...)
			case 2:
				tokens[at] = marks[random.IntN(len(marks))]
			case 3:
				tokens = tokens[:at]
			}
		}
		text := strings.Join(tokens, "")
		check(t, text)
		if _, err := Parse(text); err != nil {
			refused++
		} else {
			read++
		}
	}
	require.Greater(t, refused, 10000)
	require.Greater(t, read, 1000)
}

// split cuts a text where its class of characters changes.
func split(text string) []string {
	var tokens []string
	word := func(r byte) bool {
		return r == '_' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z'
	}
	for i := 0; i < len(text); {
		n := 1
		for word(text[i]) && i+n < len(text) && word(text[i+n]) {
			n++
		}
		tokens = append(tokens, text[i:i+n])
		i += n
	}
	return tokens
}
