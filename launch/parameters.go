package launch

import (
	"fmt"
	"strings"

	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/ptx"
	"dlaunch/internal/status"
	"dlaunch/launch/prototype"
)

// slot is one parameter as the image declares it.
type slot struct {
	name         string // PTX's; "" when unknown
	ptxType      string // ".u64", ".b8" ...; "" when unknown; of an array or vector that of each element
	offset, size uint64
	align        uint64 // 0 when unknown
}

// Parameter is what dlaunch_kernel_parameter tells.
type Parameter struct {
	Name, Type   string
	Offset, Size uint64
	Mode         uint32
}

// slotsOf asks the image for a kernel's parameters: PTX has names and types; the
// driver knows where they are (12.4 and newer); else a prototype must do. lib is nil
// for a foreign kernel.
func (e *Engine) slotsOf(lib *library, k *kernel, proto *prototype.Prototype) ([]slot, error) {
	if lib != nil {
		if entry := lib.entry(k.name); entry != nil {
			return e.placed(k, ptxSlots(entry))
		}
	}
	slots, r := e.driverSlots(k)
	if r == driver.ResultSuccess {
		return slots, nil
	}
	if r != driver.ResultNotSupported {
		return nil, e.failure(k.call("GetParamInfo"), r)
	}
	if proto == nil {
		return nil, status.Errorf(status.Unsupported,
			"kernel %q: this driver (%s) cannot tell its parameters, and no PTX does; give a prototype, or use driver 12.4 or newer",
			k.name, driver.VersionText(e.driver.API.Version))
	}
	return declaredSlots(proto), nil
}

func ptxSlots(entry *ptx.Entry) []slot {
	slots := make([]slot, len(entry.Params))
	for i, p := range entry.Params {
		slots[i] = slot{p.Name, p.Type, p.Offset, p.Size, p.Align}
	}
	return slots
}

// placed lets the driver say where PTX's parameters are. Theirs is an absolute
// alignment, and they begin at a multiple of 16 that differs between architectures
// (sm_90: 0x210), so only what is aligned to 16 at most lies where PTX alone puts it.
func (e *Engine) placed(k *kernel, slots []slot) ([]slot, error) {
	const surelyAligned = 16
	found, r := e.driverSlots(k)
	if r == driver.ResultSuccess && len(found) == len(slots) {
		for i := range slots {
			slots[i].offset, slots[i].size = found[i].offset, found[i].size
		}
		return slots, nil
	}
	if r != driver.ResultSuccess && r != driver.ResultNotSupported {
		return nil, e.failure(k.call("GetParamInfo"), r)
	}
	for i, s := range slots {
		if s.align > surelyAligned {
			return nil, status.Errorf(status.Unsupported, "kernel %q: parameter %d (%s) is aligned to %d bytes; where it is, driver 12.4 and newer tell; this one is %s",
				k.name, i, s.name, s.align, driver.VersionText(e.driver.API.Version))
		}
	}
	return slots, nil
}

func (e *Engine) driverSlots(k *kernel) ([]slot, driver.Result) {
	ask := func(index int) (uint64, uint64, driver.Result) { return e.driver.API.KernelParam(k.native, index) }
	if k.isFunction {
		ask = func(index int) (uint64, uint64, driver.Result) {
			return e.driver.API.FunctionParam(driver.Function(k.native), index)
		}
	}
	var slots []slot
	for {
		offset, size, r := ask(len(slots))
		if r == driver.ResultInvalidValue { // past the last one
			return slots, driver.ResultSuccess
		}
		if r != driver.ResultSuccess {
			return nil, r
		}
		slots = append(slots, slot{offset: offset, size: size})
	}
}

// declaredSlots lays a prototype's parameters out as CUDA does: each at the next
// multiple of its alignment.
func declaredSlots(proto *prototype.Prototype) []slot {
	var slots []slot
	end := uint64(0)
	for i := range proto.Params {
		size, align := declaredSize(&proto.Params[i])
		for range slotCount(&proto.Params[i]) {
			end = (end + align - 1) / align * align
			slots = append(slots, slot{offset: end, size: size})
			end += size
		}
	}
	return slots
}

// addressBytes is the size of a pointer parameter, and of an extent or stride.
const addressBytes = 8

// numbaWords are those that numba-cuda passes before an array's shape: meminfo,
// parent, elements, item size, address.
const numbaWords = 5

// slotCount is how many of the image's parameters one of a prototype's stands for.
func slotCount(p *prototype.Param) int {
	if p.Attrs.Numba {
		return numbaWords + 2*len(p.Dims)
	}
	return 1
}

// declaredSize is that of each of a parameter's slots.
func declaredSize(p *prototype.Param) (size, align uint64) {
	switch {
	case p.Attrs.View:
		return addressBytes * uint64(1+2*len(p.Dims)), addressBytes
	case p.Tensor, p.Pointer:
		return addressBytes, addressBytes
	case p.Bytes.Size > 0:
		return uint64(p.Bytes.Size), uint64(p.Bytes.Align)
	}
	size = p.Scalar.Type.ItemBits() / 8
	if p.Scalar.Wildcard == prototype.Width {
		size = uint64(p.Scalar.Type.Bits) / 8
	}
	return size, size
}

// agree compares a prototype with what the image declares, and gives the slot of
// each parameter: that of several slots is one that covers them.
func agree(kernel string, proto *prototype.Prototype, slots []slot) ([]slot, error) {
	declared := 0
	for i := range proto.Params {
		declared += slotCount(&proto.Params[i])
	}
	if declared != len(slots) {
		return nil, status.Errorf(status.Prototype, "prototype of %q has %d parameters, the kernel has %d%s; name each one, those that are filled in (=) too",
			kernel, declared, len(slots), listSlots(slots))
	}
	of := make([]slot, len(proto.Params))
	next := 0
	for i := range proto.Params {
		p := &proto.Params[i]
		of[i] = slots[next]
		for range slotCount(p) {
			s := &slots[next]
			if err := agreeOne(kernel, p, next, s); err != nil {
				return nil, err
			}
			if s.offset < of[i].offset || s.offset > of[i].offset+of[i].size {
				return nil, status.Errorf(status.Prototype, "prototype of %q, column %d: the words of %s (@numba) do not lie side by side in the kernel's parameters", kernel, p.Column, p.Name)
			}
			of[i].size = s.offset + s.size - of[i].offset
			next++
		}
	}
	return of, nil
}

func agreeOne(kernel string, p *prototype.Param, index int, s *slot) error {
	if size, _ := declaredSize(p); size != s.size {
		return status.Errorf(status.Prototype, "prototype of %q, column %d: parameter %d (%s: %s) has %d bytes, the kernel's %s has %d",
			kernel, p.Column, index, p.Name, p.Type(), size, s.describe(), s.size)
	}
	if wantsFloat, wantsInteger := declaredClass(p); s.isFloat() && wantsInteger || s.isInteger() && wantsFloat {
		return status.Errorf(status.Prototype, "prototype of %q, column %d: parameter %d (%s) is declared %s, but the kernel's PTX says %s",
			kernel, p.Column, index, p.Name, p.Type(), s.ptxType)
	}
	return nil
}

// declaredClass tells floats of 32 and 64 bits and integers apart; for the rest
// PTX has only bits.
func declaredClass(p *prototype.Param) (float, integer bool) {
	if p.Attrs.View || p.Attrs.Numba {
		return false, false
	}
	if p.Tensor || p.Pointer {
		return false, true
	}
	if p.Bytes.Size > 0 || p.Scalar.Wildcard != prototype.Exact {
		return false, false
	}
	format := formatOf(p.Scalar)
	return format == exec.FormatFloat && p.Scalar.Type.Bits >= 32, format == exec.FormatSigned || format == exec.FormatUnsigned
}

// isScalar says that a slot is one element of its type, as far as is known.
func (s *slot) isScalar() bool { return s.ptxType == "" || ptx.SizeOf(s.ptxType) == s.size }

func (s *slot) isFloat() bool {
	return s.isScalar() && (s.ptxType == ".f32" || s.ptxType == ".f64")
}

func (s *slot) isInteger() bool {
	switch s.ptxType {
	case ".u32", ".s32", ".u64", ".s64":
		return s.isScalar()
	}
	return false
}

func (s *slot) describe() string {
	if s.ptxType == "" {
		return "parameter"
	}
	return s.ptxType
}

func listSlots(slots []slot) string {
	const most = 12
	parts := make([]string, 0, most)
	for i, s := range slots {
		if i == most {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, fmt.Sprintf("%s of %d bytes", s.describe(), s.size))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
