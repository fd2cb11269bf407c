package dlpack_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/dlpack"
)

// Only a view's own elements are written, wherever its strides put them.
func TestScatter(t *testing.T) {
	i16 := dlpack.DataType{Code: 0, Bits: 16, Lanes: 1}
	random := rand.New(rand.NewPCG(2, 4))
	const middle = 100
	for range 2000 {
		rank := random.IntN(4)
		shape, strides := make([]int64, rank), make([]int64, rank)
		for axis := range rank {
			shape[axis] = random.Int64N(4)
			strides[axis] = random.Int64N(15) - 7
		}
		memory := make([]int16, 2*middle)
		for i := range memory {
			memory[i] = int16(random.Int32())
		}
		v, err := view(t, dlpack.Tensor{Data: address(&memory[middle]), Rank: int32(rank), Type: i16}, shape, strides)
		require.NoError(t, err)

		// The block's 16-bit words count up from its first byte.
		offsets := walk(shape, strides, false)
		want := slices.Clone(memory)
		block := make([]byte, v.High-v.Low)
		for i := 0; i < len(block); i += 2 {
			block[i], block[i+1] = byte(i/2), 0
		}
		for _, offset := range offsets {
			want[middle+offset] = int16(offset - slices.Min(offsets))
		}
		v.Scatter(block)
		require.Equal(t, want, memory, "%v %v", shape, strides)
	}
}
