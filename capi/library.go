// Package main is the C surface of dlaunch: gate.c has the public names, const
// and the attention check; exports.go one thin body for each; guard.go turns
// errors and panics into statuses. It opens the driver and hands it to launch.
package main

import (
	"dlaunch/dlpack"
	"dlaunch/internal/driver"
	"dlaunch/internal/sim"
	"dlaunch/launch"
)

// engine is the library: the one object that outlives a call.
var engine = newEngine()

// openDriver chooses as DLAUNCH_DRIVER says.
func openDriver() (launch.Driver, error) {
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
	if simulator == nil {
		return launch.Driver{API: api, DeviceType: int32(dlpack.CUDA)}, nil
	}
	return simulatedDriver(api, simulator), nil
}

func main() {}
