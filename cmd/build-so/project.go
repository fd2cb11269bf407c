package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// project is what python/pyproject.toml says: the one place that has the release.
type project struct {
	version, summary, python string
}

func readProject(root string) (project, error) {
	path := filepath.Join(root, "python", "pyproject.toml")
	text, err := os.ReadFile(path)
	if err != nil {
		return project{}, err
	}
	var found project
	for key, to := range map[string]*string{
		"version": &found.version, "description": &found.summary, "requires-python": &found.python,
	} {
		match := regexp.MustCompile(`(?m)^` + key + `\s*=\s*"([^"\n]*)"`).FindSubmatch(text)
		if match == nil {
			return project{}, fmt.Errorf(`%s: no line %s = "..."`, path, key)
		}
		*to = string(match[1])
	}
	return found, nil
}
