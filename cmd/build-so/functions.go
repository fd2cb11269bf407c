package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	blockComment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	lineComment  = regexp.MustCompile(`//.*`)
	directive    = regexp.MustCompile(`(?m)^[ \t]*#(?:.*\\\n)*.*$`)
	declaration  = regexp.MustCompile(`\b(dlaunch_\w+)\s*\(`)
	mapEntry     = regexp.MustCompile(`\b(dlaunch_\w+)\s*;`)
	mapPattern   = regexp.MustCompile(`\bdlaunch_\w*[*?\[]`)
)

// compareFunctions holds the header, the version script and the library against
// each other: a function that only one of them knows is an error.
func compareFunctions(root string, inLibrary []string) error {
	header, err := os.ReadFile(filepath.Join(root, "include", "dlaunch.h"))
	if err != nil {
		return err
	}
	script, err := os.ReadFile(filepath.Join(root, "capi", "exports.map"))
	if err != nil {
		return err
	}
	if pattern := mapPattern.Find(script); pattern != nil {
		return fmt.Errorf("capi/exports.map has the pattern %s: name each function", pattern)
	}
	return sameFunctions(map[string][]string{
		"include/dlaunch.h": declared(string(header)),
		"capi/exports.map":  captures(mapEntry, blockComment.ReplaceAllString(string(script), "")),
		soname:              inLibrary,
	})
}

// declared lists the functions that a header declares.
func declared(header string) []string {
	for _, noise := range []*regexp.Regexp{blockComment, lineComment, directive} {
		header = noise.ReplaceAllString(header, "")
	}
	return captures(declaration, header)
}

func captures(what *regexp.Regexp, text string) []string {
	var names []string
	for _, match := range what.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	return names
}

func sameFunctions(places map[string][]string) error {
	where := map[string][]string{}
	for place, names := range places {
		for _, name := range names {
			if !slices.Contains(where[name], place) {
				where[name] = append(where[name], place)
			}
		}
	}
	var differences []string
	for name, in := range where {
		var missing []string
		for place := range places {
			if !slices.Contains(in, place) {
				missing = append(missing, place)
			}
		}
		if len(missing) > 0 {
			slices.Sort(in)
			slices.Sort(missing)
			differences = append(differences, fmt.Sprintf("  %s: in %s, not in %s", name, strings.Join(in, " and "), strings.Join(missing, " and ")))
		}
	}
	if len(differences) == 0 {
		return nil
	}
	slices.Sort(differences)
	return fmt.Errorf("header, exports and library disagree:\n%s", strings.Join(differences, "\n"))
}
