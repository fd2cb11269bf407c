package driver

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestResultWords(t *testing.T) {
	for _, test := range []struct {
		result     Result
		name, says string
		whole      string
	}{
		{0, "CUDA_SUCCESS", "no error", "CUDA_SUCCESS (0)"},
		{1, "CUDA_ERROR_INVALID_VALUE", "argument", "CUDA_ERROR_INVALID_VALUE (1)"},
		{34, "CUDA_ERROR_STUB_LIBRARY", "toolkit", "CUDA_ERROR_STUB_LIBRARY (34)"},
		{218, "CUDA_ERROR_INVALID_PTX", "PTX", "CUDA_ERROR_INVALID_PTX (218)"},
		{700, "CUDA_ERROR_ILLEGAL_ADDRESS", "address", "CUDA_ERROR_ILLEGAL_ADDRESS (700)"},
		{909, "CUDA_ERROR_TIMEOUT", "long", "CUDA_ERROR_TIMEOUT (909)"},
		{999, "CUDA_ERROR_UNKNOWN", "driver", "CUDA_ERROR_UNKNOWN (999)"},
		{997, "CUDA_ERROR_997", "newer", "CUDA_ERROR_997 (997)"},
		{-1, "CUDA_ERROR_-1", "newer", "CUDA_ERROR_-1 (-1)"},
	} {
		require.Equal(t, test.name, test.result.Name())
		require.Contains(t, test.result.Text(), test.says, test.name)
		require.Equal(t, test.whole, test.result.String())
	}
}

// The codes that cuda.h 13.0 has, first and last of each run.
var codes = [][2]Result{{0, 8}, {34, 34}, {36, 36}, {46, 46}, {100, 102}, {200, 202}, {205, 226}, {300, 304}, {400, 402},
	{500, 500}, {600, 600}, {700, 705}, {708, 721}, {800, 812}, {900, 916}, {999, 999}}

func TestEveryResultHasWordsOfItsOwn(t *testing.T) {
	names, known := map[string]bool{}, 0
	for _, run := range codes {
		for r := run[0]; r <= run[1]; r++ {
			words, there := resultWords[r]
			require.True(t, there, "%d", r)
			require.NotEmpty(t, words.text, words.name)
			require.False(t, names[words.name], words.name)
			names[words.name] = true
			known++
		}
	}
	require.Len(t, resultWords, known, "no code but these")
}

func TestSticky(t *testing.T) {
	sticky := map[Result]bool{214: true, 220: true, 226: true, 700: true, 702: true, 710: true, 714: true, 715: true,
		716: true, 717: true, 718: true, 719: true, 721: true}
	for r := Result(-1); r < 1001; r++ {
		require.Equal(t, sticky[r], r.Sticky(), "%v", r)
	}
}
