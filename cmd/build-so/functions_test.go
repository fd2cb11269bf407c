package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDeclared(t *testing.T) {
	header := `/* dlaunch_in_comment(); */
#define DLAUNCH_INIT \
  dlaunch_in_macro(1)
#define dlaunch_macro(x) x
typedef struct dlaunch_config { int x; } dlaunch_config;
dlaunch_status dlaunch_launch(dlaunch_kernel kernel, const dlaunch_config *config,
                              dlaunch_error *err); // dlaunch_in_line_comment()
const char *dlaunch_version(void);`
	require.Equal(t, []string{"dlaunch_launch", "dlaunch_version"}, declared(header))
}

func TestSameFunctions(t *testing.T) {
	agree := map[string][]string{"header": {"b", "a"}, "map": {"a", "b"}, "library": {"a", "b"}}
	require.NoError(t, sameFunctions(agree))

	differ := map[string][]string{"header": {"a", "c"}, "map": {"a", "b"}, "library": {"a", "b"}}
	require.EqualError(t, sameFunctions(differ), "header, exports and library disagree:\n"+
		"  b: in library and map, not in header\n"+
		"  c: in header, not in library and map")
}

func TestVersions(t *testing.T) {
	require.True(t, version{2, 34}.newer(version{2, 9}))
	require.True(t, version{3, 0}.newer(version{2, 99}))
	require.False(t, version{2, 34}.newer(version{2, 34}))

	for text, wanted := range map[string]version{"2.34": {2, 34}, "2.2.5": {2, 2}, "3.0": {3, 0}} {
		parsed, err := parseVersion(text)
		require.NoError(t, err)
		require.Equal(t, wanted, parsed)
	}
	for _, text := range []string{"", "2", "2.", ".34", "2.x", "PRIVATE", "-2.34", "0.1", "2.-1"} {
		_, err := parseVersion(text)
		require.ErrorContains(t, err, "is no released glibc", text)
	}
}

func TestCheck(t *testing.T) {
	good := library{soname: soname, needed: []string{"libc.so.6"}, glibc: version{2, 34}, size: maxSize}
	for _, oldest := range []version{{}, {2, 34}, {2, 35}} {
		require.NoError(t, good.check(oldest))
	}
	require.EqualError(t, good.check(version{2, 28}), "needs glibc 2.34, must run on 2.28: build on a system that has 2.28")
	for name, c := range map[string]struct {
		spoil func(*library)
		says  string
	}{
		"soname":  {func(l *library) { l.soname = "libdlaunch.so" }, `soname is "libdlaunch.so"`},
		"needed":  {func(l *library) { l.needed = append(l.needed, "libcuda.so.1") }, "needs libcuda.so.1"},
		"size":    {func(l *library) { l.size++ }, "5242881 bytes"},
		"no libc": {func(l *library) { l.glibc = version{} }, "no glibc version"},
	} {
		t.Run(name, func(t *testing.T) {
			bad := good
			c.spoil(&bad)
			require.ErrorContains(t, bad.check(version{}), c.says)
		})
	}
}
