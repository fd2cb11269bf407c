package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// link builds ./capi as a shared library. Without the version script it would
// show some forty symbols of Go's runtime.
func link(root, to string) error {
	script, err := filepath.Abs(filepath.Join(root, "capi", "exports.map"))
	if err != nil {
		return err
	}
	if to, err = filepath.Abs(to); err != nil {
		return err
	}
	external := fmt.Sprintf(`"-Wl,--version-script=%s" -Wl,-soname,%s`, script, soname)
	build := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath",
		"-ldflags", fmt.Sprintf(`-s -w '-extldflags=%s'`, external), "-o", to, "./capi")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=1", "CGO_CFLAGS=-O2")
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build of ./capi: %w", err)
	}
	// cgo's own header says less than ours, and would be taken for it.
	return os.Remove(strings.TrimSuffix(to, filepath.Ext(to)) + ".h")
}
