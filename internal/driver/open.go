package driver

import (
	"errors"
	"os"
	"runtime"
	"strings"

	"github.com/ebitengine/purego"

	"dlaunch/internal/status"
)

// Why no driver could be opened: errors.Is tells them apart.
var (
	ErrAbsent   = errors.New("there is no libcuda.so.1")
	ErrNoDevice = errors.New("the driver finds no device")
	ErrBroken   = errors.New("the driver is there, but broken or too old")
)

// openError is a status.Error with one of those causes.
type openError struct {
	failure *status.Error
	cause   error
}

func (e *openError) Error() string   { return e.failure.Message }
func (e *openError) Unwrap() []error { return []error{e.failure, e.cause} }

func unopened(cause error, format string, args ...any) error {
	return &openError{status.Errorf(status.NoDriver, format, args...), cause}
}

// refused is a driver function that failed while the driver was being opened.
func refused(cause error, path, function string, r Result) error {
	failure := status.Errorf(status.NoDriver, "%s: %s answers %s: %s", path, function, r, r.Text())
	failure.Driver = int32(r)
	return &openError{failure, cause}
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
	s := newSymbols(library)
	version, err := driverVersion(s, path)
	if err != nil {
		return nil, err
	}
	initialize, api := s.required("cuInit"), fill(s)
	if len(s.absent) > 0 {
		return nil, unopened(ErrBroken, "%s says that it is driver %s, but lacks %s: reinstall the driver", path, VersionText(version), strings.Join(s.absent, ", "))
	}
	api.Kind, api.Path, api.Version, api.Missing = "cuda", fileOf(initialize, path), version, s.missing
	if r := initialize.call(0); r == ResultNoDevice {
		return nil, refused(ErrNoDevice, path, "cuInit", r)
	} else if r != ResultSuccess {
		return nil, refused(ErrBroken, path, "cuInit", r)
	}
	if n, r := api.DeviceCount(); r != ResultSuccess {
		return nil, refused(ErrBroken, path, "cuDeviceGetCount", r)
	} else if n == 0 {
		return nil, unopened(ErrNoDevice, "%s: cuDeviceGetCount counts 0 devices", path)
	}
	return api, nil
}

// driverVersion refuses a driver that is too old before its symbols are looked
// for: which of them it lacks would say less.
func driverVersion(s *symbols, path string) (int, error) {
	ask := s.required("cuDriverGetVersion")
	if ask.address == 0 {
		return 0, unopened(ErrBroken, "%s is no CUDA driver: it has no cuDriverGetVersion", path)
	}
	version, r := out[int32](ask)
	if r != ResultSuccess {
		return 0, refused(ErrBroken, path, "cuDriverGetVersion", r)
	}
	if version < minimumVersion {
		return 0, unopened(ErrBroken, "%s is driver %s; %s or newer is needed", path, VersionText(int(version)), VersionText(minimumVersion))
	}
	return int(version), nil
}

func openFirst(candidates []string) (library uintptr, path string, err error) {
	// The loader keeps its last message per OS thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, path := range candidates {
		library, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err == nil {
			return library, path, nil
		}
		if !absent(path, err.Error()) {
			return 0, "", unopened(ErrBroken, "the driver library is there, but cannot be loaded: %v", err)
		}
	}
	return 0, "", unopened(ErrAbsent, "there is no CUDA driver: tried %s", strings.Join(candidates, ", "))
}

// fileOf gives the file that a function came from: which of several drivers the
// loader's search found. Path is what was asked for.
func fileOf(f function, path string) string {
	dladdr, err := purego.Dlsym(purego.RTLD_DEFAULT, "dladdr")
	if err != nil {
		return path
	}
	type information struct { // Dl_info of dlfcn.h
		file *byte
		_    [3]uintptr // the file's base; the symbol's name and address
	}
	info := pinned[information]()
	defer info.Unpin()
	if found, _, _ := purego.SyscallN(dladdr, f.address, info.address()); int32(found) == 0 {
		return path
	}
	return goString(info.value.file)
}

// absent tells a library that is not there from one that is broken. The loader's
// message is in the user's language, but it begins with the name of the file: of
// one that it found in its search, with the whole path.
func absent(path, message string) bool {
	if strings.Contains(path, "/") {
		_, err := os.Stat(path)
		return errors.Is(err, os.ErrNotExist)
	}
	return strings.HasPrefix(message, path)
}
