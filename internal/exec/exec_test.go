package exec_test

import (
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/exec"
	"dlaunch/internal/exec/exectest"
)

const cuda, cpu = 2, 1

// twoDevices is the driver of all tests that do not say otherwise.
func twoDevices() exec.Driver {
	return exec.Driver{
		Launch: exectest.Record(), StreamIsCapturing: exectest.IsCapturing(), PointerGetAttributes: exectest.LookUp(),
		DeviceType: cuda, Devices: 2,
	}
}

func TestMain(m *testing.M) {
	exec.SetDriver(twoDevices())
	m.Run()
}

var handles atomic.Uint64

// handle makes a number of a kind that no other test uses.
func handle(kind uint64) uint64 { return kind<<48 | handles.Add(1) }

const kernelKind, arrayKind, streamKind = 2, 4, 5

// publish makes a kernel that is ready on both devices.
func publish(t testing.TB, program exec.Program) uint64 {
	t.Helper()
	k, err := exec.NewKernel(0x1000, &program, 2)
	require.NoError(t, err)
	for device := range 2 {
		k.SetLimits(device, exec.Limits{Threads: 1024, Block: [3]uint32{1024, 1024, 64}, Grid: [3]uint32{1 << 31, 65535, 65535}, Shared: 49152})
	}
	h := handle(kernelKind)
	require.NoError(t, k.Publish(h))
	t.Cleanup(func() { exec.Unpublish(h) })
	return h
}

func config() *exec.Config {
	return &exec.Config{StructSize: uint32(unsafe.Sizeof(exec.Config{})), Grid: [3]uint32{4}, Block: [3]uint32{32}}
}

// tensor builds a DLTensor in Go memory that stays where it is.
type tensor struct {
	data       uint64
	deviceType int32
	device     int32
	ndim       int32
	dtype      uint32
	shape      *int64
	strides    *int64
	offset     uint64
}

const f32 = 2 | 32<<8 | 1<<16

func newTensor(t *testing.T, data uint64, dtype uint32, shape, strides []int64) (*tensor, exec.Arg) {
	x := &tensor{data: data, deviceType: cuda, ndim: int32(len(shape)), dtype: dtype, shape: unsafe.SliceData(shape), strides: unsafe.SliceData(strides)}
	var pinner runtime.Pinner
	pinner.Pin(x)
	for _, p := range []*int64{x.shape, x.strides} {
		if p != nil {
			pinner.Pin(p)
		}
	}
	t.Cleanup(pinner.Unpin)
	return x, exec.Arg{Kind: exec.ArgTensor, Value: uint64(uintptr(unsafe.Pointer(x)))}
}

func launch(h uint64, args ...exec.Arg) exec.Fault {
	return exec.LaunchAgain(h, config(), args, nil, false)
}

func scalarProgram(format uint8, size uint32) exec.Program {
	return exec.Program{Params: make([]byte, size), Steps: []exec.Step{{Op: exec.OpScalar, Format: format, Size: size}}}
}

func TestScalars(t *testing.T) {
	i := func(v int64) exec.Arg { return exec.Arg{Kind: exec.ArgInt, Value: uint64(v)} }
	u := func(v uint64) exec.Arg { return exec.Arg{Kind: exec.ArgUint, Value: v} }
	f := func(v float64) exec.Arg { return exec.Arg{Kind: exec.ArgFloat, Value: math.Float64bits(v)} }
	for _, c := range []struct {
		name   string
		format uint8
		size   uint32
		arg    exec.Arg
		bits   uint64
		reason exec.Reason
	}{
		{"i8 least", exec.FormatSigned, 1, i(-128), 0x80, exec.OK},
		{"i8 below", exec.FormatSigned, 1, i(-129), 0, exec.OutOfRange},
		{"i8 above", exec.FormatSigned, 1, i(128), 0, exec.OutOfRange},
		{"i16", exec.FormatSigned, 2, i(-2), 0xfffe, exec.OK},
		{"i32 most", exec.FormatSigned, 4, i(1<<31 - 1), 0x7fffffff, exec.OK},
		{"i32 above", exec.FormatSigned, 4, i(1 << 31), 0, exec.OutOfRange},
		{"i64 least", exec.FormatSigned, 8, i(math.MinInt64), 1 << 63, exec.OK},
		{"i64 of a large unsigned", exec.FormatSigned, 8, u(1 << 63), 0, exec.OutOfRange},
		{"u8 most", exec.FormatUnsigned, 1, i(255), 0xff, exec.OK},
		{"u8 above", exec.FormatUnsigned, 1, i(256), 0, exec.OutOfRange},
		{"u32 negative", exec.FormatUnsigned, 4, i(-1), 0, exec.OutOfRange},
		{"u64 most", exec.FormatUnsigned, 8, u(math.MaxUint64), math.MaxUint64, exec.OK},
		{"u64 negative", exec.FormatUnsigned, 8, i(-1), 0, exec.OutOfRange},
		{"b32 signed", exec.FormatBits, 4, i(-1), 0xffffffff, exec.OK},
		{"b32 unsigned", exec.FormatBits, 4, i(0xffffffff), 0xffffffff, exec.OK},
		{"b32 above", exec.FormatBits, 4, i(1 << 32), 0, exec.OutOfRange},
		{"b32 below", exec.FormatBits, 4, i(-1<<31 - 1), 0, exec.OutOfRange},
		{"float for an integer", exec.FormatSigned, 4, f(1), 0, exec.Kind},
		{"bool true", exec.FormatBool, 1, exec.Arg{Kind: exec.ArgBool, Value: 1}, 1, exec.OK},
		{"bool of 2", exec.FormatBool, 1, i(2), 0, exec.OutOfRange},
		{"f64", exec.FormatFloat, 8, f(0.1), 0x3fb999999999999a, exec.OK},
		{"f32 rounds", exec.FormatFloat, 4, f(0.1), 0x3dcccccd, exec.OK},
		{"f32 overflows", exec.FormatFloat, 4, f(1e39), 0, exec.Precision},
		{"f32 infinity", exec.FormatFloat, 4, f(math.Inf(-1)), 0xff800000, exec.OK},
		{"f32 of an integer", exec.FormatFloat, 4, i(1 << 24), 0x4b800000, exec.OK},
		{"f32 of an integer with too many digits", exec.FormatFloat, 4, i(1<<24 + 1), 0, exec.Precision},
		{"f64 of an integer with too many digits", exec.FormatFloat, 8, i(1<<53 + 1), 0, exec.Precision},
		{"f64 of the least integer", exec.FormatFloat, 8, i(math.MinInt64), 0xc3e0000000000000, exec.OK},
		{"f16 one", exec.FormatFloat, 2, f(1), 0x3c00, exec.OK},
		{"f16 rounds to even", exec.FormatFloat, 2, f(2049), 0x6800, exec.OK},
		{"f16 most", exec.FormatFloat, 2, f(65504), 0x7bff, exec.OK},
		{"f16 just below overflow", exec.FormatFloat, 2, f(65519.99), 0x7bff, exec.OK},
		{"f16 overflows", exec.FormatFloat, 2, f(65520), 0, exec.Precision},
		{"f16 smallest subnormal", exec.FormatFloat, 2, f(0x1p-24), 0x0001, exec.OK},
		{"f16 half of it goes to even", exec.FormatFloat, 2, f(0x1p-25), 0x0000, exec.OK},
		{"f16 a bit more rounds up", exec.FormatFloat, 2, f(0x1.000002p-25), 0x0001, exec.OK},
		{"f16 subnormal becomes normal", exec.FormatFloat, 2, f(0x1.ffffp-15), 0x0400, exec.OK},
		{"f16 not through f32", exec.FormatFloat, 2, f(0x1.002000001p0), 0x3c01, exec.OK},
		{"f16 nan", exec.FormatFloat, 2, f(math.NaN()), 0x7e00, exec.OK},
		{"f16 of an integer", exec.FormatFloat, 2, i(-2048), 0xe800, exec.OK},
		{"f16 of an inexact integer", exec.FormatFloat, 2, i(2049), 0, exec.Precision},
		{"bf16", exec.FormatBFloat, 2, f(-3.140625), 0xc049, exec.OK},
		{"bf16 rounds", exec.FormatBFloat, 2, f(1.00390625), 0x3f80, exec.OK},
		{"bf16 overflows", exec.FormatBFloat, 2, f(3.4e38), 0, exec.Precision},
		{"an integer for a struct", exec.FormatOpaque, 8, i(1), 0, exec.Kind},
	} {
		t.Run(c.name, func(t *testing.T) {
			fault := launch(publish(t, scalarProgram(c.format, c.size)), c.arg)
			require.Equal(t, c.reason, fault.Reason)
			if c.reason != exec.OK {
				require.EqualValues(t, 0, fault.Argument)
				return
			}
			var wide [8]byte
			copy(wide[:], exectest.Params())
			require.Equal(t, c.bits, binary.LittleEndian.Uint64(wide[:]), "%#x", wide)
		})
	}
}

func tensorProgram(flags uint16, dims ...exec.Dim) exec.Program {
	return exec.Program{Params: make([]byte, 8), Sizes: 2, Dims: dims,
		Steps: []exec.Step{{Op: exec.OpTensor, Size: 8, Rank: uint8(len(dims)), DType: f32, DTypeMask: 0xffffffff, Flags: flags}}}
}

// bothWays gives a program, and the same one by the short way where that may be taken.
func bothWays(program exec.Program) []exec.Program {
	if program.Steps[0].Flags&(exec.Fortran|exec.Strided|exec.OpenRank) != 0 {
		return []exec.Program{program}
	}
	plain := program
	plain.Steps = slices.Clone(program.Steps)
	plain.Steps[0].Flags |= exec.Plain
	plain.Steps[0].Align = 4
	return []exec.Program{program, plain}
}

func TestTensors(t *testing.T) {
	n, m, fixed3 := exec.Dim{Size: 0}, exec.Dim{Size: 1}, exec.Dim{Size: exec.FixedExtent, Value: 3}
	anything := exec.Dim{Size: exec.AnyExtent}
	for _, c := range []struct {
		name    string
		program exec.Program
		shape   []int64
		strides []int64
		change  func(x *tensor)
		reason  exec.Reason
		axis    int32
	}{
		{"contiguous", tensorProgram(0, n, m), []int64{2, 3}, []int64{3, 1}, nil, exec.OK, -1},
		{"NULL strides", tensorProgram(0, n, m), []int64{2, 3}, nil, nil, exec.OK, -1},
		{"a size twice", tensorProgram(0, n, n), []int64{3, 3}, nil, nil, exec.OK, -1},
		{"a size twice, unequal", tensorProgram(0, n, n), []int64{2, 3}, nil, nil, exec.Extent, 0},
		{"fixed", tensorProgram(0, fixed3), []int64{3}, nil, nil, exec.OK, -1},
		{"fixed, other", tensorProgram(0, fixed3), []int64{4}, nil, nil, exec.Extent, 0},
		{"transposed", tensorProgram(0, n, m), []int64{2, 3}, []int64{1, 2}, nil, exec.Layout, 1},
		{"transposed as @fortran", tensorProgram(exec.Fortran, n, m), []int64{2, 3}, []int64{1, 2}, nil, exec.OK, -1},
		{"C order as @fortran", tensorProgram(exec.Fortran, n, m), []int64{2, 3}, nil, nil, exec.Layout, 0},
		{"one row is both", tensorProgram(exec.Fortran, n, m), []int64{1, 3}, []int64{77, 1}, nil, exec.OK, -1},
		{"strides of extents of 1 never matter", tensorProgram(0, n, m), []int64{1, 1}, []int64{5, -9}, nil, exec.OK, -1},
		{"empty: strides never matter", tensorProgram(0, n, m), []int64{0, 3}, []int64{5, -9}, func(x *tensor) { x.data = 0 }, exec.OK, -1},
		{"negative stride", tensorProgram(0, n), []int64{3}, []int64{-1}, nil, exec.Layout, 0},
		{"negative stride as @strided", tensorProgram(exec.Strided, n), []int64{3}, []int64{-1}, nil, exec.OK, -1},
		{"zero stride as @strided", tensorProgram(exec.Strided, n), []int64{3}, []int64{0}, nil, exec.OK, -1},
		{"written with zero stride", tensorProgram(exec.Strided|exec.Written, n), []int64{3}, []int64{0}, nil, exec.Overlap, 0},
		{"written, overlapping", tensorProgram(exec.Strided|exec.Written, n, m), []int64{4, 4}, []int64{2, 1}, nil, exec.Overlap, 0},
		{"written, the same stride twice", tensorProgram(exec.Strided|exec.Written, n, m), []int64{2, 2}, []int64{1, 1}, nil, exec.Overlap, 1},
		{"written, backwards", tensorProgram(exec.Strided|exec.Written, n, m), []int64{4, 4}, []int64{-4, 1}, nil, exec.OK, -1},
		{"rank", tensorProgram(0, n), []int64{2, 3}, nil, nil, exec.Rank, -1},
		{"0-d", tensorProgram(0), nil, nil, nil, exec.OK, -1},
		{"any rank", tensorProgram(exec.OpenRank), []int64{2, 3, 4}, nil, nil, exec.OK, -1},
		{"trailing", tensorProgram(exec.OpenRank, fixed3), []int64{7, 5, 3}, nil, nil, exec.OK, -1},
		{"trailing, other", tensorProgram(exec.OpenRank, fixed3), []int64{7, 3, 5}, nil, nil, exec.Extent, 2},
		{"too few for trailing", tensorProgram(exec.OpenRank, n, fixed3), []int64{3}, nil, nil, exec.Rank, -1},
		{"negative extent", tensorProgram(0, anything), []int64{-1}, nil, nil, exec.Negative, 0},
		{"uncountable", tensorProgram(0, n, m), []int64{1 << 40, 1 << 40}, nil, nil, exec.Overflow, 0},
		{"negative rank", tensorProgram(0), nil, nil, func(x *tensor) { x.ndim = -1 }, exec.Rank, -1},
		{"NULL shape", tensorProgram(0, n), []int64{1}, nil, func(x *tensor) { x.shape = nil }, exec.Null, 0},
		{"NULL data", tensorProgram(0, n), []int64{1}, nil, func(x *tensor) { x.data = 0 }, exec.NullData, -1},
		{"NULL data and an offset", tensorProgram(0, n), []int64{1}, nil, func(x *tensor) { x.data, x.offset = 0, 1<<20 }, exec.NullData, -1},
		{"data in the first page", tensorProgram(0, n), []int64{1}, nil, func(x *tensor) { x.data = 4092 }, exec.NullData, -1},
		{"data behind the first page", tensorProgram(0, n), []int64{1}, nil, func(x *tensor) { x.data = 4096 }, exec.OK, -1},
		{"dtype", tensorProgram(0, n), []int64{1}, nil, func(x *tensor) { x.dtype = 0 | 32<<8 | 1<<16 }, exec.DType, -1},
		{"lanes", tensorProgram(0, n), []int64{1}, nil, func(x *tensor) { x.dtype = 2 | 32<<8 | 4<<16 }, exec.DType, -1},
		{"a shape that is nowhere", tensorProgram(0, n), []int64{1}, nil, func(x *tensor) { bend(&x.shape) }, exec.Crooked, -1},
		{"strides that are nowhere", tensorProgram(0, n), []int64{1}, []int64{1}, func(x *tensor) { bend(&x.strides) }, exec.Crooked, -1},
		{"too many bytes", tensorProgram(0, n), []int64{1 << 61}, nil, nil, exec.Reach, -1},
		{"too many bytes of one element", tensorProgram(exec.Strided, n), []int64{1 << 61}, []int64{0}, nil, exec.Reach, -1},
		{"past the last address", tensorProgram(0, n), []int64{2}, nil, func(x *tensor) { x.data = 1<<64 - 4 }, exec.Reach, -1},
		{"an offset past the last address", tensorProgram(0, n), []int64{2}, nil, func(x *tensor) { x.offset = 1<<64 - 64 }, exec.Reach, -1},
		{"a stride past the last address", tensorProgram(exec.Strided, n), []int64{3}, []int64{math.MaxInt64}, nil, exec.Reach, -1},
		{"a stride before the first", tensorProgram(exec.Strided, n), []int64{3}, []int64{math.MinInt64}, nil, exec.Reach, -1},
		{"misaligned", tensorProgram(0, n), []int64{1}, nil, func(x *tensor) { x.offset = 2 }, exec.Alignment, -1},
		{"host", tensorProgram(0, n), []int64{1}, nil, func(x *tensor) { x.deviceType = cpu }, exec.Host, -1},
		{"page-locked", tensorProgram(0, n), []int64{1}, nil, func(x *tensor) { x.deviceType = 3 }, exec.OK, -1},
		{"managed", tensorProgram(0, n), []int64{1}, nil, func(x *tensor) { x.deviceType = 13 }, exec.OK, -1},
		{"rocm", tensorProgram(0, n), []int64{1}, nil, func(x *tensor) { x.deviceType = 10 }, exec.DeviceType, -1},
		{"a device that is not there", tensorProgram(0, n), []int64{1}, nil, func(x *tensor) { x.device = 7 }, exec.Device, -1},
		{"a negative device", tensorProgram(0, n), []int64{1}, nil, func(x *tensor) { x.device = -1 }, exec.Device, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, arg := newTensor(t, 0x7000_0000, f32, c.shape, c.strides)
			if c.change != nil {
				c.change(x)
			}
			for _, program := range bothWays(c.program) {
				fault := launch(publish(t, program), arg)
				require.Equal(t, c.reason, fault.Reason, "%+v", fault)
				require.Equal(t, c.axis, fault.Axis)
				if fault.Reason == exec.OK {
					require.Equal(t, x.data+x.offset, binary.LittleEndian.Uint64(exectest.Params()))
				}
			}
		})
	}
}

// bend makes an address one that is never followed; a conversion would be refused.
func bend(p **int64) { *(*uintptr)(unsafe.Pointer(p)) += 4 }

// Where any type is taken, one that has no size, or another than its code says, is none.
func TestTypesWithoutASize(t *testing.T) {
	program := tensorProgram(exec.OpenRank)
	program.Steps[0].DTypeMask = 0
	h := publish(t, program)
	for _, dtype := range []uint32{2 | 0<<8 | 1<<16, 2 | 32<<8 | 0<<16, 10 | 16<<8 | 1<<16, 15 | 8<<8 | 1<<16, 17 | 8<<8 | 1<<16} {
		_, arg := newTensor(t, 0x1000, dtype, []int64{4}, nil)
		require.Equal(t, exec.DType, launch(h, arg).Reason)
	}
}

func TestAddressIsDataPlusByteOffset(t *testing.T) {
	x, arg := newTensor(t, 0x7000_0000, f32, []int64{4}, nil)
	x.offset = 64
	require.Equal(t, exec.OK, launch(publish(t, tensorProgram(0, exec.Dim{Size: 0})), arg).Reason)
	require.EqualValues(t, 0x7000_0040, binary.LittleEndian.Uint64(exectest.Params()))
}

// The struct of dlaunch_device.cuh, and numba-cuda's words.
func TestTensorsWithTheirShapes(t *testing.T) {
	words := func(p []byte) (w []int64) {
		for ; len(p) > 0; p = p[8:] {
			w = append(w, int64(binary.LittleEndian.Uint64(p)))
		}
		return w
	}
	program := func(form uint8, size uint32, flags uint16) exec.Program {
		p := tensorProgram(flags|exec.Strided, exec.Dim{Size: 0}, exec.Dim{Size: 1})
		p.Params, p.Steps[0].Size, p.Steps[0].Form = make([]byte, size), size, form
		return p
	}
	_, strided := newTensor(t, 0x1000, f32, []int64{2, 3}, []int64{-10, 2})
	_, plain := newTensor(t, 0x1000, f32, []int64{2, 3}, nil)
	_, row := newTensor(t, 0x1000, f32, []int64{1, 3}, []int64{99, 1})

	view := publish(t, program(exec.FormView, 40, exec.Nullable))
	require.Equal(t, exec.OK, launch(view, strided).Reason)
	require.Equal(t, []int64{0x1000, 2, 3, -10, 2}, words(exectest.Params()))
	require.Equal(t, exec.OK, launch(view, plain).Reason)
	require.Equal(t, []int64{0x1000, 2, 3, 3, 1}, words(exectest.Params()))
	require.Equal(t, exec.OK, launch(view, row).Reason)
	require.Equal(t, []int64{0x1000, 1, 3, 3, 1}, words(exectest.Params()), "C order's stride for an extent of 1")
	require.Equal(t, exec.OK, launch(view, exec.Arg{Kind: exec.ArgNone}).Reason)
	require.Equal(t, []int64{0, 0, 0, 0, 0}, words(exectest.Params()))

	numba := publish(t, program(exec.FormNumba, 72, 0))
	require.Equal(t, exec.OK, launch(numba, strided).Reason)
	require.Equal(t, []int64{0, 0, 6, 4, 0x1000, 2, 3, -40, 8}, words(exectest.Params()))

	_, far := newTensor(t, 0x1000, f32, []int64{0, 1 << 62}, nil)
	require.Equal(t, exec.Overflow, launch(numba, far).Reason, "the stride in bytes needs more than 63 bits")
}

func TestPeers(t *testing.T) {
	program := func(flags uint16) exec.Program {
		p := tensorProgram(0, exec.Dim{Size: 0})
		p.Params = make([]byte, 16)
		second := p.Steps[0]
		second.Offset, second.Flags = 8, flags
		p.Steps = append(p.Steps, second)
		return p
	}
	here, a := newTensor(t, 0x1000, f32, []int64{1}, nil)
	there, b := newTensor(t, 0x2000, f32, []int64{1}, nil)
	here.device, there.device = 0, 1
	require.Equal(t, exec.Device, launch(publish(t, program(0)), a, b).Reason)
	require.Equal(t, exec.OK, launch(publish(t, program(exec.Peer)), a, b).Reason)
	there.device = 2
	require.Equal(t, exec.Device, launch(publish(t, program(exec.Peer)), a, b).Reason, "no such device")
}

// Every value of each type of 8 bits, by its definition, and what lies between.
func TestFloat8(t *testing.T) {
	for i, c := range []struct {
		name                     string
		exponent, mantissa, bias int
		largest                  float64
		signedZero               bool
		infinity                 uint8
	}{
		{"e3m4", 3, 4, 3, 15.5, true, 0x70}, {"e4m3", 4, 3, 7, 240, true, 0x78}, {"e4m3b11fnuz", 4, 3, 11, 30, false, 0},
		{"e4m3fn", 4, 3, 7, 448, true, 0}, {"e4m3fnuz", 4, 3, 8, 240, false, 0}, {"e5m2", 5, 2, 15, 57344, true, 0x7c},
		{"e5m2fnuz", 5, 2, 16, 57344, false, 0},
	} {
		h := publish(t, scalarProgram(exec.FormatFloat8+uint8(i), 1))
		pack := func(v float64) (uint8, exec.Reason) {
			fault := launch(h, exec.Arg{Kind: exec.ArgFloat, Value: math.Float64bits(v)})
			if fault.Reason != exec.OK {
				return 0, fault.Reason
			}
			return exectest.Params()[0], exec.OK
		}
		value := func(bits int) float64 {
			e, m := bits>>c.mantissa, bits&(1<<c.mantissa-1)
			if e == 0 {
				return math.Ldexp(float64(m), 1-c.bias-c.mantissa)
			}
			return math.Ldexp(float64(m|1<<c.mantissa), e-c.bias-c.mantissa)
		}
		last := 0
		for bits := 0; bits < 0x80 && value(bits) <= c.largest; bits++ {
			last = bits
			got, reason := pack(value(bits))
			require.Equal(t, exec.OK, reason, "%s %#x", c.name, bits)
			require.EqualValues(t, bits, got, c.name)
			if bits > 0 {
				got, _ = pack(-value(bits))
				require.EqualValues(t, bits|0x80, got, c.name)
				middle, _ := pack((value(bits) + value(bits-1)) / 2)
				require.Contains(t, []uint8{uint8(bits - 1), uint8(bits)}, middle, c.name)
				require.Zero(t, middle&1, "%s: a tie between %#x and %#x goes to the even one", c.name, bits-1, bits)
			}
		}
		require.Equal(t, c.largest, value(last), c.name)
		_, reason := pack(c.largest * 1.5)
		require.Equal(t, exec.Precision, reason, "%s: beyond the largest", c.name)
		zero, _ := pack(math.Copysign(0, -1))
		require.Equal(t, c.signedZero, zero == 0x80, c.name)
		infinite, reason := pack(math.Inf(1))
		if c.infinity != 0 {
			require.Equal(t, c.infinity, infinite, c.name)
		} else {
			require.Equal(t, exec.Precision, reason, "%s has no infinity", c.name)
		}
	}
}

func TestDerived(t *testing.T) {
	// f(x: f32[n,m] @strided, k: i32, a: i64 = n * m * 2, b: i32 = -k, c: i32 = stride(x, 0))
	program := exec.Program{
		Params: make([]byte, 36), Sizes: 2, Dims: []exec.Dim{{Size: 0}, {Size: 1}},
		Steps: []exec.Step{
			{Op: exec.OpTensor, Size: 8, Rank: 2, DType: f32, DTypeMask: 0xffffffff, Flags: exec.Strided},
			{Op: exec.OpScalar, Format: exec.FormatSigned, Offset: 8, Size: 4},
		},
		Terms: []exec.Term{{Kind: exec.TermSize, Index: 0}, {Kind: exec.TermSize, Index: 1},
			{Kind: exec.TermParameter, Index: 1, Format: exec.FormatSigned, Offset: 8, Width: 4}, {Kind: exec.TermStride, Index: 0, Width: 0}},
		Derived: []exec.Derived{
			{Format: exec.FormatSigned, Offset: 16, Size: 8, Factor: 2, Terms: 0, NumTerms: 2},
			{Format: exec.FormatSigned, Offset: 24, Size: 4, Factor: -1, Terms: 2, NumTerms: 1},
			{Format: exec.FormatSigned, Offset: 28, Size: 4, Factor: 1, Terms: 3, NumTerms: 1},
		},
	}
	h := publish(t, program)
	_, x := newTensor(t, 0x1000, f32, []int64{5, 7}, []int64{100, -1})
	k := exec.Arg{Kind: exec.ArgInt, Value: 123}
	require.Equal(t, exec.OK, launch(h, x, k).Reason)
	p := exectest.Params()
	require.EqualValues(t, 70, binary.LittleEndian.Uint64(p[16:]))
	require.EqualValues(t, -123, int32(binary.LittleEndian.Uint32(p[24:])))
	require.EqualValues(t, 100, binary.LittleEndian.Uint32(p[28:]))

	_, wide := newTensor(t, 0x1000, f32, []int64{2, 7}, []int64{1 << 31, 1})
	fault := launch(h, wide, k)
	require.Equal(t, exec.DerivedRange, fault.Reason)
	require.EqualValues(t, 2, fault.Axis)
	require.EqualValues(t, 1<<31, fault.Found)

	least := exec.Arg{Kind: exec.ArgInt, Value: uint64(0xffffffff_80000000)}
	fault = launch(h, x, least)
	require.Equal(t, exec.DerivedRange, fault.Reason, "-(-2^31) is no i32")
}

func TestConfigurations(t *testing.T) {
	h := publish(t, exec.Program{})
	for _, c := range []struct {
		name   string
		change func(*exec.Config)
		reason exec.Reason
		axis   int32
	}{
		{"y and z of 0 are 1", func(*exec.Config) {}, exec.OK, -1},
		{"grid of 0", func(c *exec.Config) { c.Grid[0] = 0 }, exec.Grid, 0},
		{"grid of 0, allowed", func(c *exec.Config) { c.Grid[0] = 0; c.Flags = 2 }, exec.OK, -1},
		{"grid.y", func(c *exec.Config) { c.Grid[1] = 65536 }, exec.Grid, 1},
		{"block of 0", func(c *exec.Config) { c.Block[0] = 0 }, exec.Block, 0},
		{"block.z", func(c *exec.Config) { c.Block[2] = 65 }, exec.Block, 2},
		{"threads", func(c *exec.Config) { c.Block = [3]uint32{32, 33, 1} }, exec.Block, -1},
		{"threads beyond 32 bits", func(c *exec.Config) { c.Block = [3]uint32{1024, 1024, 64} }, exec.Block, -1},
		{"shared", func(c *exec.Config) { c.SharedBytes = 49153 }, exec.Shared, -1},
		{"short struct", func(c *exec.Config) { c.StructSize = 8 }, exec.BadConfig, -1},
		{"cluster", func(c *exec.Config) { c.Cluster = [3]uint32{2} }, exec.OK, -1},
		{"cluster that does not divide", func(c *exec.Config) { c.Cluster = [3]uint32{3} }, exec.Cluster, 0},
		{"attributes without a pointer", func(c *exec.Config) { c.NumAttributes = 1 }, exec.Attributes, -1},
		{"too many attributes", func(c *exec.Config) { c.NumAttributes = 15 }, exec.Attributes, -1},
		{"a stream that is closed", func(c *exec.Config) { c.Stream = streamKind<<48 | 0xffffff }, exec.StaleStream, -1},
		{"a kernel as a stream", func(c *exec.Config) { c.Stream = h }, exec.StaleStream, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config()
			c.change(cfg)
			fault := exec.LaunchAgain(h, cfg, nil, nil, false)
			require.Equal(t, c.reason, fault.Reason, "%+v", fault)
			require.Equal(t, c.axis, fault.Axis)
		})
	}
	require.Equal(t, exec.BadConfig, exec.LaunchAgain(h, nil, nil, nil, false).Reason)
}

func TestAttributesOfTheConfig(t *testing.T) {
	cfg := config()
	cfg.Cluster, cfg.Flags = [3]uint32{2}, 1
	require.Equal(t, exec.OK, exec.LaunchAgain(publish(t, exec.Program{}), cfg, nil, nil, false).Reason)
	grid, block, _, _, n := exectest.Config()
	require.Equal(t, [3]uint32{4, 1, 1}, grid)
	require.Equal(t, [3]uint32{32, 1, 1}, block)
	require.Equal(t, 2, n)
	require.EqualValues(t, 2, exectest.Attribute(0), "cooperative")
	require.EqualValues(t, 1, exectest.Attribute(8))
	require.EqualValues(t, 4, exectest.Attribute(72), "cluster dimension")
	require.Equal(t, []byte{2, 1, 1}, []byte{exectest.Attribute(80), exectest.Attribute(84), exectest.Attribute(88)})
}

func TestStaleHandlesComeFirst(t *testing.T) {
	h := publish(t, exec.Program{Params: make([]byte, 16), Steps: []exec.Step{
		{Op: exec.OpScalar, Format: exec.FormatSigned, Size: 4}, {Op: exec.OpTensor, Offset: 8, Size: 8}}})
	fault := launch(h, exec.Arg{Kind: exec.ArgFloat}, exec.Arg{Kind: exec.ArgHandle, Value: arrayKind<<48 | 0xfffffe})
	require.Equal(t, exec.StaleArgument, fault.Reason)
	require.EqualValues(t, 1, fault.Argument)
	fault = launch(h)
	require.Equal(t, exec.Count, fault.Reason)
	require.EqualValues(t, 2, fault.Wanted)
	exec.Unpublish(h)
	require.Equal(t, exec.StaleKernel, launch(h).Reason)
	require.Equal(t, exec.StaleKernel, launch(0).Reason)
	require.Equal(t, exec.StaleKernel, launch(math.MaxUint64).Reason)
}

func TestAttention(t *testing.T) {
	h := publish(t, exec.Program{})
	exec.SetAttention(exec.Unloading)
	fault := launch(h)
	exec.ClearAttention(exec.Unloading)
	require.Equal(t, exec.Attention, fault.Reason)
	require.EqualValues(t, exec.Unloading, fault.Found)
	require.Equal(t, exec.OK, launch(h).Reason)
}

func TestDriverRefuses(t *testing.T) {
	h := publish(t, exec.Program{})
	exectest.Answer(701)
	fault := launch(h)
	exectest.Answer(0)
	require.Equal(t, exec.DriverRefused, fault.Reason)
	require.EqualValues(t, 701, fault.DriverCode)
}

// What is retired while a launch runs is freed when it is over, not before.
func TestRetireWaitsForLaunches(t *testing.T) {
	h := publish(t, exec.Program{})
	exectest.Hold(true)
	before := exectest.Launches()
	done := make(chan exec.Fault)
	go func() { done <- launch(h) }()
	for exectest.Launches() == before {
		runtime.Gosched()
	}
	var deferred exec.Deferred
	freed := false
	exec.Unpublish(h)
	deferred.Retire(func() { freed = true })
	require.False(t, freed, "the launch is inside the driver")
	require.Equal(t, 1, deferred.Reclaim())
	exectest.Hold(false)
	require.Equal(t, exec.OK, (<-done).Reason)
	require.Zero(t, deferred.Reclaim())
	require.True(t, freed)
}

// A thread can end inside a launch: CPython ends daemon threads so, when they want
// its lock back at exit. Nobody waits for it then.
func TestAThreadEndsInALaunch(t *testing.T) {
	h := publish(t, exec.Program{})
	require.True(t, exectest.LaunchAndDie(h, unsafe.Pointer(config())))
	done := make(chan struct{})
	go func() {
		exec.AwaitLaunches()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		require.Fail(t, "waits for a thread that is gone")
	}
}

// Threads launch while others close and publish anew: nothing stale is read.
func TestHammerCloseAgainstLaunch(t *testing.T) {
	const launchers, rounds = 4, 2000
	var deferred exec.Deferred
	var current atomic.Uint64
	var newest *exec.Kernel
	program := exec.Program{Params: make([]byte, 4), Steps: []exec.Step{{Op: exec.OpScalar, Format: exec.FormatSigned, Size: 4}}}
	renew := func() {
		k, err := exec.NewKernel(0x1000, &program, 2)
		require.NoError(t, err)
		for device := range 2 {
			k.SetLimits(device, exec.Limits{Threads: 1024, Block: [3]uint32{1024, 1024, 64}, Grid: [3]uint32{1 << 31, 65535, 65535}})
		}
		h := handle(kernelKind)
		require.NoError(t, k.Publish(h))
		old, former := current.Swap(h), newest
		newest = k
		if former != nil {
			exec.Unpublish(old)
			deferred.Retire(former.Free)
		}
	}
	renew()
	var stop atomic.Bool
	var launched atomic.Uint64
	var all sync.WaitGroup
	for range launchers {
		all.Add(1)
		go func() {
			defer all.Done()
			for !stop.Load() {
				switch fault := launch(current.Load(), exec.Arg{Kind: exec.ArgInt, Value: 7}); fault.Reason {
				case exec.OK:
					launched.Add(1)
				case exec.StaleKernel:
				default:
					panic(fault)
				}
			}
		}()
	}
	for range rounds {
		renew()
	}
	stop.Store(true)
	all.Wait()
	require.NotZero(t, launched.Load())
	require.Zero(t, deferred.Reclaim())
}

// Where a launch runs is asked before all of its arguments were checked.
func TestDeviceOf(t *testing.T) {
	dim := exec.Dim{Size: exec.AnyExtent}
	program := tensorProgram(0, dim)
	peer := program.Steps[0]
	peer.Flags = exec.Peer
	program.Steps = []exec.Step{peer, program.Steps[0], program.Steps[0]}
	h := publish(t, program)
	var args []exec.Arg
	for _, device := range []int32{0, 2, 1} { // a peer's, one that is not there, the launch's
		x, arg := newTensor(t, 16, f32, []int64{1}, nil)
		x.device = device
		args = append(args, arg)
	}
	device, fault := exec.DeviceOf(h, config(), args)
	require.Equal(t, exec.OK, fault.Reason)
	require.Equal(t, 1, device)
	_, fault = exec.DeviceOf(h+1<<24, config(), args)
	require.Equal(t, exec.StaleKernel, fault.Reason)
}

// What a tensor's elements span, for the simulator.
func TestRanges(t *testing.T) {
	exec.SetDriver(exec.Driver{Launch: exectest.Record(), PointerGetAttributes: exectest.LookUp(), DeviceType: cpu, Devices: 1, MemoryBase: 1 << 40, MemorySize: 1 << 30})
	exectest.Simulate(true)
	t.Cleanup(func() {
		exectest.Simulate(false)
		exec.SetDriver(twoDevices())
	})
	const at, i4 = 1<<40 + 1024, 0 | 4<<8 | 1<<16
	for _, c := range []struct {
		name           string
		dtype          uint32
		shape, strides []int64
		low, high      uint64
	}{
		{"contiguous", f32, []int64{2, 3}, nil, at, at + 24},
		{"rank 0", f32, nil, nil, at, at + 4},
		{"empty", f32, []int64{0, 3}, nil, at, at},
		{"strided", f32, []int64{2, 3}, []int64{10, 2}, at, at + 60},
		{"backwards", f32, []int64{3}, []int64{-2}, at - 16, at + 4},
		{"half bytes backwards", i4, []int64{2}, []int64{-1}, at - 1, at + 1},
		{"broadcast", f32, []int64{5}, []int64{0}, at, at + 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			program := tensorProgram(exec.OpenRank | exec.Strided)
			program.Steps[0].DTypeMask = 0
			x, arg := newTensor(t, at, c.dtype, c.shape, c.strides)
			x.deviceType = cpu
			require.Equal(t, exec.OK, launch(publish(t, program), arg).Reason)
			data, low, high := exectest.Range()
			require.EqualValues(t, at, data)
			require.Equal(t, c.low, low)
			require.Equal(t, c.high, high)
		})
	}
}
