package driver

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The ladder is that of the PTX ISA's release notes.
func TestMinimumDriver(t *testing.T) {
	for _, test := range []struct {
		major, minor, driver int
		known                bool
	}{
		{3, 2, 12000, true}, // older than the ladder: the floor
		{6, 5, 12000, true},
		{7, 0, 11000, true},
		{7, 8, 11080, true},
		{7, 9, 0, false},
		{8, 0, 12000, true},
		{8, 4, 12040, true},
		{8, 5, 12050, true},
		{8, 6, 12070, true}, // 12.6 brought no PTX version
		{8, 7, 12080, true},
		{8, 8, 12090, true},
		{8, 9, 0, false},
		{9, 0, 13000, true},
		{9, 1, 13010, true},
		{9, 2, 0, false},
		{10, 0, 0, false},
		{8, -1, 0, false},
	} {
		version, known := MinimumDriver(test.major, test.minor)
		require.Equal(t, test.known, known, "PTX %d.%d", test.major, test.minor)
		require.Equal(t, test.driver, version, "PTX %d.%d", test.major, test.minor)
	}
}

func TestVersionText(t *testing.T) {
	require.Equal(t, "12.0", VersionText(12000))
	require.Equal(t, "13.1", VersionText(13010))
	require.Equal(t, "0.0", VersionText(0))
}
