package handles_test

import (
	"testing"

	"dlaunch/handles"
)

// BenchmarkGet looks handles up, one of 1000 after the other. (A launch does so in C:
// internal/exec/hot.h.)
func BenchmarkGet(b *testing.B) {
	table := handles.New()
	var made [1000]handles.Handle
	for i := range made {
		e, err := table.Open(handles.Kernel, "k", nil, nil)
		if err != nil {
			b.Fatal(err)
		}
		made[i] = e.Handle
	}
	i := 0
	for b.Loop() {
		if _, err := table.Get(made[i%len(made)], handles.Kernel); err != nil {
			b.Fatal(err)
		}
		i++
	}
}
