package spelling_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/spelling"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"f32", "f32", 0}, {"saxpi", "saxpy", 1}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2},
		{"", "abc", 1}, {"ab", strings.Repeat("x", 1000), 3}, {"ab", "cdefg", 3},
	} {
		require.Equal(t, c.want, spelling.Distance(c.a, c.b), "%q %q", c.a, c.b)
		require.Equal(t, c.want, spelling.Distance(c.b, c.a), "%q %q", c.b, c.a)
	}
}
