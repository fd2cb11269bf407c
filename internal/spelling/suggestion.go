package spelling

import "strings"

// Nearest gives the word that was meant, or "" where none is near: of those as
// near the one that begins most alike, and then the first in the alphabet.
func Nearest(word string, known []string) string {
	best, least, alike := "", 3, 0 // more than two edits are another word
	for _, candidate := range known {
		d, same := Distance(strings.ToLower(word), strings.ToLower(candidate)), commonPrefix(word, candidate)
		if d >= len(candidate) || d > least || d == least && (best == "" || same < alike || same == alike && candidate >= best) {
			continue
		}
		best, least, alike = candidate, d, same
	}
	return best
}

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// DidYouMean gives "; did you mean f32?" when one of the words is near.
func DidYouMean(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}
