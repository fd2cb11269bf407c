package sim

import (
	"fmt"

	"dlaunch/internal/driver"
	"dlaunch/internal/ptx"
)

// loadError is why an image does not load: the result, and what the log says.
type loadError struct {
	result  driver.Result
	message string
}

func (e *loadError) Error() string { return e.message }

// decoder turns one entry, and the functions that it calls, into a program.
type decoder struct {
	library  *library
	program  *program
	shared   map[string]uint64 // offsets of the module's .shared variables
	dynamic  []dynamicConstant
	names    map[string]int32 // routines
	queue    []*ptx.Function  // of the routines, in order
	constant map[uint64]int32
	special  map[string]int32

	function  *ptx.Function
	current   int // the routine that is being decoded
	routine   *routine
	registers []int32  // slots of the function's registers
	variables []uint64 // addresses of its variables
	at        *ptx.Instruction
	starts    []int32 // where each instruction begins, and the end
	fixups    []fixup
	calls     map[int][]int // routines called by each
}

// fixup is a branch whose target had no place yet.
type fixup struct {
	pc     int32
	target int
	table  int // index into the instruction's table, or -1
}

// The first predicates are constants, and one that nobody reads.
const (
	falsePredicate = iota
	truePredicate
	sinkPredicate
	firstPredicate
)

// sinkSlot is the register that takes what nobody reads.
const sinkSlot = 0

func decode(lib *library, entry *ptx.Function) (*program, error) {
	d := &decoder{
		library: lib, shared: map[string]uint64{}, names: map[string]int32{}, constant: map[uint64]int32{}, special: map[string]int32{},
		calls: map[int][]int{},
		program: &program{name: entry.Name, slots: sinkSlot + 1, predicates: firstPredicate, params: entry.Params,
			paramBytes: entry.ParamsSize, byAddress: map[uint64]int32{}, reqNTID: entry.ReqNTID, maxNTID: entry.MaxNTID, carry: -1},
	}
	if err := d.placeShared(lib.module.Variables); err != nil {
		return nil, err
	}
	d.enqueue(entry)
	for n := 0; n < len(d.queue); n++ {
		if err := d.decodeFunction(n); err != nil {
			return nil, err
		}
	}
	d.placeDynamic()
	d.findRecursion()
	for i := range d.program.routines {
		d.program.localBytes += d.program.routines[i].frame
	}
	d.program.registers = d.program.estimateRegisters(entry)
	return d.program, nil
}

func (d *decoder) enqueue(f *ptx.Function) int32 {
	if n, known := d.names[f.Name]; known {
		return n
	}
	n := int32(len(d.queue))
	d.names[f.Name] = n
	d.queue = append(d.queue, f)
	d.program.routines = append(d.program.routines, routine{name: f.Name})
	d.routine = &d.program.routines[d.current] // they may have moved
	r := &d.program.routines[n]
	if f.Entry {
		return n
	}
	for _, p := range f.Params {
		r.params, r.sizes = append(r.params, r.take(p.Size, p.Align)), append(r.sizes, p.Size)
	}
	for _, p := range f.Returns {
		r.returns, r.outs = append(r.returns, r.take(p.Size, p.Align)), append(r.outs, p.Size)
	}
	return n
}

// take reserves bytes of the frame.
func (r *routine) take(size, align uint64) uint64 {
	at := alignUp(r.frame, align)
	r.frame = at + size
	return at
}

func alignUp(v, align uint64) uint64 { return (v + align - 1) / align * align }

const mostLocal = 512 << 10 // bytes of local memory a thread: CUDA's limit

func (d *decoder) fail(result driver.Result, format string, args ...any) error {
	at := where{}
	if d.at != nil {
		at = d.where()
	}
	return &loadError{result, at.String() + ": " + fmt.Sprintf(format, args...)}
}

func (d *decoder) invalid(format string, args ...any) error {
	return d.fail(driver.ResultInvalidPTX, format, args...)
}

func (d *decoder) lacks() error {
	return d.fail(driver.ResultNotSupported, "the simulator lacks this instruction; run the kernel on a GPU")
}

func (d *decoder) decodeFunction(n int) error {
	f := d.queue[n]
	d.function, d.current, d.routine = f, n, &d.program.routines[n]
	d.routine.start = int32(len(d.program.code))
	d.routine.registers[0], d.routine.preds[0] = d.program.slots, d.program.predicates
	d.registers = make([]int32, len(f.Registers))
	for i, r := range f.Registers {
		switch {
		case r.Type == ".pred":
			d.registers[i] = d.program.predicates
			d.program.predicates++
		case r.Type == ".b128":
			return d.fail(driver.ResultNotSupported, "%s: the simulator lacks registers of 128 bits", f.Name)
		default:
			d.registers[i] = d.program.slots
			d.program.slots += int32(max(1, r.Vector))
		}
	}
	d.at = nil
	if err := d.placeVariables(); err != nil {
		return err
	}
	if err := d.decodeBody(); err != nil {
		return err
	}
	d.routine.frame = alignUp(d.routine.frame, 16)
	if d.routine.frame > mostLocal {
		return d.fail(driver.ResultInvalidPTX, "%s takes %d bytes of local memory; %d is the most", f.Name, d.routine.frame, mostLocal)
	}
	d.routine.registers[1], d.routine.preds[1] = d.program.slots, d.program.predicates
	return nil
}

func (d *decoder) placeVariables() error {
	d.variables = make([]uint64, len(d.function.Variables))
	for i := range d.function.Variables {
		v := &d.function.Variables[i]
		switch v.Space {
		case ".shared":
			if err := d.placeShared(d.function.Variables[i : i+1]); err != nil {
				return err
			}
			d.variables[i] = d.shared[v.Name]
		case ".local", ".param":
			if v.Size > mostLocal {
				return d.invalid("%s has %d bytes; %d is the most", v.Name, v.Size, mostLocal)
			}
			d.variables[i] = d.routine.take(v.Size, v.Align)
		default:
			return d.invalid("%s: a %s variable within a function", v.Name, v.Space)
		}
	}
	return nil
}

// unplaced marks dynamic shared memory: it begins where the static ends, which
// is known when all is decoded.
const unplaced = 1 << 31

func (d *decoder) placeShared(variables []ptx.Variable) error {
	for i := range variables {
		v := &variables[i]
		if v.Space != ".shared" {
			continue
		}
		if v.Unsized || v.Size == 0 {
			d.shared[v.Name] = unplaced
			continue
		}
		at := alignUp(d.program.statics, v.Align)
		d.shared[v.Name] = at
		if d.program.statics = at + v.Size; d.program.statics > optinShared {
			return d.fail(driver.ResultInvalidPTX, "%s takes %d bytes of shared memory; %d is the most", d.program.name, d.program.statics, optinShared)
		}
	}
	return nil
}

// dynamicConstant is a constant that points into dynamic shared memory.
type dynamicConstant struct {
	index  int
	offset uint64
}

func (d *decoder) placeDynamic() {
	d.program.dynamicBase = alignUp(d.program.statics, 16)
	for _, c := range d.dynamic {
		d.program.constants[c.index].value = d.program.dynamicBase + c.offset
	}
}

// decodeBody decodes the instructions in order, a label before each that a
// branch names.
func (d *decoder) decodeBody() error {
	f := d.function
	targets := make([]bool, len(f.Instructions)+1)
	for i := range f.Instructions {
		for _, o := range f.Instructions[i].Operands {
			if o.Kind == ptx.LabelOperand {
				targets[o.Index] = true
			}
		}
	}
	for _, table := range f.BranchTables {
		for _, target := range table {
			targets[target] = true
		}
	}
	d.starts = make([]int32, len(f.Instructions)+1)
	d.fixups = d.fixups[:0]
	for i := range f.Instructions {
		at := f.Instructions[i] // a copy, since decoding takes operands off
		d.at = &at
		d.starts[i] = int32(len(d.program.code))
		if targets[i] {
			d.emit(instruction{op: opLabel})
		}
		first := len(d.program.code)
		if err := d.decodeInstruction(); err != nil {
			return err
		}
		d.guard(first)
	}
	d.starts[len(f.Instructions)] = int32(len(d.program.code))
	d.at = &ptx.Instruction{Name: "ret", Line: f.Line}
	d.emit(instruction{op: opLabel})
	d.emit(instruction{op: opReturn})
	for _, fix := range d.fixups {
		in := &d.program.code[fix.pc]
		if fix.table >= 0 {
			in.more.table[fix.table] = d.starts[fix.target]
		} else {
			in.target = d.starts[fix.target]
		}
	}
	return nil
}

// guard puts the instruction's predicate on what was emitted for it.
func (d *decoder) guard(first int) {
	if d.at.Guard == nil {
		return
	}
	guard := d.registers[d.at.Guard.Register] + 1
	if d.at.Guard.Negated {
		guard = -guard
	}
	for i := first; i < len(d.program.code); i++ {
		d.program.code[i].guard = guard
	}
}

func (d *decoder) where() where {
	return where{d.at.Line, d.at.Text(), d.at.Source, d.function.Input}
}

func (d *decoder) emit(in instruction) {
	d.program.code = append(d.program.code, in)
	d.program.where = append(d.program.where, d.where())
}

// findRecursion marks routines that can be active twice: their registers are
// saved at calls.
func (d *decoder) findRecursion() {
	for n := range d.program.routines {
		seen := map[int]bool{}
		var reach func(from int) bool
		reach = func(from int) bool {
			for _, to := range d.calls[from] {
				if to == n {
					return true
				}
				if !seen[to] {
					seen[to] = true
					if reach(to) {
						return true
					}
				}
			}
			return false
		}
		d.program.routines[n].recursive = reach(n)
	}
}
