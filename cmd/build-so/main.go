// Command build-so builds libdlaunch.so.1 and everything that is handed out with
// it: headers, pkg-config and CMake files, and, when asked, a Python wheel. It is
// the one place that knows linker flags, and it refuses a library that shows other
// functions than the header declares.
//
//	go run ./cmd/build-so -o build
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	soname  = "libdlaunch.so.1"
	maxSize = 5 << 20
)

func main() {
	root := flag.String("root", ".", "the project's root `folder`")
	out := flag.String("o", "build", "the `folder` to build into")
	wheel := flag.Bool("wheel", false, "make a Python wheel as well")
	var oldest version
	flag.Func("glibc", "the oldest glibc that the library must run on, as `2.xx`; fail if it needs a newer one", func(text string) (err error) {
		oldest, err = parseVersion(text)
		return err
	})
	flag.Parse()
	if err := run(*root, *out, *wheel, oldest); err != nil {
		fmt.Fprintln(os.Stderr, "build-so:", err)
		os.Exit(1)
	}
}

// run builds into out. The library must run on the glibc given; none is not asked for.
func run(root, out string, withWheel bool, oldest version) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	// Beside its final place, so that a rename puts it there: a process that has
	// the old library mapped keeps the old file.
	work, err := os.MkdirTemp(out, ".linking-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)

	fresh := filepath.Join(work, soname)
	if err := link(root, fresh); err != nil {
		return err
	}
	library, err := inspect(fresh)
	if err != nil {
		return err
	}
	if err := library.check(oldest); err != nil {
		return err
	}
	if err := compareFunctions(root, library.functions); err != nil {
		return err
	}
	project, err := readProject(root)
	if err != nil {
		return err
	}
	if err := stage(root, out, fresh, project); err != nil {
		return err
	}
	fmt.Printf("%s: %d functions, %d bytes, glibc %s or newer, needs %s\n",
		filepath.Join(out, soname), len(library.functions), library.size, library.glibc, strings.Join(library.needed, " "))
	if !withWheel {
		return nil
	}
	path, err := writeWheel(root, out, project, library.glibc)
	if err != nil {
		return err
	}
	fmt.Println(path)
	return nil
}
