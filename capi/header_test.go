package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/dlpack"
	"dlaunch/internal/exec"
)

// The releases of dlpack.h that the header must agree with, by stand-ins of their
// shapes in testdata/dlpack, and whether each knows DLManagedTensorVersioned.
var releases = map[string]bool{"0.8": false, "1.1": true, "1.3": true}

func TestHeaderOrders(t *testing.T) {
	p := projectPaths(t)
	type order struct {
		name  string
		flags []string
	}
	orders := []order{
		{"alone", []string{"-DHAS_VERSIONED"}},
	}
	for release, versioned := range releases {
		stand := "-Itestdata/dlpack/" + release
		has := "-UHAS_VERSIONED"
		if versioned {
			has = "-DHAS_VERSIONED"
		}
		orders = append(orders,
			order{"beside dlpack " + release, []string{has, stand}},
			order{"after dlpack " + release, []string{has, stand, "-DDLPACK_FIRST"}},
			order{"before dlpack " + release, []string{has, stand, "-DDLPACK_LAST"}},
			order{"naming dlpack " + release, []string{has, fmt.Sprintf(`-DDLAUNCH_DLPACK_H="testdata/dlpack/%s/dlpack/dlpack.h"`, release), "-I."}})
	}
	for _, c := range compilers {
		for _, o := range orders {
			t.Run(c.name+"/"+o.name, func(t *testing.T) {
				t.Parallel()
				folder := t.TempDir()
				common := append([]string{"-I" + p.include, "testdata/header.c"}, o.flags...)
				first, second := filepath.Join(folder, "first.o"), filepath.Join(folder, "second.o")
				c.compile(t, first, append(common, "-c", "-DUNIT=unit", "-DWITH_MAIN")...)
				c.compile(t, second, append(common, "-c", "-DUNIT=other")...)
				both := filepath.Join(folder, "both")
				compiler{c.name, []string{"g++"}}.compile(t, both, first, second)
				run(t, nil, both)
			})
		}
	}
}

// mirrors are Go's structs that stand for public ones, by the C names.
var mirrors = map[string]reflect.Type{
	"DLDevice":                 reflect.TypeFor[dlpack.Device](),
	"DLDataType":               reflect.TypeFor[dlpack.DataType](),
	"DLTensor":                 reflect.TypeFor[dlpack.Tensor](),
	"DLManagedTensor":          reflect.TypeFor[dlpack.ManagedTensor](),
	"DLPackVersion":            reflect.TypeFor[dlpack.Version](),
	"DLManagedTensorVersioned": reflect.TypeFor[dlpack.ManagedTensorVersioned](),
	"dlaunch_arg":              reflect.TypeFor[exec.Arg](),
	"dlaunch_config":           reflect.TypeFor[exec.Config](),
}

// One list of all layouts, testdata/layout.txt, is what C prints, and what Go
// and Python (python/tests) are held against: it must never change, but grow.
func TestLayout(t *testing.T) {
	p := projectPaths(t)
	list, err := os.ReadFile(filepath.Join(p.root, "testdata", "layout.txt"))
	require.NoError(t, err)
	for _, c := range compilers {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, string(list), run(t, nil, program(t, p, c, "layout")))
		})
	}
	for name, mirror := range mirrors {
		t.Run("Go/"+name, func(t *testing.T) {
			require.Equal(t, fieldsInList(string(list), name), fieldsInGo(mirror))
			require.Contains(t, string(list), fmt.Sprintf("%s %d\n", name, mirror.Size()))
		})
	}
}

// field is where a field lies; Go has other names for them.
type field struct{ offset, size uintptr }

func fieldsInList(list, structure string) []field {
	var fields []field
	for line := range strings.Lines(list) {
		var name string
		var f field
		if n, _ := fmt.Sscanf(line, structure+".%s %d %d", &name, &f.offset, &f.size); n == 3 && name != "reserved" {
			fields = append(fields, f)
		}
	}
	return fields
}

func fieldsInGo(structure reflect.Type) []field {
	var fields []field
	for i := range structure.NumField() {
		if f := structure.Field(i); f.Name != "_" {
			fields = append(fields, field{f.Offset, f.Type.Size()})
		}
	}
	return fields
}
