package sim

import (
	"fmt"

	"dlaunch/internal/driver"
	"dlaunch/internal/ptx"
)

// lanes is one register of a warp. Values narrower than 64 bits are
// zero-extended; predicates are bit masks and live elsewhere.
type lanes [warpSize]uint64

const allLanes = 1<<warpSize - 1

// laneFunc computes one lane.
type laneFunc func(a, b, c uint64) uint64

// opcode says how a warp runs an instruction.
type opcode uint8

const (
	opLabel opcode = iota // lanes may meet here
	opLanes               // fn, lane by lane: whatever has no opcode of its own
	opMove                // hot ones: loops of their own when all lanes run
	opAdd32
	opAdd64
	opSub32
	opMul32
	opMad32
	opMulWideS32
	opMadWideS32
	opMulWideU32
	opAnd
	opOr
	opXor
	opShl32
	opShl64
	opCvtS64S32
	opLow32
	opAddF32
	opSubF32
	opMulF32
	opFmaF32
	opAddF64
	opMulF64
	opFmaF64
	opMaxF32
	opSetEqual // hot comparisons
	opSetNotEqual
	opSetLessS32
	opSetLessEqualS32
	opSetLessU32
	opSetLessEqualU32
	opSetLessS64
	opSetLessEqualS64
	opSetLessF32
	opSetLessEqualF32
	opSet       // test, lane by lane
	opSetPlus   // with a second predicate, or a combination
	opSelect    // selp
	opSetLanes  // set: a comparison into a register
	opPredicate // logic of predicates
	opFrame     // an address in the frame
	opCarry     // add.cc and its like
	opClock
	opLoadParam // of the launch: the same for all lanes
	opLoad
	opStore
	opAtomic
	opCopyAsync
	opFence
	opActiveMask
	opBranch
	opBranchTable
	opCall
	opReturn
	opExit
	opTrap
	opBarrier
	opWarpBarrier
	opShuffle
	opVote
	opMatch
	opReduce
	opElect
)

// space is where an address lies.
type space uint8

const (
	generic space = iota
	global        // constants too
	shared
	local
	param // of the entry
)

// Generic addresses of what is no global memory: windows that no process has
// memory in, since addresses end at 2^57 at most.
const (
	sharedWindow   = 1 << 60
	localWindow    = 1 << 61
	paramWindow    = 1 << 62
	functionWindow = 1 << 59 // function pointers: the number of the function
	windowBytes    = 1 << 32
)

// instruction is one, decoded. Registers are slots; -1 is none.
type instruction struct {
	op         opcode
	space      space
	size       uint8 // bytes of one element
	count      uint8 // elements of a vector
	flags      uint8
	guard      int32 // slot of a predicate + 1; negative when negated; 0 for none
	d, a, b, c int32
	target     int32 // of a branch
	offset     uint64
	mask       uint64 // of the destination's width, for loads
	fn         laneFunc
	test       func(a, b uint64) bool
	more       *details
}

// flags
const (
	flagFrame    = 1 << iota // the address is relative to the frame
	flagSigned               // a load extends the sign
	flagStore                // st
	flagNegated              // a predicate operand is
	flagReduce               // no result: red
	flagAbsolute             // no base register
	flagKeep                 // the carry out is kept (carry instructions have no address)
)

// details are what few instructions need.
type details struct {
	elements  []int32 // of a vector; -1 for none
	predicate int32   // a second destination, or an operand
	negated   bool
	combine   func(a, b bool) bool
	call      *call
	table     []int32
	carry     func(a, b, c uint64, in uint64) (uint64, uint64)
	mode      mode
}

// mode says which of several things an instruction does.
type mode uint8

// where says where an instruction came from, for messages.
type where struct {
	line   int
	text   string
	source ptx.Source
	input  string // of several that were linked
}

func (w *where) String() string {
	of := ""
	if w.input != "" {
		of = " of " + w.input
	}
	return fmt.Sprintf("PTX line %d%s (%s)", w.line, of, w.text)
}

// special is a register that is filled in before a warp runs.
type special struct {
	slot int32
	name string
}

type constant struct {
	slot  int32
	value uint64
}

// routine is one function within a program.
type routine struct {
	name      string
	start     int32
	frame     uint64   // bytes: parameters, results, variables
	params    []uint64 // offsets in the frame
	returns   []uint64
	sizes     []uint64 // of params
	outs      []uint64 // of returns
	registers [2]int32 // the slots that are its own
	preds     [2]int32
	recursive bool
}

// program is a kernel with all that it calls, decoded.
type program struct {
	name        string
	code        []instruction
	where       []where
	routines    []routine
	byAddress   map[uint64]int32 // routines that pointers may mean
	slots       int32
	predicates  int32
	constants   []constant
	specials    []special
	carry       int32  // the slot of the carry flags
	statics     uint64 // bytes of static shared memory
	dynamicBase uint64 // where dynamic shared memory begins
	localBytes  uint64
	params      []ptx.Param
	paramBytes  uint64
	reqNTID     [3]uint32
	maxNTID     [3]uint32
	registers   uint32 // of a thread: an estimate
}

// kernel is one entry of a library.
type kernel struct {
	id      driver.Kernel
	library *library
	program *program

	// Guarded by Simulator.mu.
	maxDynamic []uint32          // by device
	set        map[setting]int32 // attributes that are only remembered
}
