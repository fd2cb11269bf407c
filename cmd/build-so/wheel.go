package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// wheelTag says where the wheel runs: any Python 3, and any Linux whose glibc is
// at least the one that the library was found to need (PEP 600).
func wheelTag(glibc version) string {
	return fmt.Sprintf("py3-none-manylinux_%d_%d_x86_64", glibc.major, glibc.minor)
}

// A wheel is a zip of the package, three texts about it, and a list of hashes.
// Written here, it needs no Python; and twice the same input gives the same file.
type wheel struct {
	archive *zip.Writer
	records []string
}

func writeWheel(root, out string, p project, glibc version) (path string, err error) {
	tag := wheelTag(glibc)
	path = filepath.Join(out, fmt.Sprintf("dlaunch-%s-%s.whl", p.version, tag))
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer func() {
		if closing := file.Close(); err == nil {
			err = closing
		}
	}()
	w := &wheel{archive: zip.NewWriter(file)}
	if err := w.addPackage(filepath.Join(root, "python", "src"), out); err != nil {
		return "", err
	}
	info := "dlaunch-" + p.version + ".dist-info/"
	for _, text := range []struct{ name, content string }{
		{"METADATA", fmt.Sprintf("Metadata-Version: 2.4\nName: dlaunch\nVersion: %s\nSummary: %s\nLicense-Expression: Apache-2.0 AND BSD-3-Clause\nLicense-File: LICENSE\nLicense-File: LICENSE-third-party\nRequires-Python: %s\n", p.version, p.summary, p.python)},
		{"WHEEL", fmt.Sprintf("Wheel-Version: 1.0\nGenerator: build-so\nRoot-Is-Purelib: false\nTag: %s\n", tag)},
	} {
		if err := w.add(info+text.name, []byte(text.content), 0o644); err != nil {
			return "", err
		}
	}
	for _, name := range []string{"LICENSE", "LICENSE-third-party"} {
		licence, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return "", err
		}
		if err := w.add(info+"licenses/"+name, licence, 0o644); err != nil {
			return "", err
		}
	}
	record := strings.Join(w.records, "") + info + "RECORD,,\n"
	if err := w.add(info+"RECORD", []byte(record), 0o644); err != nil {
		return "", err
	}
	return path, w.archive.Close()
}

// addPackage adds python/src and, inside the package, the library.
func (w *wheel) addPackage(source, out string) error {
	err := filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); name == "__pycache__" || strings.HasSuffix(name, ".egg-info") {
				return filepath.SkipDir
			}
			return nil
		}
		name, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return w.add(filepath.ToSlash(name), content, 0o644)
	})
	if err != nil {
		return err
	}
	content, err := os.ReadFile(filepath.Join(out, soname))
	if err != nil {
		return err
	}
	return w.add("dlaunch/"+soname, content, 0o755)
}

func (w *wheel) add(name string, content []byte, mode fs.FileMode) error {
	header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
	header.SetMode(mode)
	entry, err := w.archive.CreateHeader(header)
	if err != nil {
		return err
	}
	if _, err := entry.Write(content); err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	w.records = append(w.records, fmt.Sprintf("%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(content)))
	return nil
}
