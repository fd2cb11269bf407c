//go:build dlaunch_panic

package main

import (
	"dlaunch/internal/driver"
	"dlaunch/launch"
)

// A library for TestPanic alone, whose driver has bugs: each of these functions
// panics when it is called first, and works from then on.
func init() {
	engine = launch.New(func() (launch.Driver, error) {
		d, err := openDriver()
		if err != nil {
			return d, err
		}
		info, load := d.API.MemInfo, d.API.LibraryLoad
		d.API.MemInfo = func() (uint64, uint64, driver.Result) {
			d.API.MemInfo = info
			panic("provoked")
		}
		d.API.LibraryLoad = func([]byte, []driver.JITOption) (driver.Library, driver.Result) {
			d.API.LibraryLoad = load
			var missing *driver.Library
			return *missing, driver.ResultSuccess
		}
		return d, nil
	}, giveBack)
}
