package sim

import "testing"

// BenchmarkSaxpy runs 2^20 elements; 16 instructions each.
func BenchmarkSaxpy(b *testing.B) {
	r := newRig(b, corpusFile(b, "saxpy"))
	const n, instructions = 1 << 20, 19
	x := host(b, "x", false, make([]float32, n)...)
	y := host(b, "y", true, make([]float32, n)...)
	for b.Loop() {
		mustRun(b, r.launch("saxpy", x1(n/256), x1(256), 0, float32(2), x, y, n))
	}
	report(b, n*instructions)
}

// BenchmarkMatmul multiplies 128 by 128 matrices.
func BenchmarkMatmul(b *testing.B) {
	r := newRig(b, corpusFile(b, "matmul_naive"))
	const n = 128
	x := host(b, "a", false, upTo(n*n, func(i int) float32 { return float32(i%7) + 0.1 })...)
	y := host(b, "b", false, upTo(n*n, func(i int) float32 { return float32(i%5) - 2.2 })...)
	z := host(b, "c", true, make([]float32, n*n)...)
	const perFour = 20 // instructions of the unrolled loop, for four products
	for b.Loop() {
		mustRun(b, r.launch("matmul_naive", [3]uint32{n / 16, n / 16, 1}, [3]uint32{16, 16, 1}, 0, x, y, z, n, n, n))
	}
	report(b, n*n*n/4*perFour)
}

func mustRun(b *testing.B, fault *Fault) {
	if fault != nil {
		b.Fatal(fault.Message)
	}
}

func report(b *testing.B, perRun int) {
	b.ReportMetric(float64(perRun)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Glane-instr/s")
}
