package driver

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/status"
)

func TestChoose(t *testing.T) {
	noDevice := refused(ErrNoDevice, "libcuda.so.1", "cuInit", ResultNoDevice)
	absent := unopened(ErrAbsent, "there is no CUDA driver: tried a, b")
	broken := refused(ErrBroken, "libcuda.so.1", "cuInit", ResultUnknown)
	simFails := errors.New("no memory for the simulator")
	tests := map[string]struct {
		mode       string
		devicesSet bool
		cuda, sim  error
		kind       string // of what is chosen
		reason     string
		cause      error // of the error
		says       string
		code       Result
	}{
		"cuda":                      {mode: "cuda", kind: "cuda", reason: "DLAUNCH_DRIVER is cuda"},
		"cuda, absent":              {mode: "cuda", cuda: absent, cause: ErrAbsent, says: "tried a, b"},
		"cuda, no device":           {mode: "cuda", cuda: noDevice, cause: ErrNoDevice, says: "CUDA_ERROR_NO_DEVICE (100)", code: ResultNoDevice},
		"cuda, broken":              {mode: "cuda", cuda: broken, cause: ErrBroken, says: "CUDA_ERROR_UNKNOWN (999)", code: ResultUnknown},
		"sim":                       {mode: "sim", kind: "sim", reason: "DLAUNCH_DRIVER is sim"},
		"sim, fails":                {mode: "sim", sim: simFails, cause: simFails, says: "no memory"},
		"auto, a GPU":               {mode: "auto", kind: "cuda", reason: "a CUDA driver with a device was found"},
		"unset, a GPU":              {kind: "cuda", reason: "a CUDA driver with a device was found"},
		"unset, devices chosen":     {devicesSet: true, kind: "cuda", reason: "a CUDA driver with a device was found"},
		"auto, absent":              {mode: "auto", cuda: absent, kind: "sim", reason: "there is no CUDA driver: tried a, b"},
		"unset, absent":             {cuda: absent, kind: "sim", reason: "there is no CUDA driver: tried a, b"},
		"absent, devices chosen":    {devicesSet: true, cuda: absent, kind: "sim", reason: "there is no CUDA driver: tried a, b"},
		"absent, simulator fails":   {cuda: absent, sim: simFails, cause: simFails, says: "no memory"},
		"no device":                 {cuda: noDevice, kind: "sim", reason: "libcuda.so.1: cuInit answers CUDA_ERROR_NO_DEVICE (100): no CUDA device was found"},
		"no device, devices chosen": {devicesSet: true, cuda: noDevice, cause: ErrNoDevice, says: "CUDA_VISIBLE_DEVICES is set", code: ResultNoDevice},
		"broken":                    {cuda: broken, cause: ErrBroken, says: "CUDA_ERROR_UNKNOWN (999)", code: ResultUnknown},
		"broken, devices chosen":    {devicesSet: true, cuda: broken, cause: ErrBroken, says: "DLAUNCH_DRIVER=sim", code: ResultUnknown},
		"a bad value":               {mode: "Sim", says: `DLAUNCH_DRIVER is "Sim"; cuda, sim or auto is wanted`},
		"a blank":                   {mode: " ", says: `DLAUNCH_DRIVER is " "`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			opened := map[string]int{}
			open := func(kind string, failure error) func() (*API, error) {
				return func() (*API, error) {
					opened[kind]++
					if failure != nil {
						return nil, failure
					}
					return &API{Kind: kind}, nil
				}
			}
			api, err := Choose(test.mode, test.devicesSet, open("cuda", test.cuda), open("sim", test.sim))
			if test.kind != "" {
				require.NoError(t, err)
				require.Equal(t, test.kind, api.Kind)
				require.Equal(t, test.reason, api.Reason)
				require.Equal(t, 1, opened[test.kind])
				require.Equal(t, test.kind == "sim" && test.mode != "sim", opened["cuda"] == 1 && opened["sim"] == 1)
				return
			}
			require.Nil(t, api)
			require.ErrorContains(t, err, test.says)
			if test.cause != nil {
				require.ErrorIs(t, err, test.cause)
			} else {
				require.Empty(t, opened, "nothing is opened for a bad value")
			}
			if test.cause != simFails {
				var known *status.Error
				require.ErrorAs(t, err, &known)
				require.Equal(t, status.NoDriver, known.Code)
				require.Equal(t, int32(test.code), known.Driver)
				require.Zero(t, opened["sim"], "the simulator does not hide a driver's fault")
			}
		})
	}
}
