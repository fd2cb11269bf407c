package sim

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every kernel of the corpus, against results computed here in Go.

func random(n int, least, most float64) []float32 {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	return upTo(n, func(int) float32 { return float32(least + (most-least)*r.Float64()) })
}

func randomInts(n, least, most int) []int32 {
	r := rand.New(rand.NewPCG(2, uint64(n)))
	return upTo(n, func(int) int32 { return int32(least + r.IntN(most-least)) })
}

func TestVectorAdd(t *testing.T) {
	r := newRig(t, corpusFile(t, "vector_add"))
	const n = 4097
	a, b, c := host(t, "a", false, random(n, -9, 9)...), host(t, "b", false, random(n, 0, 4)...), host(t, "c", true, make([]float32, n)...)
	require.Nil(t, r.launch("vector_add", x1(17), x1(256), 0, a, b, c, n))
	for i := range n {
		require.Equal(t, a.data[i]+b.data[i], c.data[i])
	}
}

func TestFill(t *testing.T) {
	r := newRig(t, corpusFile(t, "fill"))
	p := host(t, "p", true, make([]float64, 1000)...)
	require.Nil(t, r.launch("fill", x1(8), x1(128), 0, p, 2.5, uint64(999)))
	require.Equal(t, 2.5, p.data[998])
	require.Zero(t, p.data[999])
}

func TestTranspose2D(t *testing.T) {
	r := newRig(t, corpusFile(t, "transpose2d"))
	const rows, cols = 33, 50
	src, dst := host(t, "src", false, randomInts(rows*cols, -999, 999)...), host(t, "dst", true, make([]int32, rows*cols)...)
	require.Nil(t, r.launch("transpose2d", [3]uint32{4, 3, 1}, [3]uint32{16, 16, 1}, 0, src, dst, rows, cols))
	for i := range rows {
		for j := range cols {
			require.Equal(t, src.data[i*cols+j], dst.data[j*rows+i])
		}
	}
}

func TestMatmuls(t *testing.T) {
	const m, n, k = 33, 47, 50
	a, b := random(m*k, -1, 1), random(k*n, -1, 1)
	for _, c := range []struct {
		name        string
		grid, block [3]uint32
		shared      uint32
		more        []any
	}{
		{"matmul_naive", [3]uint32{3, 3, 1}, [3]uint32{16, 16, 1}, 0, nil},
		{"matmul_tiled", [3]uint32{3, 3, 1}, [3]uint32{16, 16, 1}, 0, nil},
		{"matmul_triton", [3]uint32{3, 3, 1}, x1(64), 2048, []any{uint64(0), uint64(0)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, corpusFile(t, c.name))
			x, y, z := host(t, "a", false, a...), host(t, "b", false, b...), host(t, "c", true, make([]float32, m*n)...)
			require.Nil(t, r.launch(c.name, c.grid, c.block, c.shared, append([]any{x, y, z, m, n, k}, c.more...)...))
			for i := range m {
				for j := range n {
					sum := 0.0
					for l := range k {
						sum += float64(a[i*k+l]) * float64(b[l*n+j])
					}
					require.InDelta(t, sum, z.data[i*n+j], 1e-4)
				}
			}
		})
	}
}

func TestStridedCopyBackwards(t *testing.T) {
	r := newRig(t, corpusFile(t, "strided_copy"))
	const n = 200
	src, dst := host(t, "src", false, random(n, 0, 1)...), host(t, "dst", true, make([]float32, 2*n)...)
	last := src.arg.Data + 4*(n-1)
	moved := src.arg
	moved.Data = last
	require.Nil(t, r.launch("strided_copy", x1(2), x1(128), 0, given{moved}, -1, dst, 2, n))
	for i := range n {
		require.Equal(t, src.data[n-1-i], dst.data[2*i])
		require.Zero(t, dst.data[2*i+1])
	}
	moved.Data, moved.Low = last+4, src.arg.Low
	fault := r.launch("strided_copy", x1(2), x1(128), 0, given{moved}, -1, dst, 2, n)
	require.Contains(t, fault.Message, "reads src[0] (argument 0), which has elements -200 to -1")
}

type given struct{ arg Argument }

func (g given) argument() Argument { return g.arg }

func TestBlockSum(t *testing.T) {
	r := newRig(t, corpusFile(t, "block_sum"))
	const n = 1000
	x, partial := host(t, "x", false, upTo(n, func(i int) float32 { return float32(i%17 - 5) })...), host(t, "partial", true, make([]float32, 8)...)
	require.Nil(t, r.launch("block_sum", x1(8), x1(128), 0, x, partial, n))
	for b := range 8 {
		sum := float32(0)
		for _, v := range x.data[b*128 : min(n, b*128+128)] {
			sum += v
		}
		require.Equal(t, sum, partial.data[b])
	}
}

func TestHistogram(t *testing.T) {
	r := newRig(t, corpusFile(t, "histogram"))
	const n, bins = 3000, 37
	x, counts := host(t, "x", false, randomInts(n, -2, bins+2)...), host(t, "counts", true, upTo(bins, func(i int) int32 { return int32(i) })...)
	require.Nil(t, r.launch("histogram", x1(3), x1(64), 0, x, n, bins, counts))
	wanted := upTo(bins, func(i int) int32 { return int32(i) })
	for _, v := range x.data {
		if v >= 0 && v < bins {
			wanted[v]++
		}
	}
	require.Equal(t, wanted, counts.data)
}

func TestStructArgument(t *testing.T) {
	r := newRig(t, corpusFile(t, "struct_arg"))
	const n = 300
	x, y := host(t, "x", false, random(n, -4, 4)...), host(t, "y", true, make([]float64, n)...)
	packed := make([]byte, 24)
	write(pointerTo(packed, 0), 4, bits32(1.5))
	write(pointerTo(packed, 4), 4, bits32(-0.25))
	write(pointerTo(packed, 8), 4, 1)
	write(pointerTo(packed, 16), 8, bits64(2))
	require.Nil(t, r.launch("struct_arg", x1(3), x1(128), 0, packed, x, y, n))
	for i := range n {
		v := float64(float32(math.FMA(1.5, float64(x.data[i]), -0.25))) // exact before the one rounding
		require.Equal(t, min(v, 2), y.data[i])
	}
}

func TestHalfAdd(t *testing.T) {
	r := newRig(t, corpusFile(t, "half_add"))
	// 1+1, 1+2^-11 (a tie, to even), 65504+65504, smallest subnormals, inf-inf
	a := host(t, "a", false, []uint16{0x3c00, 0x3c00, 0x7bff, 0x0001, 0x7c00, 0x3c01}...)
	b := host(t, "b", false, []uint16{0x3c00, 0x1000, 0x7bff, 0x0001, 0xfc00, 0x1000}...)
	c := host(t, "c", true, make([]uint16, 6)...)
	require.Nil(t, r.launch("half_add", x1(2), x1(4), 0, a, b, c, 6))
	require.Equal(t, []uint16{0x4000, 0x3c00, 0x7c00, 0x0002, 0x7fff, 0x3c02}, c.data)
}

func TestGlobalCounter(t *testing.T) {
	r := newRig(t, corpusFile(t, "global_counter"))
	const n = 1000
	x := host(t, "x", false, upTo(n, func(i int) float32 { return float32(i) / n })...)
	require.Nil(t, r.launch("global_counter", x1(8), x1(128), 0, x, n))
	hits, size, result := r.api.LibraryGlobal(r.library, "hits")
	require.Zero(t, result)
	require.Equal(t, uint64(4), size)
	counted := host(t, "counted", true, uint32(0))
	require.Zero(t, r.api.CopyDeviceToHost(uintptr(counted.arg.Data), hits, 4, 0))
	require.Equal(t, uint32(499), counted.data[0])

	threshold, _, result := r.api.LibraryGlobal(r.library, "threshold")
	require.Zero(t, result)
	higher := host(t, "higher", false, float32(0.9))
	require.Zero(t, r.api.CopyHostToDevice(threshold, uintptr(higher.arg.Data), 4, 0))
	require.Nil(t, r.launch("global_counter", x1(8), x1(128), 0, x, n))
	require.Zero(t, r.api.CopyDeviceToHost(uintptr(counted.arg.Data), hits, 4, 0))
	require.Equal(t, uint32(499+99), counted.data[0])
}

func TestTemplateScale(t *testing.T) {
	r := newRig(t, corpusFile(t, "template_scale"))
	f, l := host(t, "x", true, []float32{1, -2, 3.5}...), host(t, "x", true, []int64{1, -2, 1 << 61}...)
	require.Nil(t, r.launch("_Z14template_scaleIfLi3EEvPT_i", x1(1), x1(32), 0, f, 3))
	require.Nil(t, r.launch("_Z14template_scaleIxLin2EEvPT_i", x1(1), x1(32), 0, l, 3))
	require.Equal(t, []float32{3, -6, 10.5}, f.data)
	require.Equal(t, []int64{-2, 4, -1 << 62}, l.data)
}

func TestClampClang(t *testing.T) {
	r := newRig(t, corpusFile(t, "clamp_clang"))
	x := host(t, "x", true, []int32{-9, 0, 9, 3, -3}...)
	require.Nil(t, r.launch("clamp_clang", x1(2), x1(3), 0, x, -3, 4, 5))
	require.Equal(t, []int32{-3, 0, 4, 3, -3}, x.data)
}

func TestReluTriton(t *testing.T) {
	r := newRig(t, corpusFile(t, "relu_triton"))
	const n = 1000
	x, y := host(t, "x", false, random(n, -1, 1)...), host(t, "y", true, make([]float32, n)...)
	require.Nil(t, r.launch("relu_triton", x1(4), x1(128), 0, x, y, n, uint64(0), uint64(0)))
	for i := range n {
		require.Equal(t, max(x.data[i], 0), y.data[i])
	}
	require.Contains(t, r.launch("relu_triton", x1(4), x1(64), 0, x, y, n, uint64(0), uint64(0)).Message, ".reqntid")
}

func TestScaleNumba(t *testing.T) {
	r := newRig(t, corpusFile(t, "scale_numba"))
	const n = 300
	x, y := host(t, "x", false, random(n, -1, 1)...), host(t, "y", true, make([]float32, n)...)
	var name string
	for n := range r.s.library(r.library).byName {
		name = n
	}
	array := func(x *tensor[float32]) []any { return []any{0, 0, n, 4, x, n, 4} }
	require.Nil(t, r.launch(name, x1(3), x1(128), 0, append(append(array(x), 2.5), array(y)...)...))
	for i := range n {
		require.Equal(t, float32(float64(x.data[i])*2.5), y.data[i])
	}
}

func TestScan(t *testing.T) {
	r := newRig(t, corpusFile(t, "scan"))
	const n, block = 700, 96
	x, y, totals := host(t, "x", false, randomInts(n, -999, 999)...), host(t, "y", true, make([]int32, n)...), host(t, "totals", true, make([]int32, 8)...)
	require.Nil(t, r.launch("scan", x1(8), x1(block), 0, x, y, totals, n))
	sum := int32(0)
	for i, v := range x.data {
		if i%block == 0 {
			sum = 0
		}
		sum += v
		require.Equal(t, sum, y.data[i], i)
	}
	require.Equal(t, sum, totals.data[7])
}

func TestSoftmaxes(t *testing.T) {
	const rows, cols = 3, 300
	x := random(rows*cols, -8, 8)
	for _, c := range []struct {
		name   string
		block  uint32
		shared uint32
		more   []any
	}{{"softmax", 96, 0, nil}, {"softmax_triton", 128, 16, []any{uint64(0), uint64(0)}}} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, corpusFile(t, c.name))
			in, out := host(t, "x", false, x...), host(t, "y", true, make([]float32, rows*cols)...)
			require.Nil(t, r.launch(c.name, x1(rows), x1(c.block), c.shared, append([]any{in, out, cols}, c.more...)...))
			for row := range rows {
				sum := 0.0
				for _, v := range x[row*cols:][:cols] {
					sum += math.Exp(float64(v))
				}
				for i, v := range x[row*cols:][:cols] {
					require.InEpsilon(t, math.Exp(float64(v))/sum, out.data[row*cols+i], 1e-5)
				}
			}
		})
	}
}

func TestLastBlock(t *testing.T) {
	r := newRig(t, corpusFile(t, "last_block"))
	const n, grid = 5000, 7
	x, partial := host(t, "x", false, randomInts(n, -1<<31, 1<<31)...), host(t, "partial", true, make([]int64, grid)...)
	left, total := host(t, "left", true, uint32(0)), host(t, "total", true, int64(0))
	require.Nil(t, r.launch("last_block", x1(grid), x1(128), 0, x, partial, left, total, n))
	sum := int64(0)
	for _, v := range x.data {
		sum += int64(v)
	}
	require.Equal(t, sum, total.data[0])
	require.Zero(t, left.data[0])
}

func TestDeviceFunctions(t *testing.T) {
	r := newRig(t, corpusFile(t, "device_functions"))
	const n = 300
	origin, slope, op := host(t, "origin", false, random(n, 0, 9)...), host(t, "slope", false, random(n, -2, 3)...), host(t, "op", false, randomInts(n, -1, 10)...)
	where, score := host(t, "where", true, make([]float64, n)...), host(t, "score", true, make([]int32, n)...)
	require.Nil(t, r.launch("device_functions", x1(3), x1(128), 0, origin, slope, op, where, score, n))
	for i := range n {
		o, bounces := origin.data[i], int32(0)
		for range i % 7 {
			if o += slope.data[i]; o > 8 {
				bounces++
			}
		}
		kind := bounces * 2
		if slope.data[i] < 0 {
			kind++
		}
		require.Equal(t, 100-float64(o), where.data[i])
		a, b := kind*37-50, bounces
		wanted := op.data[i]
		switch wanted {
		case 0:
			wanted = a + b
		case 1:
			wanted = a - b
		case 2:
			wanted = a * b
		case 3, 4:
			if quotient := wanted == 3; b == 0 {
				wanted = map[bool]int32{true: -1, false: -2}[quotient]
			} else if quotient {
				wanted = a / b
			} else {
				wanted = a % b
			}
		case 5:
			wanted = a & b
		case 6:
			wanted = a | b<<3
		case 7:
			wanted = a ^ b
		}
		require.Equal(t, wanted, score.data[i], i)
	}
}

func TestMathFunctions(t *testing.T) {
	r := newRig(t, corpusFile(t, "math_functions"))
	const n = 60
	for _, scale := range []float64{3, 100, 1e6} {
		x := host(t, "x", false, random(n, -scale, scale)...)
		d := host(t, "d", false, upTo(n, func(i int) float64 { return scale * (float64(i)/n - 0.4) })...)
		f, g := host(t, "f", true, make([]float32, 12*n)...), host(t, "g", true, make([]float64, 6*n)...)
		require.Nil(t, r.launch("math_functions", x1(2), x1(32), 0, x, d, f, g, n))
		for i := range n {
			v := float64(x.data[i])
			p := float64(float32(math.Abs(v)) + 0.25)
			near := func(wanted float64, got float32) {
				t.Helper()
				require.InDelta(t, wanted, got, 1e-6+4e-6*math.Abs(wanted), "%v", v)
			}
			o := f.data[12*i:]
			near(math.Sin(v), o[0])
			near(math.Cos(v), o[1])
			near(math.Log(p), o[3])
			near(math.Sqrt(p), o[4])
			near(1/math.Sqrt(p), o[5])
			near(math.Pow(p, 1.5), o[6])
			near(math.Tanh(v), o[7])
			near(math.Floor(v), o[8])
			near(math.RoundToEven(v), o[9])
			near(math.Mod(v, 3), o[10])
			near(math.Atan2(v, 2), o[11])
			w := d.data[i]
			q := math.Abs(w) + 0.25
			for j, wanted := range []float64{math.Sin(w), math.Exp(w * 0.01), math.Log(q), math.Sqrt(q), w / q, math.Cbrt(w)} {
				if math.IsInf(wanted, 0) || wanted == 0 {
					require.Equal(t, wanted, g.data[6*i+j])
					continue
				}
				require.InDelta(t, wanted, g.data[6*i+j], 1e-12*math.Abs(wanted)+1e-14, "%d of %v", j, w)
			}
		}
	}
}

func TestLocalArray(t *testing.T) {
	r := newRig(t, corpusFile(t, "local_array"))
	const n, window = 300, 9
	x, y := host(t, "x", false, randomInts(n, -99, 99)...), host(t, "y", true, make([]int32, n)...)
	require.Nil(t, r.launch("local_array", x1(3), x1(128), 0, x, y, n, window))
	for i := range n {
		var seen []int32
		for k := max(0, i-window/2); k <= min(n-1, i+window/2); k++ {
			at := len(seen)
			seen = append(seen, x.data[k])
			for ; at > 0 && seen[at-1] > x.data[k]; at-- {
				seen[at] = seen[at-1]
			}
			seen[at] = x.data[k]
		}
		require.Equal(t, seen[len(seen)/2], y.data[i], i)
	}
}
