package sim

import (
	"dlaunch/internal/driver"
	"dlaunch/internal/ptx"
)

// call is what a call passes.
type call struct {
	routine int32  // -1 for one by pointer
	pointer int32  // the slot that holds it
	builtin string // what the driver provides: vprintf
	args    []passed
	returns []passed
}

// passed is one argument or result: bytes of the caller's frame, or a register.
type passed struct {
	slot   int32 // -1 for memory
	offset uint64
	size   uint64
}

func (d *decoder) control() error {
	switch d.at.Name {
	case "bra":
		if err := d.want(1, 1); err != nil {
			return err
		}
		if d.at.Operands[0].Kind != ptx.LabelOperand {
			return d.invalid("a label is wanted")
		}
		d.fixups = append(d.fixups, fixup{int32(len(d.program.code)), d.at.Operands[0].Index, -1})
		d.emit(instruction{op: opBranch})
	case "brx":
		return d.branchTable()
	case "ret":
		d.emit(instruction{op: opReturn})
	case "exit":
		d.emit(instruction{op: opExit})
	case "trap", "brkpt":
		d.emit(instruction{op: opTrap})
	case "call":
		return d.call()
	}
	return nil
}

// branchTable is brx.idx index, table.
func (d *decoder) branchTable() error {
	if err := d.want(2, 2); err != nil {
		return err
	}
	index, err := d.source(d.at.Operands[0], "u32")
	if err != nil {
		return err
	}
	if d.at.Operands[1].Kind != ptx.BranchTableOperand {
		return d.invalid("a list of .branchtargets is wanted")
	}
	table := d.function.BranchTables[d.at.Operands[1].Index]
	for i, target := range table {
		d.fixups = append(d.fixups, fixup{int32(len(d.program.code)), target, i})
	}
	d.emit(instruction{op: opBranchTable, a: index, more: &details{table: make([]int32, len(table))}})
	return nil
}

// builtins are functions that the driver provides to device code.
var builtins = map[string]bool{"vprintf": true, "__assertfail": true}

// callee finds a function to call, and has it decoded.
func (d *decoder) callee(name string) (int32, error) {
	f := d.library.functions[name]
	if f == nil || !f.Defined {
		if name == "malloc" || name == "free" {
			return 0, d.fail(driver.ResultNotSupported, "the simulator has no heap for %s in kernels", name)
		}
		return 0, d.invalid("the function %s is declared, and defined nowhere", name)
	}
	return d.enqueue(f), nil
}

func (d *decoder) call() error {
	operands := d.at.Operands
	c := &call{routine: -1}
	in := instruction{op: opCall, more: &details{call: c}}
	var err error
	if len(operands) > 0 && operands[0].Kind == ptx.ListOperand {
		if c.returns, err = d.passed(operands[0].Elements, true); err != nil {
			return err
		}
		operands = operands[1:]
	}
	if len(operands) == 0 {
		return d.invalid("a function is wanted")
	}
	target := operands[0]
	if len(operands) > 1 && operands[1].Kind == ptx.ListOperand {
		if c.args, err = d.passed(operands[1].Elements, false); err != nil {
			return err
		}
	}
	switch {
	case target.Kind == ptx.FunctionOperand && builtins[target.Name] && !d.defined(target.Name):
		c.builtin = target.Name
	case target.Kind == ptx.FunctionOperand:
		if c.routine, err = d.callee(target.Name); err != nil {
			return err
		}
		r := &d.program.routines[c.routine]
		if len(r.params) != len(c.args) || len(r.returns) != len(c.returns) {
			return d.invalid("%s takes %d arguments and returns %d; %d and %d are given", target.Name, len(r.params), len(r.returns), len(c.args), len(c.returns))
		}
		d.calls[d.current] = append(d.calls[d.current], int(c.routine))
	default:
		if c.pointer, err = d.source(target, "u64"); err != nil {
			return err
		}
		if err := d.takeAll(); err != nil {
			return err
		}
	}
	d.emit(in)
	return nil
}

func (d *decoder) defined(name string) bool {
	f := d.library.functions[name]
	return f != nil && f.Defined
}

// takeAll has every function of the module decoded, and assumes that each may
// be called here: pointers can come from anywhere.
func (d *decoder) takeAll() error {
	for i := range d.library.module.Functions {
		f := &d.library.module.Functions[i]
		if !f.Entry && f.Defined {
			n := d.enqueue(f)
			address, _ := d.library.functionAddress(f.Name)
			d.program.byAddress[address] = n
			d.calls[d.current] = append(d.calls[d.current], int(n))
		}
	}
	return nil
}

func (d *decoder) passed(operands []ptx.Operand, written bool) ([]passed, error) {
	var list []passed
	for _, o := range operands {
		if o.Kind == ptx.VariableOperand && d.function.Variables[o.Index].Space == ".param" {
			list = append(list, passed{-1, d.variables[o.Index], d.function.Variables[o.Index].Size})
			continue
		}
		if o.Kind == ptx.ParamOperand && !d.function.Entry {
			at, err := d.placeOf(o)
			if err != nil {
				return nil, err
			}
			of := d.function.Params
			if o.Return {
				of = d.function.Returns
			}
			list = append(list, passed{-1, at.address, of[o.Index].Size})
			continue
		}
		var slot int32
		var err error
		if written {
			slot, err = d.destination(o)
		} else {
			slot, err = d.source(o, "b64")
		}
		if err != nil {
			return nil, err
		}
		list = append(list, passed{slot, 0, uint64(d.widthOfRegister(o) / 8)})
	}
	return list, nil
}

// Modes of barriers.
const (
	barrierSync mode = iota
	barrierArrive
	barrierPopc
	barrierAnd
	barrierOr
)

const barriers = 16 // a block has

// barrier decodes bar and barrier; those of clusters do nothing, since each
// block is one.
func (d *decoder) barrier() error {
	if d.has("cluster") {
		return nil
	}
	if d.at.Name == "bar" && d.has("warp") {
		if err := d.want(1, 1); err != nil {
			return err
		}
		mask, err := d.source(d.at.Operands[0], "b32")
		d.emit(instruction{op: opWarpBarrier, a: mask})
		return err
	}
	in := instruction{op: opBarrier, more: &details{predicate: truePredicate}}
	operands := d.at.Operands
	switch {
	case d.has("sync"):
	case d.has("arrive"):
		in.more.mode = barrierArrive
	case d.has("red"):
		if len(operands) < 3 {
			return d.want(3, 4)
		}
		in.more.mode = map[string]mode{"u32": barrierPopc, "pred": barrierAnd}[d.kind()]
		if d.has("or") {
			in.more.mode = barrierOr
		}
		var err error
		if in.more.mode == barrierPopc {
			in.d, err = d.destination(operands[0])
		} else {
			in.d, _, err = d.predicate(operands[0])
		}
		if err != nil {
			return err
		}
		if in.more.predicate, in.more.negated, err = d.predicate(operands[len(operands)-1]); err != nil {
			return err
		}
		operands = operands[1 : len(operands)-1]
	default:
		return d.lacks()
	}
	if len(operands) < 1 || len(operands) > 2 {
		return d.invalid("a barrier's number, and perhaps a count, are wanted")
	}
	var err error
	if in.a, err = d.source(operands[0], "u32"); err != nil {
		return err
	}
	in.b = d.slotOf(0)
	if len(operands) == 2 {
		if in.b, err = d.source(operands[1], "u32"); err != nil {
			return err
		}
	}
	d.emit(in)
	return nil
}
