package driver

import (
	"errors"

	"dlaunch/internal/status"
)

// Choose opens the driver that mode (DLAUNCH_DRIVER) asks for: "cuda", "sim", or
// "auto" (or ""), which takes the simulator only where there is no libcuda.so.1, or
// where it finds no device and the user has not chosen devices. A driver that is
// there but broken is an error: results from the simulator would hide it.
func Choose(mode string, cudaVisibleDevicesSet bool, openCUDA, openSim func() (*API, error)) (*API, error) {
	switch mode {
	case "cuda":
		return because("DLAUNCH_DRIVER is cuda", openCUDA)
	case "sim":
		return because("DLAUNCH_DRIVER is sim", openSim)
	case "", "auto":
	default:
		return nil, status.Errorf(status.NoDriver, "DLAUNCH_DRIVER is %q; cuda, sim or auto is wanted", mode)
	}
	api, err := because("a CUDA driver with a device was found", openCUDA)
	switch {
	case errors.Is(err, ErrNoDevice) && cudaVisibleDevicesSet:
		return nil, instead(err, "CUDA_VISIBLE_DEVICES is set, so the simulator does not stand in; unset it, or set DLAUNCH_DRIVER=sim")
	case errors.Is(err, ErrNoDevice), errors.Is(err, ErrAbsent):
		return because(err.Error(), openSim)
	case errors.Is(err, ErrBroken):
		return nil, instead(err, "DLAUNCH_DRIVER=sim takes the simulator")
	}
	return api, err
}

func because(reason string, open func() (*API, error)) (*API, error) {
	api, err := open()
	if err != nil {
		return nil, err
	}
	api.Reason = reason
	return api, nil
}

// instead adds what the user can do; code and cause stay.
func instead(err error, advice string) error {
	advised := status.Errorf(status.NoDriver, "%v; %s", err, advice)
	var known *status.Error
	if errors.As(err, &known) {
		advised.Driver = known.Driver
	}
	return &openError{advised, err}
}
