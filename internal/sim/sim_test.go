package sim

import (
	"encoding/binary"
	"math"
	"os"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"dlaunch/internal/driver"
)

// rig is a simulator with a library loaded.
type rig struct {
	t       testing.TB
	s       *Simulator
	api     *driver.API
	library driver.Library
	stream  driver.Stream // that launches go to
}

func newRig(t testing.TB, text []byte) *rig {
	s, err := New(Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	r := &rig{t: t, s: s, api: s.API()}
	runtime.LockOSThread() // a context is current on one thread
	t.Cleanup(runtime.UnlockOSThread)
	context, result := r.api.PrimaryContextRetain(0)
	require.Zero(t, result)
	require.Zero(t, r.api.ContextSetCurrent(context))
	log, options := jitLog(t)
	library, result := r.api.LibraryLoad(append(text, 0), options)
	require.Zero(t, result, "%s", log())
	r.library = library
	return r
}

func jitLog(t testing.TB) (func() string, []driver.JITOption) {
	memory := hostMemory(t, 4096)
	return func() string {
			for i, c := range memory {
				if c == 0 {
					return string(memory[:i])
				}
			}
			return ""
		}, []driver.JITOption{
			{ID: 5, Value: addressOf(memory)}, {ID: 6, Value: uint64(len(memory))}}
}

func corpusFile(t testing.TB, name string) []byte {
	text, err := os.ReadFile("../../testdata/kernels/" + name + ".ptx")
	require.NoError(t, err)
	return text
}

// hostMemory is memory that Go's heap does not hold: the simulator uses
// addresses as a C program would.
func hostMemory(t testing.TB, bytes int) []byte {
	memory, err := unix.Mmap(-1, 0, max(1, bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(memory)) })
	return memory
}

func addressOf(memory []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&memory[0]))) }

// tensor is an argument in host memory, typed.
type tensor[T any] struct {
	data []T
	arg  Argument
}

func host[T any](t testing.TB, name string, written bool, values ...T) *tensor[T] {
	var one T
	item := int(unsafe.Sizeof(one))
	memory := hostMemory(t, item*len(values))
	data := unsafe.Slice((*T)(unsafe.Pointer(&memory[0])), len(values))
	copy(data, values)
	address := addressOf(memory)
	return &tensor[T]{data, Argument{Name: name, ItemSize: uint64(item), Data: address, Low: address, High: address + uint64(item*len(values)), Read: true, Written: written}}
}

func (x *tensor[T]) argument() Argument { return x.arg }

type hasArgument interface{ argument() Argument }

// launch packs arguments as the kernel's parameters lie, and runs it.
func (r *rig) launch(name string, grid, block [3]uint32, dynamic uint32, args ...any) *Fault {
	r.t.Helper()
	kernel, result := r.api.LibraryKernel(r.library, name)
	require.Zero(r.t, result, name)
	l := Launch{Kernel: kernel, Stream: r.stream, Grid: grid, Block: block, Shared: dynamic}
	for i, arg := range args {
		offset, size, result := r.api.KernelParam(kernel, i)
		require.Zero(r.t, result)
		l.Params = append(l.Params, make([]byte, int(offset)-len(l.Params))...)
		var word [8]byte
		switch v := arg.(type) {
		case hasArgument:
			a := v.argument()
			a.Index = i
			l.Arguments = append(l.Arguments, a)
			binary.LittleEndian.PutUint64(word[:], a.Data)
		case uint64:
			binary.LittleEndian.PutUint64(word[:], v)
		case driver.Address:
			binary.LittleEndian.PutUint64(word[:], uint64(v))
		case int:
			binary.LittleEndian.PutUint64(word[:], uint64(v))
		case float32:
			binary.LittleEndian.PutUint32(word[:], math.Float32bits(v))
		case float64:
			binary.LittleEndian.PutUint64(word[:], math.Float64bits(v))
		case []byte:
			require.Len(r.t, v, int(size))
			l.Params = append(l.Params, v...)
			continue
		default:
			require.Fail(r.t, "no such argument", "%T", arg)
		}
		l.Params = append(l.Params, word[:size]...)
	}
	return r.s.Launch(l)
}

func x1(n uint32) [3]uint32 { return [3]uint32{n, 1, 1} }

func upTo[T any](n int, of func(i int) T) []T {
	values := make([]T, n)
	for i := range values {
		values[i] = of(i)
	}
	return values
}

func TestSaxpy(t *testing.T) {
	r := newRig(t, corpusFile(t, "saxpy"))
	const n = 1000
	x := host(t, "x", false, upTo(n, func(i int) float32 { return float32(i) })...)
	y := host(t, "y", true, upTo(n, func(i int) float32 { return float32(2 * i) })...)
	require.Nil(t, r.launch("saxpy", x1(8), x1(128), 0, float32(0.5), x, y, n))
	for i, v := range y.data {
		require.Equal(t, 2.5*float32(i), v)
	}
}

func TestEveryKernelLoads(t *testing.T) {
	files, err := os.ReadDir("../../testdata/kernels")
	require.NoError(t, err)
	loaded := 0
	for _, file := range files {
		name := file.Name()
		if len(name) > 4 && name[len(name)-4:] == ".ptx" {
			t.Run(name, func(t *testing.T) { newRig(t, corpusFile(t, name[:len(name)-4])) })
			loaded++
		}
	}
	require.GreaterOrEqual(t, loaded, 15)
}

func TestAnAccessPastTheEndNamesTheElement(t *testing.T) {
	r := newRig(t, corpusFile(t, "saxpy"))
	x := host(t, "x", false, make([]float32, 1000)...)
	y := host(t, "y", true, make([]float32, 1100)...)
	fault := r.launch("saxpy", x1(5), x1(256), 0, float32(2), x, y, 1001)
	require.NotNil(t, fault)
	require.Equal(t, driver.ResultIllegalAddress, fault.Result)
	require.Equal(t, "saxpy: block (3,0,0) thread (232,0,0): PTX line 43 (ld.global.f32): reads x[1000] (argument 1), which has 1000 elements", fault.Message)
}
