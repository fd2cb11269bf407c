package exec_test

import (
	"encoding/binary"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"dlaunch/dlpack"
	"dlaunch/internal/exec"
	"dlaunch/internal/exec/exectest"
)

// fields is a DLManagedTensorVersioned whose DLTensor has any fields but two: shape
// and strides lead to memory that is there, or to no address that is ever followed.
type fields struct {
	version          [2]uint32
	context, deleter uint64
	flags            uint64
	tensor
	axes [2 * exec.MaxRank]int64
	pin  runtime.Pinner
}

// The bits of the last argument of FuzzTensorFields.
const (
	noShape = 1 << iota
	noStrides
	crookedShape
	crookedStrides
)

// newFields spreads shape and strides over all axes that a rank may have; what
// the bytes do not say is 1.
func newFields(data, offset uint64, device, rank int32, dtype uint32, flags uint64, shape, strides []byte, bits uint8) *fields {
	f := &fields{version: [2]uint32{dlpack.MajorVersion, dlpack.MinorVersion}, flags: flags, tensor: tensor{data: data, deviceType: cuda, device: device, ndim: rank, dtype: dtype, offset: offset}}
	f.pin.Pin(f)
	for half, from := range [][]byte{shape, strides} {
		for axis := range exec.MaxRank {
			at := &f.axes[half*exec.MaxRank+axis]
			*at = 1
			if len(from) >= 8 {
				*at, from = int64(binary.LittleEndian.Uint64(from)), from[8:]
			}
		}
	}
	f.shape, f.strides = &f.axes[0], &f.axes[exec.MaxRank]
	switch {
	case bits&noShape != 0:
		f.shape = nil
	case bits&crookedShape != 0:
		bend(&f.shape)
	}
	switch {
	case bits&noStrides != 0:
		f.strides = nil
	case bits&crookedStrides != 0:
		bend(&f.strides)
	}
	return f
}

func (f *fields) arg() exec.Arg {
	return exec.Arg{Kind: exec.ArgVersioned, Value: uint64(uintptr(unsafe.Pointer(f)))}
}

// bytesOf writes axes as newFields reads them.
func bytesOf(axes ...int64) (to []byte) {
	for _, n := range axes {
		to = binary.LittleEndian.AppendUint64(to, uint64(n))
	}
	return to
}

// What only the executor looks at: dlpack's View knows neither devices nor kernels.
var beyondTheView = []exec.Reason{exec.Alignment, exec.Device}

// FuzzTensorFields gives the fields of a DLTensor to both that read one: the
// executor, and dlpack's View, by which host and imported tensors are known. They
// must take the same ones, and see the same in them.
func FuzzTensorFields(f *testing.F) {
	anything := tensorProgram(exec.OpenRank | exec.Strided)
	ordered, fortran := tensorProgram(exec.OpenRank), tensorProgram(exec.OpenRank|exec.Fortran)
	written := tensorProgram(exec.OpenRank | exec.Strided | exec.Written)
	for _, p := range []*exec.Program{&anything, &ordered, &fortran, &written} {
		p.Steps[0].DTypeMask = 0
	}
	axis := exec.Dim{Size: exec.AnyExtent}
	long, short := bothWays(tensorProgram(0, axis, axis))[0], bothWays(tensorProgram(0, axis, axis))[1]
	view := tensorProgram(exec.Strided, axis, axis, axis)
	view.Steps[0].DTypeMask, view.Steps[0].Form, view.Steps[0].Size, view.Params = 0, exec.FormView, 56, make([]byte, 56)
	kernels := make(map[*exec.Program]uint64)
	for _, p := range []*exec.Program{&anything, &ordered, &fortran, &written, &long, &short, &view} {
		kernels[p] = publish(f, *p)
	}

	for _, dtype := range []uint32{f32, 0 | 8<<8 | 1<<16, 17 | 4<<8 | 1<<16, 10 | 16<<8 | 1<<16, 2 | 32<<8 | 4<<16, 3 | 255<<8 | 65535<<16} {
		f.Add(uint64(0x7000_0000), uint64(64), int32(1), int32(2), dtype, uint64(0), bytesOf(2, 3), bytesOf(3, 1), uint8(0))
		f.Add(uint64(0x7000_0000), uint64(0), int32(0), int32(3), dtype, uint64(dlpack.Padded|dlpack.ReadOnly), bytesOf(2, 3, 4), bytesOf(1, 2, 6), uint8(0))
	}
	f.Add(uint64(0), uint64(8), int32(0), int32(2), uint32(f32), uint64(dlpack.Padded), bytesOf(4, 0), bytesOf(9, 9), uint8(noStrides))
	f.Add(uint64(4096+16), uint64(0), int32(0), int32(1), uint32(f32), uint64(dlpack.Padded), bytesOf(6), bytesOf(-1), uint8(0))
	f.Add(uint64(4096), uint64(1<<64-8), int32(0), int32(1), uint32(f32), uint64(dlpack.Padded), bytesOf(1<<62), bytesOf(-1<<63), uint8(crookedShape))
	f.Add(uint64(1<<63), uint64(1<<63), int32(9), int32(-1), uint32(f32), uint64(dlpack.Padded), bytesOf(1<<40, 1<<40), bytesOf(0, 0), uint8(noShape))
	f.Add(uint64(4096+64), uint64(0), int32(-1), int32(64), uint32(f32), uint64(dlpack.Padded), bytesOf(2, 2, 2), bytesOf(0), uint8(crookedStrides))

	f.Fuzz(func(t *testing.T, data, offset uint64, device, rank int32, dtype uint32, flags uint64, shape, strides []byte, bits uint8) {
		x := newFields(data, offset, device, rank, dtype, flags, shape, strides, bits)
		defer x.pin.Unpin()
		run := func(p *exec.Program) (exec.Fault, []byte) {
			fault := launch(kernels[p], x.arg())
			if fault.Reason != exec.OK {
				return fault, nil
			}
			return fault, exectest.Params()
		}
		first, packed := run(&anything)
		seen, err := dlpack.ReadVersioned(uintptr(unsafe.Pointer(x)))
		if err != nil {
			require.NotEqual(t, exec.OK, first.Reason, "View says: %v", err)
			require.NotContains(t, beyondTheView, first.Reason, "View says: %v", err)
		} else if first.Reason != exec.OK {
			require.Contains(t, beyondTheView, first.Reason, "%+v", seen)
		}

		byLong, paramsLong := run(&long)
		byShort, paramsShort := run(&short)
		require.Equal(t, byLong, byShort)
		require.Equal(t, paramsLong, paramsShort)
		if first.Reason != exec.OK {
			for _, p := range []*exec.Program{&ordered, &fortran, &written, &view, &long} {
				fault, _ := run(p)
				require.NotEqual(t, exec.OK, fault.Reason)
			}
			return
		}

		require.Equal(t, seen.Address, binary.LittleEndian.Uint64(packed))
		inOrder, _ := run(&ordered)
		require.Equal(t, seen.C, inOrder.Reason == exec.OK, "%+v, %+v", inOrder, seen)
		inFortran, _ := run(&fortran)
		require.Equal(t, seen.Fortran, inFortran.Reason == exec.OK, "%+v, %+v", inFortran, seen)
		if rank == 3 {
			_, words := run(&view)
			require.Equal(t, bytesOf(append(append([]int64{int64(seen.Address)}, seen.Shape...), seen.Strides...)...), words)
		}
		asWritten, _ := run(&written)
		if seen.Flags&dlpack.ReadOnly != 0 {
			require.Equal(t, exec.ReadOnly, asWritten.Reason)
			return
		}
		if asWritten.Reason == exec.OK && seen.Size > 0 && seen.Size <= 1000 {
			require.True(t, areDistinct(seen), "%+v", seen)
		}
		if seen.C || seen.Fortran {
			require.Equal(t, exec.OK, asWritten.Reason, "%+v, %+v", asWritten, seen)
		}
	})
}

// areDistinct says whether all elements have a place of their own.
func areDistinct(v *dlpack.View) bool {
	places := []int64{0}
	for axis, extent := range v.Shape {
		var more []int64
		for at := range extent {
			for _, place := range places {
				more = append(more, place+at*v.Strides[axis])
			}
		}
		places = more
	}
	slices.Sort(places)
	return len(slices.Compact(places)) == int(v.Size)
}
