// Package main is the C surface of dlaunch: gate.c has the public names, const
// and the attention check; export_*.go, a file for each chapter of dlaunch.h, have one
// thin body for each, C types in, one call, a status out; guard.go turns errors and
// panics into statuses. It opens the driver and hands it to launch.
package main

/*
#include "exit.h"
*/
import "C"

import (
	"dlaunch/dlpack"
	"dlaunch/internal/driver"
	"dlaunch/internal/sim"
	"dlaunch/launch"
)

// engine is the library: the one object that outlives a call.
var engine = newEngine()

// newEngine also begins what DLAUNCH_LOG and DLAUNCH_LEAK ask for. It comes when the
// library is loaded, where no call could answer for a value that is none.
func newEngine() *launch.Engine {
	e := launch.New(openDriver, giveBack)
	if err := e.Log(C.GoString(C.dl_log_setting())); err != nil {
		launch.Complain(err.Error())
	}
	mode, err := launch.ParseLeakMode(C.GoString(C.dl_leak_setting()))
	if err != nil {
		launch.Complain(err.Error())
	}
	if mode != launch.LeaksIgnored {
		C.dl_look_for_leaks_at_exit(mode == launch.LeaksFail)
	}
	return e
}

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

func main() {}
