package launch_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/handles"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
	"dlaunch/launch"
)

// isCount: another thread put a kernel there that takes more or fewer arguments.
func isCount(err error) bool {
	var e *status.Error
	return errors.As(err, &e) && e.Code == status.Argument
}

// Threads bind kernels and symbols to arrays, and launch and close all of it, with
// numbers that others have closed.
func TestBindHammer(t *testing.T) {
	const rounds, shared, workers = 1500, 8, 4
	e, f, first := withSymbols(t)
	var libraries, kernels, arrays [shared]atomic.Uint64
	libraries[0].Store(uint64(first))
	host := tensorArg(t, y4(), cpuDevice, []int64{4}, nil)
	var unexpected sync.Map
	check := func(err error) {
		if err != nil && !isStale(err) {
			unexpected.Store(err.Error(), true)
		}
	}
	finish := func(h uint64, retire bool) {
		switch {
		case h == 0:
		case retire:
			check(e.Retire(handles.Handle(h)))
		default:
			check(e.Close(handles.Handle(h), handles.Handle(h).Kind()))
		}
	}
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(11, uint64(w)))
			for range rounds {
				i, j, retire := random.IntN(shared), random.IntN(shared), random.IntN(2) == 0
				array := handleArg(handles.Handle(arrays[j].Load()))
				switch random.IntN(9) {
				case 0:
					lib, err := e.Load([]byte(saxpyPTX), launch.LibraryOptions{})
					check(err)
					finish(libraries[i].Swap(uint64(lib)), retire)
				case 1:
					if k, err := e.GetKernel(handles.Handle(libraries[j].Load()), saxpyPrototype); err == nil {
						finish(kernels[i].Swap(uint64(k)), retire)
					}
				case 2:
					a, err := e.CreateArray(0, float32Type, []int64{4})
					check(err)
					finish(arrays[i].Swap(uint64(a)), retire)
				case 3, 4: // what is bound already is an error of the caller's
					if retire {
						array = host
					}
					if k, err := e.BindKernel(handles.Handle(kernels[i].Load()), 1, &array); err == nil {
						finish(kernels[j].Swap(uint64(k)), retire)
					}
				case 5:
					if random.IntN(8) == 0 {
						check(e.BindSymbol(handles.Handle(libraries[i].Load()), "table", &array))
					}
				case 6:
					_ = e.Report()
				default:
					passed := []exec.Arg{float(1), array, array}
					if p, err := e.KernelParameter(handles.Handle(kernels[i].Load()), 1); err == nil && p.Mode&exec.ParameterBound != 0 {
						passed = passed[1:]
						passed[0] = float(1)
					}
					if err := run(e, handles.Handle(kernels[i].Load()), config(), passed...); err != nil && !isStale(err) && !isCount(err) {
						unexpected.Store(err.Error(), true)
					}
				}
			}
		})
	}
	all.Wait()
	for i := range shared {
		finish(kernels[i].Load(), i%2 == 0)
		finish(libraries[i].Load(), true)
		finish(arrays[i].Load(), false)
	}
	require.NoError(t, e.Drain())
	unexpected.Range(func(what, _ any) bool { t.Error(what); return true })
	require.Contains(t, e.Report(), `"handles":[]`)
	require.Contains(t, e.Report(), `"pending":0`)
	require.Equal(t, symbolMemory, f.alive())
}
