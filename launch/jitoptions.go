package launch

import (
	"fmt"

	"dlaunch/internal/driver"
	"dlaunch/internal/status"
)

// CUjit_option numbers of cuda.h that dlaunch looks at; jitlog.go has those of logs.
const (
	jitMaxRegisters      = 0
	jitOptimizationLevel = 7
	jitTarget            = 9
	jitDebug             = 11
	jitVerbose           = 12
	jitLineInfo          = 13
	jitSplitCompile      = 34
)

// jitOptionSince is the driver that brings an option which the oldest lacks.
var jitOptionSince = map[int32]int{31: 12030, 32: 12040, 33: 12040, 34: 13000}

func checkJITOptions(options []driver.JITOption, version int) error {
	for _, o := range options {
		if o.ID >= jitInfoLog && o.ID <= jitErrorLogSize {
			return status.Errorf(status.Argument, "JIT option %d is a log's, which dlaunch keeps itself: options.log receives it", o.ID)
		}
		if since := jitOptionSince[o.ID]; since > version {
			return status.Errorf(status.Unsupported, "JIT option %d needs driver %s or newer; this one is %s", o.ID, driver.VersionText(since), driver.VersionText(version))
		}
	}
	return nil
}

// jitLinkerOptions says the same to nvJitLink. arch is the device's: 90.
func jitLinkerOptions(options []driver.JITOption, arch int) ([]string, error) {
	target := fmt.Sprintf("sm_%d", arch)
	list := []string{"-lto"}
	for _, o := range options {
		switch o.ID {
		case jitMaxRegisters:
			list = append(list, fmt.Sprintf("-maxrregcount=%d", o.Value))
		case jitOptimizationLevel:
			list = append(list, fmt.Sprintf("-O%d", o.Value))
		case jitTarget:
			target = targetName(o.Value)
		case jitSplitCompile:
			list = append(list, fmt.Sprintf("-split-compile=%d", o.Value))
		case jitDebug, jitVerbose, jitLineInfo:
			if o.Value != 0 {
				list = append(list, map[int32]string{jitDebug: "-g", jitVerbose: "-verbose", jitLineInfo: "-lineinfo"}[o.ID])
			}
		default:
			return nil, status.Errorf(status.Unsupported, "JIT option %d: nvJitLink, which links LTO IR, has nothing like it", o.ID)
		}
	}
	return append(list, "-arch="+target), nil
}

// targetName spells a CUjit_target: 90 is sm_90; what is for one architecture or
// one family alone is marked above.
func targetName(value uint64) string {
	suffix := map[uint64]string{1: "a", 2: "f"}[value>>16]
	return fmt.Sprintf("sm_%d%s", value&0xffff, suffix)
}
