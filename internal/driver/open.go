package driver

import (
	"errors"
	"os"
	"strings"

	"github.com/ebitengine/purego"

	"dlaunch/internal/status"
)

// Why a driver could not be opened: errors.Is tells them apart.
var (
	ErrAbsent   = errors.New("there is no libcuda.so.1")
	ErrNoDevice = errors.New("the driver finds no device")
)

// openError is a status.Error and its cause.
type openError struct {
	said  *status.Error
	cause error
}

func (e *openError) Error() string   { return e.said.Message }
func (e *openError) Unwrap() []error { return []error{e.said, e.cause} }

func unopened(cause error, format string, args ...any) error {
	said := status.Errorf(status.NoDriver, format, args...)
	if cause == nil {
		return said
	}
	return &openError{said, cause}
}

// minimumVersion is the oldest driver that has cuLibrary* and cuKernel*.
const minimumVersion = 12000

// DefaultPaths are the places to look for the driver, in order: the loader's own
// search, then WSL 2, Jetson and NixOS.
func DefaultPaths() []string {
	return []string{
		"libcuda.so.1",
		"/usr/lib/wsl/lib/libcuda.so.1",
		"/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1",
		"/run/opengl-driver/lib/libcuda.so.1",
	}
}

// OpenCUDA opens the first of the candidates that is there, and initializes it.
// The library is never closed: the driver has threads and exit handlers of its own.
func OpenCUDA(candidates []string) (*API, error) {
	library, path, err := openFirst(candidates)
	if err != nil {
		return nil, err
	}
	s := &symbols{library: library}
	api := fill(s)
	api.Kind, api.Path = "cuda", path
	if len(s.absent) > 0 {
		return nil, unopened(nil, "%s lacks %s: it is too old, or no driver; CUDA 12.0 or newer is needed", path, strings.Join(s.absent, ", "))
	}
	api.Missing = s.missing
	version, r := driverVersion(s)
	if r == ResultSuccess && version < minimumVersion {
		return nil, unopened(nil, "%s is driver %d.%d; 12.0 or newer is needed", path, version/1000, version%1000/10)
	}
	api.Version = version
	if r := s.required("cuInit").call(0); r != ResultSuccess {
		said := status.Errorf(status.NoDriver, "cuInit of %s: %s (%d): %s", path, r.Name(), int32(r), r.Text())
		said.Driver = int32(r)
		if r == ResultNoDevice {
			return nil, &openError{said, ErrNoDevice}
		}
		return nil, said
	}
	return api, nil
}

func openFirst(candidates []string) (library uintptr, path string, err error) {
	var tried []string
	for _, path := range candidates {
		library, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err == nil {
			return library, path, nil
		}
		if !absent(path, err) {
			return 0, "", unopened(nil, "the driver library %s is there, but cannot be loaded: %v", path, err)
		}
		tried = append(tried, path)
	}
	return 0, "", unopened(ErrAbsent, "no CUDA driver: tried %s", strings.Join(tried, ", "))
}

// absent tells a library that is not there from one that is broken. The loader
// has one message for both only where a path is given.
func absent(path string, failure error) bool {
	if strings.Contains(path, "/") {
		_, err := os.Stat(path)
		return err != nil
	}
	return strings.Contains(failure.Error(), path+": cannot open shared object file")
}

// Choose opens the driver that mode asks for: "cuda", "sim", or "auto" (or ""),
// which takes the simulator only where there is no libcuda.so.1, or where it
// finds no device and the user has not chosen devices.
func Choose(mode string, devicesChosen bool, openCUDA, openSim func() (*API, error)) (*API, error) {
	open := func(f func() (*API, error), reason string) (*API, error) {
		api, err := f()
		if err == nil {
			api.Reason = reason
		}
		return api, err
	}
	switch mode {
	case "cuda":
		return open(openCUDA, "DLAUNCH_DRIVER=cuda")
	case "sim":
		return open(openSim, "DLAUNCH_DRIVER=sim")
	case "", "auto":
	default:
		return nil, status.Errorf(status.NoDriver, "DLAUNCH_DRIVER is %q; auto, cuda or sim is wanted", mode)
	}
	api, err := open(openCUDA, "a CUDA driver and a device were found")
	switch {
	case err == nil:
		return api, nil
	case errors.Is(err, ErrAbsent):
		return open(openSim, "auto: "+err.Error())
	case errors.Is(err, ErrNoDevice) && !devicesChosen:
		return open(openSim, "auto: "+err.Error())
	case errors.Is(err, ErrNoDevice):
		return nil, unopened(err, "%v; CUDA_VISIBLE_DEVICES is set, so the simulator does not stand in (DLAUNCH_DRIVER=sim takes it)", err)
	}
	return nil, err
}

// ptxDrivers says which driver first loads a PTX version.
var ptxDrivers = map[[2]int]int{
	{7, 0}: 11000, {7, 1}: 11010, {7, 2}: 11020, {7, 3}: 11030, {7, 4}: 11040, {7, 5}: 11050, {7, 6}: 11060, {7, 7}: 11070, {7, 8}: 11080,
	{8, 0}: 12000, {8, 1}: 12010, {8, 2}: 12020, {8, 3}: 12030, {8, 4}: 12040, {8, 5}: 12050, {8, 6}: 12070, {8, 7}: 12080, {8, 8}: 12090,
	{9, 0}: 13000, {9, 1}: 13010,
}

// MinimumDriver gives the version of the first driver that loads PTX of a
// version, as far as it is known.
func MinimumDriver(major, minor int) (version int, known bool) {
	if major < 7 {
		return minimumVersion, true
	}
	version, known = ptxDrivers[[2]int{major, minor}]
	return version, known
}

func driverVersion(s *symbols) (int, Result) {
	version, r := out[int32](s.required("cuDriverGetVersion"))
	return int(version), r
}
