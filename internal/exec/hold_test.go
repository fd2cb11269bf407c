package exec_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/exec"
	"dlaunch/internal/exec/exectest"
)

// A launch on a stream that is captured goes to Go, unless a graph holds it.
func TestCapturedStreams(t *testing.T) {
	t.Cleanup(func() { exectest.Capture(0, 0) })
	h := publish(t, exec.Program{})
	for _, c := range []struct {
		name      string
		stream    uint64
		captured  uint64
		status    int32
		questions uint64
		reason    exec.Reason
	}{
		{"legacy", 0, 0, 1, 0, exec.OK},
		{"legacy by its number", 1, 1, 1, 0, exec.OK},
		{"per thread", 2, 2, 1, 1, exec.Captured},
		{"another is captured", 0x7000, 0x8000, 1, 1, exec.OK},
		{"captured", 0x7000, 0x7000, 1, 1, exec.Captured},
		{"the capture has failed", 0x7000, 0x7000, 2, 1, exec.OK},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config()
			cfg.Stream = c.stream
			exectest.Capture(c.captured, c.status)
			questions, launches := exectest.CaptureQuestions(), exectest.Launches()
			fault := exec.LaunchAgain(h, cfg, nil, nil, false)
			require.Equal(t, c.reason, fault.Reason)
			require.Equal(t, questions+c.questions, exectest.CaptureQuestions())
			if c.reason == exec.OK {
				launches++
			}
			require.Equal(t, launches, exectest.Launches())
			require.Equal(t, exec.OK, exec.LaunchAgain(h, cfg, nil, nil, true).Reason)
			require.Equal(t, questions+c.questions, exectest.CaptureQuestions(), "nothing is asked of what is held")
			require.Equal(t, launches+1, exectest.Launches())

			cfg.Block[0] = 4096
			require.Equal(t, exec.Block, exec.LaunchAgain(h, cfg, nil, nil, false).Reason, "a launch that is wrong is not captured")
		})
	}
}

// Each hold that ends, on whatever thread, is given once.
func TestHoldsHammer(t *testing.T) {
	const workers, each = 4, 2000
	require.Empty(t, exec.EndedHolds())
	var wait sync.WaitGroup
	for worker := range workers {
		wait.Go(func() {
			for i := range each {
				hold, err := exec.NewHold(uint64(worker*each + i))
				if err != nil {
					t.Error(err)
					return
				}
				hold.End()
			}
		})
	}
	found := make([][]uint64, 2)
	done := make(chan struct{})
	var takers sync.WaitGroup
	for taker := range found {
		takers.Go(func() {
			for {
				found[taker] = append(found[taker], exec.EndedHolds()...)
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	wait.Wait()
	close(done)
	takers.Wait()
	ids := append(slices.Concat(found...), exec.EndedHolds()...)
	slices.Sort(ids)
	require.Len(t, ids, workers*each)
	require.Len(t, slices.Compact(ids), workers*each)
}
