package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A project as small as one can be that has everything build-so looks at.
var small = map[string]string{
	"LICENSE":                        "A licence.\n",
	"LICENSE-third-party":            "Licences of others.\n",
	"go.mod":                         "module small\n\ngo 1.26\n",
	"include/dlaunch.h":              "int dlaunch_add(int a, int b);\n",
	"capi/exports.map":               "DLAUNCH_1 { global: dlaunch_add; local: *; };\n",
	"capi/gate.c":                    "#include \"_cgo_export.h\"\nint dlaunch_add(int a, int b) { return go_add(a, b); }\nint dlaunch_more(void) { return 0; }\n",
	"capi/main.go":                   "package main\n\nimport \"C\"\n\n//export go_add\nfunc go_add(a, b C.int) C.int { return a + b }\n\nfunc main() {}\n",
	"python/pyproject.toml":          "[project]\nname = \"dlaunch\"\nversion = \"1.2.3\"\ndescription = \"A summary.\"\nrequires-python = \">=3.10\"\n",
	"python/src/dlaunch/__init__.py": "X = 1\n",
}

// writeSmall makes the project, with some files other than above.
func writeSmall(t *testing.T, others map[string]string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "a folder") // a space in a path must not matter
	for _, files := range []map[string]string{small, others} {
		for name, text := range files {
			require.NoError(t, writeFile(filepath.Join(root, name), text))
		}
	}
	return root
}

func TestBuild(t *testing.T) {
	root := writeSmall(t, nil)
	out := filepath.Join(root, "build")
	require.NoError(t, run(root, out, true, version{}))

	t.Run("shows only what the header declares", func(t *testing.T) {
		shown, err := exec.Command("nm", "-D", "--defined-only", filepath.Join(out, "libdlaunch.so")).Output()
		require.NoError(t, err)
		require.Regexp(t, `^0+ A DLAUNCH_1\n\S+ T dlaunch_add@@DLAUNCH_1\n$`, string(shown))
	})
	t.Run("leaves nothing else", func(t *testing.T) {
		entries, err := os.ReadDir(out)
		require.NoError(t, err)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		require.Len(t, names, 5, names)
		require.Subset(t, names, []string{"include", "lib", "libdlaunch.so", "libdlaunch.so.1"})
	})
	t.Run("builds again over itself", func(t *testing.T) {
		require.NoError(t, run(root, out, false, version{2, 99}))
	})
	t.Run("serves a C program that links it", func(t *testing.T) {
		source := filepath.Join(root, "use.c")
		require.NoError(t, writeFile(source, "#include <dlaunch.h>\nint main(void) { return dlaunch_add(40, 2); }\n"))
		prefix := []string{"-I" + filepath.Join(out, "include"), "-L" + filepath.Join(out, "lib"), "-ldlaunch"}
		program := filepath.Join(root, "use")
		made, err := exec.Command("gcc", append([]string{source, "-o", program}, prefix...)...).CombinedOutput()
		require.NoError(t, err, string(made))
		use := exec.Command(program)
		use.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(out, "lib"))
		require.Error(t, use.Run())
		require.Equal(t, 42, use.ProcessState.ExitCode())
	})
	t.Run("makes a wheel", func(t *testing.T) { checkWheel(t, out) })
}

func checkWheel(t *testing.T, out string) {
	wheels, err := filepath.Glob(filepath.Join(out, "dlaunch-1.2.3-py3-none-manylinux_2_*.whl"))
	require.NoError(t, err)
	require.Len(t, wheels, 1)
	archive, err := zip.OpenReader(wheels[0])
	require.NoError(t, err)
	defer archive.Close()
	contents := map[string][]byte{}
	for _, f := range archive.File {
		entry, err := f.Open()
		require.NoError(t, err)
		contents[f.Name], err = io.ReadAll(entry)
		require.NoError(t, err)
	}
	require.Equal(t, "X = 1\n", string(contents["dlaunch/__init__.py"]))
	require.Contains(t, string(contents["dlaunch-1.2.3.dist-info/METADATA"]), "Requires-Python: >=3.10\n")
	library, err := os.ReadFile(filepath.Join(out, soname))
	require.NoError(t, err)
	require.Equal(t, library, contents["dlaunch/"+soname])
	for name, content := range contents {
		sum := sha256.Sum256(content)
		line := fmt.Sprintf("%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(content))
		if strings.HasSuffix(name, "/RECORD") {
			line = name + ",,\n"
		}
		require.Contains(t, string(contents["dlaunch-1.2.3.dist-info/RECORD"]), line)
	}
}

func TestBuildRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		others map[string]string
		says   string
		oldest version
	}{
		"a function that is declared only": {
			others: map[string]string{"include/dlaunch.h": "int dlaunch_add(int a, int b);\nvoid dlaunch_gone(void);\n"},
			says:   "dlaunch_gone: in include/dlaunch.h, not in capi/exports.map and libdlaunch.so.1",
		},
		"a function that is exported only": {
			others: map[string]string{"capi/exports.map": "DLAUNCH_1 { global: dlaunch_add; dlaunch_more; local: *; };\n"},
			says:   "dlaunch_more: in capi/exports.map and libdlaunch.so.1, not in include/dlaunch.h",
		},
		"a pattern": {
			others: map[string]string{"capi/exports.map": "DLAUNCH_1 { global: dlaunch_*; local: *; };\n"},
			says:   "has the pattern dlaunch_*",
		},
		"another version": {
			others: map[string]string{"capi/exports.map": "DLAUNCH_2 { global: dlaunch_add; local: *; };\n"},
			says:   "dlaunch_add@DLAUNCH_2: in libdlaunch.so.1, not in",
		},
		"a glibc that is too old": {says: "must run on 2.1: build on a system that has 2.1", oldest: version{2, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			root := writeSmall(t, c.others)
			out := filepath.Join(root, "build")
			require.ErrorContains(t, run(root, out, false, c.oldest), c.says)
			require.NoFileExists(t, filepath.Join(out, soname))
		})
	}
}
