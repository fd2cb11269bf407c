package launch_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/dlpack"
	"dlaunch/handles"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
	"dlaunch/launch"
)

func isStale(err error) bool {
	var e *status.Error
	return errors.As(err, &e) && e.Code == status.Handle
}

// Threads load, get, launch, allocate, export, close, retire and drain, with
// numbers that others have closed: what comes of it is success or a stale handle,
// and in the end nothing is left.
func TestHammer(t *testing.T) {
	const rounds, shared, workers = 1500, 8, 4
	e, f := newEngine(t)
	f32 := dlpack.DataType{Code: dlpack.Float, Bits: 32, Lanes: 1}
	var libraries, kernels, arrays, streams [shared]atomic.Uint64
	data := [workers][]float32{}
	host := [workers]exec.Arg{}
	for w := range workers {
		data[w] = make([]float32, 4)
		host[w] = tensorArg(t, data[w], cpuDevice, []int64{4}, nil)
	}
	var unexpected sync.Map
	finish := func(h uint64, kind handles.Kind, retire bool) {
		switch {
		case h == 0:
		case retire:
			_ = e.Retire(handles.Handle(h))
		default:
			_ = e.Close(handles.Handle(h), kind)
		}
	}
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(7, uint64(w)))
			for range rounds {
				i, j, retire := random.IntN(shared), random.IntN(shared), random.IntN(2) == 0
				switch random.IntN(11) {
				case 0:
					lib, err := e.Load([]byte(saxpyPTX), launch.LibraryOptions{})
					if err != nil {
						unexpected.Store(err.Error(), true)
					}
					finish(libraries[i].Swap(uint64(lib)), handles.Library, retire)
				case 1, 2:
					if k, err := e.GetKernel(handles.Handle(libraries[j].Load()), saxpyPrototype); err == nil {
						finish(kernels[i].Swap(uint64(k)), handles.Kernel, retire)
					}
				case 3:
					a, err := e.CreateArray(0, f32, []int64{4})
					if err != nil {
						unexpected.Store(err.Error(), true)
					}
					finish(arrays[i].Swap(uint64(a)), handles.Array, retire)
				case 4:
					s, err := e.CreateStream(0, 0)
					if err != nil {
						unexpected.Store(err.Error(), true)
					}
					finish(streams[i].Swap(uint64(s)), handles.Stream, retire)
				case 5:
					if id, _, err := e.ExportArray(handles.Handle(arrays[i].Load())); err == nil {
						e.ReleaseExport(id)
					}
					_ = e.Report()
				case 9:
					if v, err := e.ViewArray(handles.Handle(arrays[j].Load()), f32, []int64{4}, nil, 0); err == nil {
						finish(arrays[i].Swap(uint64(v)), handles.Array, retire)
					}
				case 10:
					if err := e.WaitForArray(handles.Handle(arrays[i].Load()), streams[j].Load()); err != nil && !isStale(err) {
						unexpected.Store(err.Error(), true)
					}
				case 6:
					_ = e.Copy(handles.Handle(arrays[i].Load()), uintptr(addressOf(data[w])), 16, streams[j].Load(), true)
				default:
					cfg := config()
					cfg.Stream = streams[random.IntN(shared)].Load()
					x, y := exec.Arg{Kind: exec.ArgHandle, Value: arrays[i].Load()}, host[w]
					if retire {
						y = exec.Arg{Kind: exec.ArgHandle, Value: arrays[j].Load()}
					}
					if err := run(e, handles.Handle(kernels[i].Load()), cfg, float(1), x, y); err != nil && !isStale(err) {
						unexpected.Store(err.Error(), true)
					}
				}
			}
		})
	}
	all.Wait()
	for i := range shared {
		finish(kernels[i].Load(), handles.Kernel, false)
		finish(libraries[i].Load(), handles.Library, true)
		finish(arrays[i].Load(), handles.Array, true)
		finish(streams[i].Load(), handles.Stream, false)
	}
	require.NoError(t, e.Drain())
	unexpected.Range(func(what, _ any) bool { t.Error(what); return true })
	require.Empty(t, liveHandles(t, e))
	require.Contains(t, e.Report(), `"handles":[]`)
	require.Contains(t, e.Report(), `"pending":0`)
	require.Zero(t, f.alive())
}
