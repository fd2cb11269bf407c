package launch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/exec/exectest"
	"dlaunch/internal/status"
	"dlaunch/launch"
)

func TestKernelAttributes(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, "saxpy")
	for attribute, want := range map[int32]int32{driver.KernelMaxThreadsPerBlock: 512, driver.KernelStaticShared: 1024, driver.KernelMaxDynamicShared: 49152} {
		got, err := e.KernelAttribute(k, attribute, 1)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := e.KernelAttribute(k, 99, 0)
	refused(t, err, status.Unsupported, "attribute 99 is not known to this driver (13.0)")
	_, err = e.KernelAttribute(k, 0, 2)
	refused(t, err, status.Argument, "device 2 does not exist")
	_, err = e.KernelAttribute(7, 0, 0)
	refused(t, err, status.Handle)

	set := func(attribute, value int32) error { return e.SetKernelAttribute(k, attribute, 0, value) }
	require.NoError(t, set(driver.KernelSharedCarveout, -1))
	require.NoError(t, set(77, 5), "of a newer driver")
	require.Equal(t, [][2]int32{{9, -1}, {77, 5}}, f.set)
	for _, attribute := range []int32{-1, 0, 4, 7, 10} {
		refused(t, set(attribute, 1), status.Argument, "cannot be set; 8, 9 and 11 to 15 can")
	}
	refused(t, set(driver.KernelSharedCarveout, 101), status.Config, "is 101; -1 to 100 is wanted")
	for attribute := driver.KernelClusterWidth; attribute <= driver.KernelClusterPolicy; attribute++ {
		refused(t, set(attribute, 1), status.Unsupported, "compute capability 9.0 or newer; device 0 has 9.0")
	}
	f.clusters = 1
	require.NoError(t, set(driver.KernelNonPortableCluster, 1))
	refused(t, set(driver.KernelNonPortableCluster, 2), status.Config, "0 to 1 is wanted")
	f.sets = driver.ResultNotPermitted
	require.Equal(t, int32(800), refused(t, set(driver.KernelClusterWidth, 2), status.Config, "fixed when the kernel was compiled").Driver)
	f.sets = driver.ResultInvalidValue
	refused(t, set(77, 1), status.Config, "the driver does not take this value")
}

// Launches go by what was set; one that needs more raises it, whoever lowered it.
func TestTheLimitOfSharedMemoryIsSet(t *testing.T) {
	e, f := newEngine(t)
	k, other := getKernel(t, e, "saxpy"), getKernel(t, e, "saxpy")
	args := []exec.Arg{float(1), {}, {}, {Kind: exec.ArgInt}}
	cfg := config()
	cfg.SharedBytes = 60000
	require.NoError(t, e.SetKernelAttribute(k, driver.KernelMaxDynamicShared, 0, 70000))
	sets := len(f.set)
	require.NoError(t, run(e, k, cfg, args...))
	require.Len(t, f.set, sets, "nothing to raise")
	refused(t, e.SetKernelAttribute(k, driver.KernelMaxDynamicShared, 0, fakeSharedOptIn-1023), status.Config, "device 0 has 232448 for a block")

	require.NoError(t, run(e, other, cfg, args...))
	require.NoError(t, e.SetKernelAttribute(k, driver.KernelMaxDynamicShared, 0, 1000))
	require.NoError(t, run(e, k, cfg, args...))
	require.EqualValues(t, 60000, f.dynamic)
	require.NoError(t, e.SetKernelAttribute(k, driver.KernelMaxDynamicShared, 0, 1000))
	exectest.Answer(int32(driver.ResultInvalidValue)) // to the handle that has not heard of it
	defer exectest.Answer(0)
	refused(t, run(e, other, cfg, args...), status.Driver, "60000 bytes of dynamic shared memory")
	require.EqualValues(t, 60000, f.dynamic, "it was raised once")
}

func TestLoadedBeforeItIsLaunched(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, "saxpy")
	require.NoError(t, e.LoadKernel(k, 1))
	require.Equal(t, []driver.Function{0x2001}, f.loaded)
	require.True(t, f.retained[1])
	refused(t, e.LoadKernel(k, 2), status.Argument, "device 2")
}

func TestFirstLoadInACapture(t *testing.T) {
	_, f := newEngine(t)
	f.capturing = true
	for _, strict := range []bool{false, true} {
		e := launch.New(func() (launch.Driver, error) {
			return launch.Driver{API: f.api(), DeviceType: 2, NoLateLoads: strict}, nil
		}, f.giveBack)
		k := getKernel(t, e, "saxpy")
		args := []exec.Arg{float(1), {}, {}, {Kind: exec.ArgInt}}
		if strict {
			refused(t, run(e, k, config(), args...), status.Config, `kernel "saxpy" is not loaded on device 0`, "dlaunch_kernel_load")
			require.NoError(t, e.LoadKernel(k, 0))
		}
		require.NoError(t, run(e, k, config(), args...))
	}
}
