package dlaunch_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mayImport is which of the project's packages each may import: nothing imports
// upwards. A package that is not here may not exist.
var mayImport = map[string][]string{
	"capi":                   {"launch", "handles", "dlpack", "internal/exec", "internal/driver", "internal/sim", "internal/status"},
	"cmd/build-so":           {},
	"dlpack":                 {"internal/status"},
	"handles":                {"internal/status"},
	"internal/driver":        {"internal/status"},
	"internal/exec":          {"internal/status"},
	"internal/exec/exectest": {},
	"internal/ptx":           {"internal/spelling", "internal/status"},
	"internal/sim":           {"internal/driver", "internal/ptx", "internal/status"},
	"internal/spelling":      {},
	"internal/status":        {},
	"internal/unpack":        {},
	"launch":                 {"launch/prototype", "handles", "dlpack", "internal/exec", "internal/driver", "internal/ptx", "internal/spelling", "internal/status", "internal/unpack"},
	"launch/prototype":       {"dlpack", "internal/spelling", "internal/status"},
}

// mayUseC are the packages with C in them: the library's surface, the executor,
// and the executor's tests, whose own files may not. Everything else is tested,
// raced and fuzzed as plain Go.
var mayUseC = []string{"capi", "internal/exec", "internal/exec/exectest"}

type goPackage struct {
	ImportPath string
	Imports    []string
	CgoFiles   []string
	GoFiles    []string
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	list := exec.Command("go", "list", "-json=ImportPath,Imports,CgoFiles,GoFiles", "./...")
	list.Env = append(os.Environ(), "CGO_ENABLED=1")
	output, err := list.StdoutPipe()
	require.NoError(t, err)
	list.Stderr = os.Stderr
	require.NoError(t, list.Start())
	var packages []goPackage
	for decoder := json.NewDecoder(output); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		if len(p.GoFiles)+len(p.CgoFiles) > 0 { // else it is tests only
			packages = append(packages, p)
		}
	}
	require.NoError(t, list.Wait())
	return packages
}

func TestImports(t *testing.T) {
	packages := listPackages(t)
	require.Len(t, packages, len(mayImport), "packages that are here, and that mayImport has")
	for _, p := range packages {
		name := strings.TrimPrefix(p.ImportPath, "dlaunch/")
		t.Run(name, func(t *testing.T) {
			allowed, known := mayImport[name]
			require.True(t, known, "%s has no rule", name)
			for _, imported := range p.Imports {
				if own, isOwn := strings.CutPrefix(imported, "dlaunch/"); isOwn {
					require.Contains(t, allowed, own)
				}
			}
			require.Equal(t, slices.Contains(mayUseC, name), len(p.CgoFiles) > 0, `import "C": %v`, p.CgoFiles)
		})
	}
}

// The packages with C must see the public header under their own folder, or Go's
// build cache would not notice that it changed.
func TestHeaderLinks(t *testing.T) {
	header, err := filepath.Abs("include/dlaunch.h")
	require.NoError(t, err)
	for _, folder := range []string{"capi", "internal/exec"} {
		link := filepath.Join(folder, "dlaunch.h")
		info, err := os.Lstat(link)
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&os.ModeSymlink, "%s is a copy, a link is wanted", link)
		target, err := filepath.EvalSymlinks(link)
		require.NoError(t, err)
		target, err = filepath.Abs(target)
		require.NoError(t, err)
		require.Equal(t, header, target)
	}
}

// The header is the specification: more than half of its lines say something.
func TestHeaderIsMostlyProse(t *testing.T) {
	text, err := os.ReadFile("include/dlaunch.h")
	require.NoError(t, err)
	lines, commented, inside := 0, 0, false
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		lines++
		if inside || strings.Contains(line, "/*") {
			commented++
			inside = !strings.Contains(line, "*/")
		}
	}
	require.Greater(t, 2*commented, lines, "%d of %d lines have a comment", commented, lines)
}

// Prose never holds its own copy of code: what README shows is in examples/.
func TestReadmeShowsTheExamples(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?ms)^<!-- (examples/\\S+) -->\n```\\w+\n(.*?)^```$").FindAllStringSubmatch(string(readme), -1)
	require.Len(t, blocks, 2)
	for _, block := range blocks {
		example, err := os.ReadFile(block[1])
		require.NoError(t, err)
		require.Contains(t, string(example), block[2], block[1])
	}
}

// Links in the documents lead to files that are there.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)]*)?\)`)
	documents, err := filepath.Glob("*.md")
	require.NoError(t, err)
	more, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	for _, document := range append(documents, more...) {
		text, err := os.ReadFile(document)
		require.NoError(t, err)
		for _, match := range link.FindAllStringSubmatch(string(text), -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(document), match[1]))
			require.NoError(t, err, "%s links to %s", document, match[1])
		}
	}
}

// The page of environment variables has each that the code reads, and no other.
func TestEnvironmentVariables(t *testing.T) {
	read := regexp.MustCompile(`(?:environment|copy_of|_is_on|environ\.get)\("(DLAUNCH_\w+)"`)
	found := map[string]bool{}
	for _, pattern := range []string{"capi/*.go", "capi/*.c", "python/src/dlaunch/*.py"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, match := range read.FindAllSubmatch(text, -1) {
				found[string(match[1])] = true
			}
		}
	}
	page, err := os.ReadFile("docs/environment.md")
	require.NoError(t, err)
	listed := map[string]bool{}
	for _, match := range regexp.MustCompile("(?m)^\\| `(DLAUNCH_\\w+)`").FindAllSubmatch(page, -1) {
		listed[string(match[1])] = true
	}
	require.Equal(t, found, listed)
}

// The release is named in C and in the Python package, the first page in C and in Go: they agree.
func TestWhatIsSaidTwice(t *testing.T) {
	find := func(file, pattern string) string {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		found := regexp.MustCompile(pattern).FindSubmatch(text)
		require.NotNil(t, found, "%s has no %s", file, pattern)
		return string(found[1])
	}
	require.Equal(t, find("python/pyproject.toml", `(?m)^version = "(.+)"`), find("capi/gate.c", `#define VERSION "(.+)"`))
	require.Equal(t, find("dlpack/view.go", `(?m)^const firstPage = (\d+)`), find("internal/exec/exec.h", `DL_FIRST_PAGE = (\d+)`))
}
