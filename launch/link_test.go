package launch_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/status"
	"dlaunch/launch"
)

func linkingFile(t testing.TB, name string) []byte {
	t.Helper()
	image, err := os.ReadFile("../testdata/linking/" + name)
	require.NoError(t, err)
	return image
}

func wholeCubin(t testing.TB) []byte {
	t.Helper()
	image, err := os.ReadFile("../testdata/kernels/saxpy_carried.cubin")
	require.NoError(t, err)
	return image
}

func TestLinkTellsTheDriverWhatTheInputsAre(t *testing.T) {
	e, f := newEngine(t)
	f.cubin = linkingFile(t, "caller.cubin")
	var inputs []launch.LinkInput
	for _, name := range []string{"caller.ptx", "callee.cubin", "callee.o", "libcallee.a"} {
		inputs = append(inputs, launch.LinkInput{Data: linkingFile(t, name), Name: name})
	}
	inputs = append(inputs, launch.LinkInput{Data: []byte(saxpyPTX)})
	lib, err := e.Link(inputs, launch.LibraryOptions{Options: []driver.JITOption{{ID: 0, Value: 32}}})
	require.NoError(t, err)
	require.Equal(t, []driver.JITOption{{ID: 0, Value: 32}}, f.options)
	kinds := []driver.LinkKind{driver.LinkPTX, driver.LinkCubin, driver.LinkObject, driver.LinkArchive, driver.LinkPTX}
	for i, kind := range kinds {
		require.Equal(t, kind, f.linked[i].Kind)
		require.Equal(t, inputs[i].Data, f.linked[i].Data)
	}
	require.Equal(t, "input 4", f.linked[4].Name)

	architectures, err := e.Architectures(lib)
	require.NoError(t, err)
	require.Equal(t, "sm_90", architectures) // the linked image's
	name, err := e.GlobalName(lib, 0)
	require.NoError(t, err)
	require.Equal(t, "_ZN6shapes5sidesE", name)
	_, err = e.GlobalName(lib, 1)
	refused(t, err, status.NotFound, "1 variables")
	require.NoError(t, e.Close(lib, handles.Library))
}

// An image that only a linker takes is linked when it is loaded.
func TestLoadLinksWhatItMust(t *testing.T) {
	e, f := newEngine(t)
	for name, kind := range map[string]driver.LinkKind{"callee.o": driver.LinkObject, "libcallee.a": driver.LinkArchive} {
		f.linked, f.cubin = nil, linkingFile(t, "callee.cubin")
		lib, err := e.LoadFile("../testdata/linking/"+name, launch.LibraryOptions{})
		require.NoError(t, err, name)
		require.Len(t, f.linked, 1)
		require.Equal(t, kind, f.linked[0].Kind)
		require.NoError(t, e.Close(lib, handles.Library))
	}
	for _, name := range []string{"whole.o", "whole.fatbin", "callee.cubin", "callee.ptx"} {
		f.linked = nil
		lib, err := e.LoadFile("../testdata/linking/"+name, launch.LibraryOptions{})
		require.NoError(t, err, name)
		require.Nil(t, f.linked, name)
		require.NoError(t, e.Close(lib, handles.Library))
	}
}

func TestLinkRefuses(t *testing.T) {
	e, f := newEngine(t)
	ptx := launch.LinkInput{Data: []byte(saxpyPTX), Name: "saxpy.ptx"}
	_, err := e.Link(nil, launch.LibraryOptions{})
	refused(t, err, status.Argument, "nothing to link")
	for name, content := range map[string][]byte{"whole.o": linkingFile(t, "whole.o"), "saxpy.cubin": wholeCubin(t)} {
		_, err = e.Link([]launch.LinkInput{ptx, {Data: content, Name: name}}, launch.LibraryOptions{})
		refused(t, err, status.Image, name+": it was compiled as a whole program", "-rdc=true")
	}
	_, err = e.Link([]launch.LinkInput{ptx, {Data: cubin()[:100]}}, launch.LibraryOptions{})
	refused(t, err, status.Image, "input 1: the cubin is truncated")
	require.Nil(t, f.linked)

	missing := filepath.Join(t.TempDir(), "none.so")
	_, err = e.Link([]launch.LinkInput{ptx, {Data: linkingFile(t, "caller.ltoir")}}, launch.LibraryOptions{JITLinker: missing})
	refused(t, err, status.Unsupported, missing, "pip install nvidia-nvjitlink")

	f.loads, f.log = driver.ResultInvalidPTX, "error : Undefined reference to 'twice' in 'saxpy.ptx'"
	_, err = e.Link([]launch.LinkInput{ptx}, launch.LibraryOptions{})
	refused(t, err, status.Image, "the images do not link", "218", "the device is sm_90, the code is for compute_75", "Undefined reference to 'twice'")
	require.Empty(t, liveHandles(t, e))
}
