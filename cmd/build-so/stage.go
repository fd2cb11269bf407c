package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Both files find the rest from where they lie, so that the folder may be moved.
const pkgConfig = `prefix=${pcfiledir}/../..
includedir=${prefix}/include
libdir=${prefix}/lib

Name: dlaunch
Description: Launch GPU kernels on DLPack tensors
Version: @VERSION@
Cflags: -I${includedir}
Libs: -L${libdir} -ldlaunch
`

const cmakeConfig = `get_filename_component(DLAUNCH_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET dlaunch::dlaunch)
  add_library(dlaunch::dlaunch SHARED IMPORTED)
  set_target_properties(dlaunch::dlaunch PROPERTIES
    IMPORTED_LOCATION "${DLAUNCH_PREFIX}/lib/` + soname + `"
    IMPORTED_SONAME "` + soname + `"
    INTERFACE_INCLUDE_DIRECTORIES "${DLAUNCH_PREFIX}/include")
endif()
`

const cmakeVersion = `set(PACKAGE_VERSION "@VERSION@")
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
`

// stage lays out a prefix: the library and its links at the top (where the
// Python package and tests look), include/ and lib/ for C.
func stage(root, out, library string, p project) error {
	if err := os.Rename(library, filepath.Join(out, soname)); err != nil {
		return err
	}
	if err := os.Chmod(filepath.Join(out, soname), 0o755); err != nil {
		return err
	}
	for _, folder := range []string{"include", "lib"} {
		if err := os.RemoveAll(filepath.Join(out, folder)); err != nil {
			return err
		}
	}
	files := map[string]string{
		"lib/pkgconfig/dlaunch.pc":                     pkgConfig,
		"lib/cmake/dlaunch/dlaunchConfig.cmake":        cmakeConfig,
		"lib/cmake/dlaunch/dlaunchConfigVersion.cmake": cmakeVersion,
	}
	headers, err := filepath.Glob(filepath.Join(root, "include", "dlaunch*"))
	if err != nil {
		return err
	}
	for _, header := range headers {
		text, err := os.ReadFile(header)
		if err != nil {
			return err
		}
		files[filepath.Join("include", filepath.Base(header))] = string(text)
	}
	for name, text := range files {
		if err := writeFile(filepath.Join(out, name), strings.ReplaceAll(text, "@VERSION@", p.version)); err != nil {
			return err
		}
	}
	for name, to := range map[string]string{
		"libdlaunch.so": soname, "lib/libdlaunch.so": soname, "lib/" + soname: "../" + soname,
	} {
		if err := replaceLink(to, filepath.Join(out, name)); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func replaceLink(to, path string) error {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("the old link: %w", err)
	}
	return os.Symlink(to, path)
}
