// Package spelling says how far apart two words are, and which word was meant.
package spelling

// Distance counts the insertions, deletions and replacements between two words,
// up to one more than the shorter has letters: from there on they are unlike.
func Distance(a, b string) int {
	most := min(len(a), len(b)) + 1
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most // a long word costs nothing
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return min(row[len(b)], most)
}
