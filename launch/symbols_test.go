package launch_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/dlpack"
	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
	"dlaunch/launch"
)

// withSymbols gives an engine whose libraries have symbols of these sizes, all at one
// place of each device.
func withSymbols(t *testing.T) (*launch.Engine, *fake, handles.Handle) {
	e, f := newEngine(t)
	f.symbols = map[string]uint64{"table": 8, "matrix": 40, "odd": 12, "short": 4}
	for i := range f.symbol {
		f.symbol[i], _ = f.alloc(64)
	}
	return e, f, load(t, e)
}

func (f *fake) word(device, n int) uint64 {
	return binary.LittleEndian.Uint64(bytesAt(uint64(f.symbol[device])+8*uint64(n), 8))
}

func addressOfArray(t *testing.T, e *launch.Engine, h handles.Handle) uint64 {
	t.Helper()
	var data uint64
	require.NoError(t, e.ArrayTensor(h, func(address uint64) error {
		data = binary.LittleEndian.Uint64(bytesAt(address, 8))
		return nil
	}))
	return data
}

const symbolMemory = 2 // blocks of the fake that are no arrays

func TestSymbolsHoldWhatIsBound(t *testing.T) {
	e, f, lib := withSymbols(t)
	bindTo := func(name string, arg exec.Arg) error { return e.BindSymbol(lib, name, &arg) }
	x := makeArray(t, e, 0, 2, 3)
	require.NoError(t, bindTo("table", handleArg(x)))
	require.Equal(t, addressOfArray(t, e, x), f.word(0, 0))
	require.NoError(t, bindTo("matrix", handleArg(x)))
	require.Equal(t, []uint64{addressOfArray(t, e, x), 2, 3, 3, 1}, []uint64{f.word(0, 0), f.word(0, 1), f.word(0, 2), f.word(0, 3), f.word(0, 4)})
	require.Zero(t, f.word(1, 0))

	onOne := makeArray(t, e, 1, 2, 3)
	require.NoError(t, bindTo("table", handleArg(onOne)))
	require.Equal(t, addressOfArray(t, e, onOne), f.word(1, 0))
	closeAll(t, e, x, onOne)
	require.NoError(t, e.Synchronize(0))
	require.NoError(t, e.Synchronize(1))
	require.Equal(t, symbolMemory+2, f.alive())
	require.Contains(t, e.Report(), `"open":false,"held_by":[`)

	// Bound again, the former goes when the device is known to be idle.
	require.NoError(t, bindTo("table", exec.Arg{Kind: exec.ArgNone}))
	require.Zero(t, f.word(0, 0))
	require.Zero(t, f.word(1, 0))
	require.NoError(t, e.Synchronize(0))
	require.NoError(t, e.Synchronize(1))
	require.Equal(t, symbolMemory+1, f.alive(), "matrix holds x yet")
	host := []float32{5, 6, 7, 8}
	require.NoError(t, bindTo("matrix", tensorArg(t, host, cpuDevice, []int64{2, 2}, []int64{1, 2})))
	frozen := f.word(0, 0)
	require.Equal(t, []uint64{2, 2, 1, 2}, []uint64{f.word(0, 1), f.word(0, 2), f.word(0, 3), f.word(0, 4)})
	require.Equal(t, bytesAt(addressOf(host), 16), bytesAt(frozen, 16))
	require.NoError(t, e.Synchronize(0))
	require.Equal(t, symbolMemory+1, f.alive(), "the copy")

	k, err := e.GetKernel(lib, "saxpy")
	require.NoError(t, err)
	closeAll(t, e, lib)
	require.NoError(t, e.Drain())
	require.Equal(t, symbolMemory+1, f.alive(), "the kernel's library holds it")
	closeAll(t, e, k)
	require.Equal(t, []driver.Library{7}, f.unloaded)
	require.NoError(t, e.Drain())
	require.Equal(t, symbolMemory, f.alive())
	require.Contains(t, e.Report(), `"handles":[]`)
}

func TestSymbolsHoldImportedTensors(t *testing.T) {
	e, f, lib := withSymbols(t)
	h, err := e.ImportTensor(view(dlpack.Device{Type: dlpack.CUDA, ID: 1}, 0x1000, 4), 77)
	require.NoError(t, err)
	arg := handleArg(h)
	for range 3 {
		require.NoError(t, e.BindSymbol(lib, "table", &arg))
	}
	require.EqualValues(t, 0x1000, f.word(1, 0))
	closeAll(t, e, h)
	require.NoError(t, e.Drain())
	require.Empty(t, f.gone)
	closeAll(t, e, lib)
	require.NoError(t, e.Drain())
	require.Equal(t, []uint64{77}, f.gone)
}

func TestWhatASymbolIsRefusedFor(t *testing.T) {
	e, f, lib := withSymbols(t)
	vector, closed := makeArray(t, e, 0, 4), makeArray(t, e, 0, 4)
	closeAll(t, e, closed)
	for _, c := range []struct {
		name, symbol string
		arg          exec.Arg
		code         status.Code
		part         string
	}{
		{"no symbol", "tabel", handleArg(vector), status.NotFound, `"tabel"`},
		{"no pointer", "odd", handleArg(vector), status.Argument, "12 bytes; a pointer (8) or a dlaunch::view"},
		{"too short", "short", handleArg(vector), status.Argument, "4 bytes"},
		{"rank", "matrix", handleArg(vector), status.Tensor, `symbol "matrix": a tensor of 1 dimensions given, dlaunch::view<T, 2> wanted`},
		{"a float", "table", float(1), status.Argument, `symbol "table": a float given, pointer wanted`},
		{"a number for a view", "matrix", exec.Arg{Kind: exec.ArgInt, Value: 5}, status.Argument, "an integer given"},
		{"closed", "table", handleArg(closed), status.Handle, "closed already"},
		{"written", "table", exec.Arg{Kind: exec.ArgTensor, Flags: exec.ArgOut, Value: tensorArg(t, y4(), cpuDevice, []int64{4}, nil).Value}, status.Argument, "does not change"},
	} {
		t.Run(c.name, func(t *testing.T) {
			refused(t, e.BindSymbol(lib, c.symbol, &c.arg), c.code, c.part)
			require.Zero(t, f.word(0, 0))
		})
	}
	require.Equal(t, symbolMemory+1, f.alive())
}
