package prototype_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	. "dlaunch/launch/prototype"
)

// docs/prototypes.md is true: each line of its `prototype` blocks is read, each
// text of its `refused` blocks gives the message that follows it, and a `cuda`
// block is the file that it names.
func TestDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/prototypes.md")
	require.NoError(t, err)
	read, refused, shown := 0, 0, 0
	parts := strings.Split(string(page), "```")
	require.Equal(t, 1, len(parts)%2, "a block is not closed")
	for i := 1; i < len(parts); i += 2 {
		kind, body, _ := strings.Cut(parts[i], "\n")
		if path, ok := strings.CutPrefix(kind, "cuda "); ok {
			source, err := os.ReadFile("../../" + path)
			require.NoError(t, err)
			require.Equal(t, string(source), body, path)
			shown++
			continue
		}
		body = strings.TrimSuffix(body, "\n")
		switch kind {
		case "prototype":
			for text := range strings.Lines(body) {
				checkRoundTrip(t, strings.TrimSuffix(text, "\n"))
				read++
			}
		case "refused":
			for _, example := range strings.Split(body, "\n\n") {
				text, message, _ := strings.Cut(example, "\n")
				_, err := Parse(text)
				require.EqualError(t, err, message)
				refused++
			}
		default:
			t.Errorf("a block of %q is none of prototype, refused and cuda", kind)
		}
	}
	require.Greater(t, read, 20)
	require.Greater(t, refused, 4)
	require.Positive(t, shown)
}
