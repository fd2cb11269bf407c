package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Why there is no driver, and when the simulator is taken, as a C caller sees it:
// testdata/no_driver.c with variants of a libcuda on LD_LIBRARY_PATH.
func TestNoDriver(t *testing.T) {
	p := projectPaths(t)
	client := program(t, p, compilers[0], "no_driver")
	const absent, brokenFile = "absent", "broken"
	for name, c := range map[string]struct {
		libcuda string // defines of the stub, or one of the above
		mode    string
		chosen  string // CUDA_VISIBLE_DEVICES
		kind    string
		code    int
		says    []string
	}{
		"absent, asked for":           {libcuda: absent, mode: "cuda", kind: "none", says: []string{"there is no CUDA driver", "tried libcuda.so.1"}},
		"absent, auto":                {libcuda: absent, mode: "auto", kind: "sim", says: []string{"there is no CUDA driver", "tried libcuda.so.1"}},
		"no ELF":                      {libcuda: brokenFile, mode: "auto", kind: "none", says: []string{"cannot be loaded", "DLAUNCH_DRIVER=sim"}},
		"too old":                     {libcuda: "-DVERSION=11080", mode: "auto", kind: "none", says: []string{"is driver 11.8; 12.0 or newer is needed", "DLAUNCH_DRIVER=sim"}},
		"too old, asked for":          {libcuda: "-DVERSION=11080", mode: "cuda", kind: "none", says: []string{"libcuda.so.1 is driver 11.8; 12.0 or newer is needed"}},
		"a function is missing":       {libcuda: "-DWITHOUT_LAUNCH", mode: "auto", kind: "none", says: []string{"driver 13.1", "lacks cuLaunchKernelEx", "reinstall"}},
		"cuInit fails":                {libcuda: "-DINIT_ANSWER=999", mode: "auto", kind: "none", code: 999, says: []string{"cuInit", "CUDA_ERROR_UNKNOWN (999)", "DLAUNCH_DRIVER=sim"}},
		"cuInit fails, asked for":     {libcuda: "-DINIT_ANSWER=999", mode: "cuda", kind: "none", code: 999, says: []string{"cuInit", "CUDA_ERROR_UNKNOWN (999)"}},
		"no device":                   {libcuda: "-DINIT_ANSWER=100", mode: "auto", kind: "sim", says: []string{"cuInit", "CUDA_ERROR_NO_DEVICE (100)"}},
		"no device, unset":            {libcuda: "-DINIT_ANSWER=100", kind: "sim", says: []string{"CUDA_ERROR_NO_DEVICE (100)"}},
		"no device, devices chosen":   {libcuda: "-DINIT_ANSWER=100", mode: "auto", chosen: "1", kind: "none", code: 100, says: []string{"CUDA_ERROR_NO_DEVICE (100)", "CUDA_VISIBLE_DEVICES is set", "DLAUNCH_DRIVER=sim"}},
		"no device, asked for":        {libcuda: "-DINIT_ANSWER=100", mode: "cuda", kind: "none", code: 100, says: []string{"cuInit", "CUDA_ERROR_NO_DEVICE (100)"}},
		"a good one":                  {libcuda: "-DDEVICES=2", mode: "auto", kind: "cuda", says: []string{"a CUDA driver with a device was found"}},
		"a good one, not wanted":      {libcuda: "-DDEVICES=2", mode: "sim", kind: "sim", says: []string{"DLAUNCH_DRIVER is sim"}},
		"a driver that there is none": {libcuda: absent, mode: "vulkan", kind: "none", says: []string{`DLAUNCH_DRIVER is "vulkan"`, "cuda, sim or auto is wanted"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.libcuda == absent {
				if output, _ := exec.Command("ldconfig", "-p").Output(); strings.Contains(string(output), "libcuda.so.1") {
					t.Skip("this machine has a CUDA driver of its own")
				}
			}
			folder := t.TempDir()
			stub := filepath.Join(folder, "libcuda.so.1")
			switch c.libcuda {
			case absent:
			case brokenFile:
				require.NoError(t, os.WriteFile(stub, []byte("this is no library"), 0o600))
			default:
				source := filepath.Join(p.root, "internal", "driver", "testdata", "libcuda_stub.c")
				made, err := exec.Command("gcc", "-shared", "-fPIC", c.libcuda, source, "-o", stub).CombinedOutput()
				require.NoError(t, err, "%s", made)
			}
			environment := []string{"LD_LIBRARY_PATH=" + folder, "DLAUNCH_DRIVER=" + c.mode}
			if c.chosen != "" {
				environment = append(environment, "CUDA_VISIBLE_DEVICES="+c.chosen)
			}
			run(t, environment, slices.Concat([]string{client, c.kind, strconv.Itoa(c.code)}, c.says)...)
		})
	}
}
