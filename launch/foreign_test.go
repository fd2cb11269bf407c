package launch_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec/exectest"
	"dlaunch/internal/status"
	"dlaunch/launch"
)

// saxpySlots are the offsets and sizes of saxpy's parameters.
var saxpySlots = [][2]uint64{{0, 4}, {8, 8}, {16, 8}, {24, 4}}

// What other libraries have: places in memory that stays.
var elsewhere [8][512]uint64

func placeOf(i int) uintptr            { return uintptr(unsafe.Pointer(&elsewhere[i][0])) }
func foreignKernel() driver.Kernel     { return driver.Kernel(placeOf(0)) }
func foreignFunction() driver.Function { return driver.Function(placeOf(1)) }
func foreignLibrary() driver.Library   { return driver.Library(placeOf(2)) }

const (
	plainMemory = 3
	itsImage    = 4 // the foreign library's
	ownFunction = 5 // of the kernel by which the engine learns what functions look like
	module      = 6
)

const sampleKernel driver.Kernel = 0x2800

// sampleFunction has a pointer where the driver follows one.
func sampleFunction() driver.Function {
	elsewhere[ownFunction][4] = uint64(placeOf(plainMemory))
	return driver.Function(placeOf(ownFunction))
}

// functionModule dies of what has no pointer there, as the driver does (seen: 580).
func functionModule(f driver.Function) (driver.Module, driver.Result) {
	switch f {
	case driver.Function(placeOf(module)):
		panic("the driver dies of it")
	case foreignFunction():
		return 1, driver.ResultSuccess
	}
	return 0, driver.ResultInvalidHandle
}

// kernelLibrary answers for a library, too, and then with where its image lies, as
// the driver does (seen: 580).
func (f *fake) kernelLibrary(k driver.Kernel) (driver.Library, driver.Result) {
	switch {
	case f.old:
		return 0, driver.ResultNotSupported
	case k == foreignKernel():
		return foreignLibrary(), driver.ResultSuccess
	case k == driver.Kernel(foreignLibrary()):
		elsewhere[itsImage][0] = 0x33010102464c457f // ELF, 64 bit, of CUDA
		return driver.Library(placeOf(itsImage)), driver.ResultSuccess
	case !f.tells && (k == 0x2000 || k == 7): // also when it is unloaded
		return 7, driver.ResultSuccess
	}
	return 0, driver.ResultInvalidHandle
}

func TestForeignKernels(t *testing.T) {
	for name, address := range map[string]uintptr{"CUkernel": uintptr(foreignKernel()), "CUfunction": uintptr(foreignFunction())} {
		t.Run(name, func(t *testing.T) {
			e, f := newEngine(t)
			f.params = saxpySlots
			k, err := e.KernelFromDriver(address, saxpyPrototype)
			require.NoError(t, err)
			native, err := e.KernelNative(k)
			require.NoError(t, err)
			require.Equal(t, uint64(address), native)

			x := tensorArg(t, []float32{1}, cudaDevice, []int64{1}, nil)
			require.NoError(t, run(e, k, config(), float(1), x, x))
			require.EqualValues(t, address, exectest.Function())

			threads, err := e.KernelAttribute(k, driver.KernelMaxThreadsPerBlock, 0)
			require.NoError(t, err)
			require.Equal(t, int32(512), threads)
			require.NoError(t, e.SetKernelAttribute(k, driver.KernelSharedCarveout, 0, 50))
			require.Equal(t, [2]int32{9, 50}, f.set[len(f.set)-1])
			require.NoError(t, e.LoadKernel(k, 0))

			untyped, err := e.KernelFromDriver(address, "")
			require.NoError(t, err)
			p, err := e.KernelParameter(untyped, 3)
			require.NoError(t, err)
			require.Equal(t, launch.Parameter{Offset: 24, Size: 4}, p)

			for text, says := range map[string]string{
				"daxpy(n: i32)": "it is of the kernel", "saxpy": "is no prototype", "(n: i32)": "has 1 parameters, the kernel has 4",
			} {
				_, err = e.KernelFromDriver(address, text)
				refused(t, err, status.Prototype, says)
			}

			require.NoError(t, e.Retire(k))
			require.NoError(t, e.Close(untyped, handles.Kernel))
			require.NoError(t, e.Drain())
			require.Contains(t, e.Report(), `"live":{}`)
			require.Contains(t, e.Report(), `"pending":0`)
		})
	}
}

func TestWhatIsNoKernel(t *testing.T) {
	e, _ := newEngine(t)
	elsewhere[module][4] = 0x800000001
	for address, says := range map[uintptr]string{
		0:                                    "the address is 0",
		1:                                    "0x1 is no multiple of 8",
		placeOf(0) + 4:                       "is no multiple of 8",
		0x1238:                               "is no memory of this process",
		1<<47 - 8:                            "is no memory of this process",
		^uintptr(7):                          "is no memory of this process",
		placeOf(plainMemory):                 "neither a CUkernel nor a CUfunction (cuFuncGetModule: CUDA_ERROR_INVALID_HANDLE (400))",
		uintptr(foreignLibrary()):            "neither a CUkernel nor a CUfunction",
		placeOf(module):                      "neither a CUkernel nor a CUfunction: a CUfunction has pointers where this has none",
		uintptr(placeOf(len(elsewhere) - 1)): "neither a CUkernel nor a CUfunction",
	} {
		k, err := e.KernelFromDriver(address, saxpyPrototype)
		refused(t, err, status.Handle, says)
		require.Zero(t, k)
	}
}

// Before 12.5 nothing tells a CUkernel from other pointers; a CUfunction is known.
func TestForeignKernelsOfOldDrivers(t *testing.T) {
	e, f := newEngine(t)
	f.old = true
	_, err := e.KernelFromDriver(uintptr(foreignKernel()), saxpyPrototype)
	refused(t, err, status.Unsupported, "driver 12.5 and newer")
	k, err := e.KernelFromDriver(uintptr(foreignFunction()), saxpyPrototype)
	require.NoError(t, err)
	require.NoError(t, e.Close(k, handles.Kernel))
}

// The driver's handle of a kernel of ours is our kernel, which holds the library;
// what was unloaded the driver is not asked about.
func TestOurOwnKernels(t *testing.T) {
	e, f := newEngine(t)
	lib := load(t, e)
	first, err := e.GetKernel(lib, "saxpy")
	require.NoError(t, err)
	native, err := e.KernelNative(first)
	require.NoError(t, err)
	require.Equal(t, uint64(0x2000), native) // no memory, which is not asked
	require.NoError(t, e.Close(lib, handles.Library))

	again, err := e.KernelFromDriver(uintptr(native), saxpyPrototype)
	require.NoError(t, err)
	require.NotEqual(t, first, again)
	p, err := e.KernelParameter(again, 1)
	require.NoError(t, err)
	require.Equal(t, "f32[n]", p.Type)
	require.NoError(t, e.Close(first, handles.Kernel))
	require.Empty(t, f.unloaded)
	_, err = e.KernelFromDriver(uintptr(native), "daxpy()")
	refused(t, err, status.Prototype)

	_, err = e.KernelFromDriver(7, "")
	refused(t, err, status.Handle, "0x7 is a library")

	require.NoError(t, e.Close(again, handles.Kernel))
	require.Equal(t, []driver.Library{7}, f.unloaded)
	for _, gone := range []uintptr{uintptr(native), 7} {
		_, err = e.KernelFromDriver(gone, "")
		refused(t, err, status.Handle, "was unloaded by dlaunch")
	}
	f.tells = true // a driver that knows what it has unloaded can be asked later
	lib = load(t, e)
	told, err := e.GetKernel(lib, "saxpy")
	require.NoError(t, err)
	require.NoError(t, e.Close(told, handles.Kernel))
	require.NoError(t, e.Close(lib, handles.Library))
	_, err = e.KernelFromDriver(uintptr(native), "")
	refused(t, err, status.Handle, "is no memory of this process")
	reloaded := getKernel(t, e, "saxpy")
	third, err := e.KernelFromDriver(uintptr(native), "")
	require.NoError(t, err, "what is at the address now")
	for _, k := range []handles.Handle{reloaded, third} {
		require.NoError(t, e.Close(k, handles.Kernel))
	}
}
