package spelling_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/spelling"
)

func TestNearest(t *testing.T) {
	for _, c := range []struct {
		word, want string
		known      []string
	}{
		{"gobal", "global", []string{"local", "global"}},
		{"GLOBAL", "global", []string{"local", "global"}},
		{"i3", "i32", []string{"i8", "i64", "i32"}}, // it begins alike
		{"u31", "u32", []string{"u33", "u32"}},
		{"frob", "", []string{"global", "f32"}},
		{"x", "", []string{"y"}}, // all of it is another
		{"", "", nil},
	} {
		require.Equal(t, c.want, spelling.Nearest(c.word, c.known), c.word)
	}
	require.Equal(t, "; did you mean f32?", spelling.DidYouMean("f33", []string{"f32"}))
	require.Empty(t, spelling.DidYouMean("f33", nil))
}
