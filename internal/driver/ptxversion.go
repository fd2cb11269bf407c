package driver

import "fmt"

// ptxVersion is the `.version` of PTX text.
type ptxVersion struct{ major, minor int }

// firstDriver is the first driver that compiles a version of PTX.
var firstDriver = map[ptxVersion]int{
	{7, 0}: 11000, {7, 1}: 11010, {7, 2}: 11020, {7, 3}: 11030, {7, 4}: 11040, {7, 5}: 11050, {7, 6}: 11060, {7, 7}: 11070, {7, 8}: 11080,
	{8, 0}: 12000, {8, 1}: 12010, {8, 2}: 12020, {8, 3}: 12030, {8, 4}: 12040, {8, 5}: 12050, {8, 6}: 12070, {8, 7}: 12080, {8, 8}: 12090,
	{9, 0}: 13000, {9, 1}: 13010,
}

// MinimumDriver gives the first driver that compiles PTX of a version, as far as
// it is known. What is older than the ladder, every driver here compiles.
func MinimumDriver(ptxMajor, ptxMinor int) (version int, known bool) {
	if ptxMajor < 7 {
		return minimumVersion, true
	}
	version, known = firstDriver[ptxVersion{ptxMajor, ptxMinor}]
	return version, known
}

// VersionText is a driver version as people write it.
func VersionText(version int) string {
	return fmt.Sprintf("%d.%d", version/1000, version%1000/10)
}
