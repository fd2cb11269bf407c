package sim

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/driver"
)

func linkText(name, body string) driver.LinkInput {
	return driver.LinkInput{Kind: driver.LinkPTX, Data: []byte(".version 8.0\n.target sm_75\n.address_size 64\n" + body), Name: name}
}

func TestLinkLogsWhoseErrorItIs(t *testing.T) {
	s, err := New(Options{})
	require.NoError(t, err)
	defer s.Close()
	kernel := linkText("a.ptx", ".visible .entry k() { ret; }")
	for name, c := range map[string]struct {
		inputs []driver.LinkInput
		result driver.Result
		log    string
	}{
		"no PTX":      {[]driver.LinkInput{kernel, {Kind: driver.LinkCubin, Data: []byte("\x7fELF"), Name: "b.cubin"}}, driver.ResultNoBinaryForGPU, "b.cubin: the simulator runs PTX text only"},
		"bad PTX":     {[]driver.LinkInput{kernel, linkText("b.ptx", ".visible .entry z() { ret")}, driver.ResultInvalidPTX, "b.ptx: PTX line 4: "},
		"twice":       {[]driver.LinkInput{kernel, kernel}, driver.ResultInvalidPTX, "k is defined twice: in a.ptx, and as a function in a.ptx"},
		"unresolved":  {[]driver.LinkInput{kernel, linkText("b.ptx", ".extern .func f();\n.visible .entry z() {\ncall f, ();\nret; }")}, driver.ResultInvalidPTX, "PTX line 6 of b.ptx (call): the function f is declared, and defined nowhere"},
		"unsupported": {[]driver.LinkInput{kernel, linkText("b.ptx", ".visible .entry z() {\ntex.1d.v4.u32.s32 {a,b,c,d}, [t, {e}];\nret; }")}, driver.ResultInvalidPTX, "b.ptx: PTX line 5"},
	} {
		t.Run(name, func(t *testing.T) {
			log, options := jitLog(t)
			_, cubin, result := s.API().LibraryLink(c.inputs, options)
			require.Equal(t, c.result, result)
			require.Nil(t, cubin)
			require.Contains(t, log(), c.log)
		})
	}
}

// FuzzLink links a text with what it is given.
func FuzzLink(f *testing.F) {
	caller, err := os.ReadFile("../../testdata/linking/caller.ptx")
	require.NoError(f, err)
	callee, err := os.ReadFile("../../testdata/linking/callee.ptx")
	require.NoError(f, err)
	for _, text := range [][]byte{caller, callee, []byte(".version 8.0\n.target sm_75\n.weak .func f() { ret; } .extern .global .b8 calls[];")} {
		f.Add(text)
	}
	s, err := New(Options{})
	require.NoError(f, err)
	api := s.API()
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, other := range [][]byte{caller, callee} {
			library, _, result := api.LibraryLink([]driver.LinkInput{{Data: other, Name: "a"}, {Data: text, Name: "b"}}, nil)
			if result == driver.ResultSuccess {
				require.Zero(t, api.LibraryUnload(library))
			}
		}
	})
}
