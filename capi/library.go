// Package main is the C surface of dlaunch: gate.c has the public names, const
// and the attention check; exports.go one thin body for each; guard.go turns
// errors and panics into statuses. It opens the driver and hands it to launch.
package main

import (
	"dlaunch/dlpack"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/sim"
	"dlaunch/internal/status"
	"dlaunch/launch"
)

// engine is the library: the one object that outlives a call.
var engine = newEngine()

// openDriver chooses as DLAUNCH_DRIVER says.
func openDriver() (launch.Driver, error) {
	late, _ := environment("DLAUNCH_CAPTURE_LOAD")
	noLateLoads, err := refusesLateLoads(late)
	if err != nil {
		return launch.Driver{}, err
	}
	var simulator *sim.Simulator
	_, devicesChosen := environment("CUDA_VISIBLE_DEVICES")
	mode, _ := environment("DLAUNCH_DRIVER")
	api, err := driver.Choose(mode, devicesChosen,
		func() (*driver.API, error) { return driver.OpenCUDA(driver.DefaultPaths()) },
		func() (*driver.API, error) {
			var err error
			if simulator, err = openSimulator(); err != nil {
				return nil, err
			}
			return simulator.API(), nil
		})
	if err != nil {
		return launch.Driver{}, err
	}
	opened := launch.Driver{API: api, DeviceType: int32(dlpack.CUDA)}
	if simulator != nil {
		opened = simulatedDriver(api, simulator)
	}
	checks, _ := environment("DLAUNCH_CHECK")
	opened.Checks, err = chosenChecks(checks)
	opened.NoLateLoads = noLateLoads
	return opened, err
}

// chosenChecks reads DLAUNCH_CHECK: what every launch checks beyond the usual.
func chosenChecks(text string) (uint32, error) {
	switch text {
	case "":
		return 0, nil
	case "pointers":
		return exec.CheckPointers, nil
	}
	return 0, status.Errorf(status.NoDriver, "DLAUNCH_CHECK is %q; pointers, or nothing, is wanted", text)
}

// refusesLateLoads reads DLAUNCH_CAPTURE_LOAD.
func refusesLateLoads(given string) (bool, error) {
	switch given {
	case "", "allow":
		return false, nil
	case "error":
		return true, nil
	}
	return false, status.Errorf(status.NoDriver, "DLAUNCH_CAPTURE_LOAD is %q; allow or error is wanted", given)
}

func main() {}
