package sim

import "dlaunch/internal/driver"

// There are no graphs here, nor anything to capture: the executor never asks.

func (s *Simulator) streamCaptureGraph(stream driver.Stream) (driver.Graph, driver.Result) {
	return 0, s.streamSynchronize(stream)
}

func (s *Simulator) userObjectCreate(_, _ uintptr) (driver.UserObject, driver.Result) {
	return 0, driver.ResultNotSupported
}

func (s *Simulator) userObjectRelease(driver.UserObject) driver.Result {
	return driver.ResultNotSupported
}

func (s *Simulator) graphRetainUserObject(driver.Graph, driver.UserObject) driver.Result {
	return driver.ResultNotSupported
}
