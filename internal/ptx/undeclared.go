package ptx

import (
	"fmt"
	"strings"

	"dlaunch/internal/spelling"
)

// undeclared says that a name is none, and which of those in scope is near.
func (p *parser) undeclared(name string, in *scope) string {
	if r := in.rangeOf(name); r != nil {
		return fmt.Sprintf("%s is not declared: %s<%d> ends at %s%d", name, r.prefix, r.count, r.prefix, r.count-1)
	}
	var known []string
	for s := in; s != nil; s = s.outer {
		for _, names := range []map[string]Operand{s.names, s.labels} {
			for declared := range names {
				known = append(known, declared)
			}
		}
		for i := range s.ranges {
			r := &s.ranges[i]
			like := r.prefix + digitsOf(name)
			if n, numbered := r.number(like); numbered && n < r.count {
				known = append(known, like)
			}
		}
	}
	for symbol := range p.symbols {
		known = append(known, symbol)
	}
	known = append(known, strings.Fields(specials32+specials64)...)
	return name + " is not declared" + spelling.DidYouMean(name, known)
}

// rangeOf gives the range in scope that has such names, though not so many.
func (s *scope) rangeOf(name string) *registerRange {
	for ; s != nil; s = s.outer {
		for i := range s.ranges {
			if _, numbered := s.ranges[i].number(name); numbered && s.ranges[i].count > 0 {
				return &s.ranges[i]
			}
		}
	}
	return nil
}

func digitsOf(name string) string {
	return name[len(strings.TrimRight(name, "0123456789")):]
}
