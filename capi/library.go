// Package main is the C surface of dlaunch: gate.c has the public names, const
// and the attention check; exports.go one thin body for each; guard.go turns
// errors and panics into statuses. It opens the driver and hands it to launch.
package main

import (
	"os"

	"dlaunch/dlpack"
	"dlaunch/internal/driver"
	"dlaunch/internal/sim"
	"dlaunch/internal/status"
	"dlaunch/launch"
)

// engine is the library: the one object that outlives a call.
var engine = launch.New(openDriver, giveBack)

// openDriver chooses as DLAUNCH_DRIVER says.
func openDriver() (launch.Driver, error) {
	noLateLoads, err := refusesLateLoads(os.Getenv("DLAUNCH_CAPTURE_LOAD"))
	if err != nil {
		return launch.Driver{}, err
	}
	var simulator *sim.Simulator
	_, devicesChosen := os.LookupEnv("CUDA_VISIBLE_DEVICES")
	api, err := driver.Choose(os.Getenv("DLAUNCH_DRIVER"), devicesChosen,
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
	d := launch.Driver{API: api, DeviceType: int32(dlpack.CUDA)}
	if simulator != nil {
		d = simulatedDriver(api, simulator)
	}
	d.NoLateLoads = noLateLoads
	return d, nil
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
