package driver

// MinimumDriver gives the oldest driver that compiles PTX of a version, coded as
// API.Version is; known is false for PTX versions that are not in the ladder.
func MinimumDriver(ptxMajor, ptxMinor int) (version int, known bool) {
	switch {
	case ptxMinor < 0:
		return 0, false
	case ptxMajor < 7: // older than CUDA 11, which every driver here is newer than
		return oldestForPTX7, ptxMajor > 0
	case ptxMajor == 7 && ptxMinor <= 8:
		return oldestForPTX7 + 10*ptxMinor, true
	case ptxMajor == 8 && ptxMinor <= 5:
		return 12000 + 10*ptxMinor, true
	case ptxMajor == 8 && ptxMinor <= 8: // CUDA 12.6 brought no new PTX
		return 12010 + 10*ptxMinor, true
	case ptxMajor == 9 && ptxMinor <= 1:
		return 13000 + 10*ptxMinor, true
	}
	return 0, false
}

// PTX 7.0 came with CUDA 11.0.
const oldestForPTX7 = 11000
