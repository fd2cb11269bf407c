package launch

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"dlaunch/internal/driver"
	"dlaunch/internal/ptx"
	"dlaunch/internal/status"
)

// image is an image that is complete, as far as its headers tell.
type image struct {
	kind  driver.LinkKind
	bytes []byte
	label string
	text  *ptx.Image // what PTX says of itself
}

// ltoMagic begins LTO IR, as NVRTC and nvcc write it.
var ltoMagic = []byte{0xed, 0x43, 0x4e, 0x7f}

// kindOf tells what an image begins as. PTX is text: what has no sign of its own.
func kindOf(image []byte) driver.LinkKind {
	switch {
	case isHostObject(image):
		return driver.LinkObject
	case bytes.HasPrefix(image, elfMagic):
		return driver.LinkCubin
	case bytes.HasPrefix(image, fatbinMagic):
		return driver.LinkFatbin
	case bytes.HasPrefix(image, archiveMagic):
		return driver.LinkArchive
	case bytes.HasPrefix(image, ltoMagic):
		return driver.LinkLTOIR
	}
	return driver.LinkPTX
}

// examine refuses what is no image, and what ends before its own headers say: the
// driver is told no length, and would read past the end. PTX is described.
func examine(content []byte, label string, version int) (*image, error) {
	if len(content) == 0 {
		return nil, status.Errorf(status.Image, "the image is empty; PTX text, a cubin or a fatbin is wanted")
	}
	im := &image{kind: kindOf(content), bytes: content, label: label}
	var err error
	switch im.kind {
	case driver.LinkCubin:
		err = examineELF("cubin", content)
	case driver.LinkObject:
		err = examineObject(content)
	case driver.LinkFatbin:
		err = examineFatbin(content)
	case driver.LinkArchive:
		err = examineArchive(content)
	case driver.LinkPTX:
		im.text, err = examinePTX(content, version)
	}
	return im, err
}

func examinePTX(content []byte, version int) (*ptx.Image, error) {
	if !bytes.Contains(content, []byte(".version")) {
		if bytes.Contains(content, []byte("__global__")) {
			return nil, status.Errorf(status.Image, "this is CUDA C++: compile it first, to PTX (nvcc -ptx, NVRTC) or to a cubin or fatbin")
		}
		return nil, status.Errorf(status.Image, "the image begins with %s: that is no PTX text (which has a .version), cubin (ELF) or fatbin", beginning(content))
	}
	text, err := plainText("PTX", content)
	if err != nil {
		return nil, err
	}
	described, err := ptx.Inspect(text)
	if err != nil {
		return nil, err
	}
	needed, known := driver.MinimumDriver(described.Version.Major, described.Version.Minor)
	if known && needed > version || !known && described.Version.Major > version/1000 {
		return nil, tooNew(described, needed, known, version)
	}
	return described, nil
}

// plainText gives a text without the NULs behind it, and refuses others.
func plainText(what string, content []byte) ([]byte, error) {
	text := bytes.TrimRight(content, "\x00")
	if at := bytes.IndexByte(text, 0); at >= 0 {
		return nil, status.Errorf(status.Image, "the %s has a NUL in line %d, where a driver would stop reading", what, 1+bytes.Count(text[:at], []byte("\n")))
	}
	return text, nil
}

func tooNew(image *ptx.Image, needed int, known bool, version int) error {
	wanted := "a newer driver"
	if known {
		wanted = "driver " + driver.VersionText(needed) + " or newer"
	}
	err := status.Errorf(status.Image, "the image is PTX %d.%d, which needs %s; this driver is %s: compile for an older PTX version, or to a cubin",
		image.Version.Major, image.Version.Minor, wanted, driver.VersionText(version))
	err.Driver = int32(driver.ResultUnsupportedPTXVersion)
	return err
}

func beginning(image []byte) string {
	const most = 16
	if len(image) > most {
		return fmt.Sprintf("%q…", image[:most])
	}
	return fmt.Sprintf("%q", image)
}

func truncated(what string, has int, needs uint64) error {
	return status.Errorf(status.Image, "the %s is truncated: it has %d bytes, its headers need %d", what, has, needs)
}

// imageError words why an image does not load: the architectures, and the
// compiler's log with the line that it is about.
func (e *Engine) imageError(lib *library, d *device, r driver.Result) error {
	switch {
	case r.Sticky():
		return e.failure("cuLibraryLoadData", r)
	case r == driver.ResultOutOfMemory:
		return driverError("cuLibraryLoadData", r)
	}
	failed := "the image does not load"
	if lib.linked {
		failed = "the images do not link"
	}
	err := driverError(failed, r)
	err.Code = status.Image
	if r == driver.ResultNotSupported {
		err.Code = status.Unsupported
	}
	if e.simulated() {
		err.Message += "; the device is simulated"
	} else {
		err.Message += fmt.Sprintf("; the device is sm_%d%d", d.limits.computeMajor, d.limits.computeMinor)
	}
	switch {
	case lib.source != "":
		err.Message += fmt.Sprintf(", the PTX %d.%d is for %s", lib.texts[0].Version.Major, lib.texts[0].Version.Minor, lib.texts[0].Target)
	case len(lib.architectures) == 1 && strings.HasPrefix(lib.architectures[0], "sm_"):
		err.Message += ", the cubin is for " + lib.architectures[0]
	case len(lib.architectures) > 0:
		err.Message += ", the code is for " + strings.Join(lib.architectures, ", ")
	}
	if log := lib.log.text(); log != "" {
		err.Message += quotedLine(lib.source, log) + "\n" + log
	}
	return err
}

// quotedLine gives the line of the PTX that the log names, unless that shows it.
func quotedLine(source, log string) string {
	_, rest, _ := strings.Cut(log, "line ")
	end := strings.IndexFunc(rest, func(c rune) bool { return c < '0' || c > '9' })
	number, err := strconv.Atoi(rest[:max(0, end)])
	if err != nil {
		return ""
	}
	line := ptx.Line(source, number)
	if line == "" || strings.Contains(log, line) {
		return ""
	}
	return fmt.Sprintf("\nline %d: `%s`", number, line)
}
