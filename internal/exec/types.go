package exec

/*
#include "exec.h"
*/
import "C"

import "unsafe"

// The structs below have the layout of their namesakes in exec.h and dlaunch.h,
// so that slices of them are copied as they are; the array lengths below do not
// compile if a size differs.
type (
	// Step is dl_step: how one argument of the caller is checked and packed.
	Step struct {
		Op, Format, Form, Rank uint8
		Flags                  uint16
		_                      uint16
		Offset, Size           uint32
		DType, DTypeMask       uint32
		Align                  uint32
		Dims                   uint32
	}
	// Dim is dl_dim: one extent that a prototype gives.
	Dim struct {
		Size  int32 // a size variable, AnyExtent or FixedExtent
		_     uint32
		Value int64
	}
	// Term is dl_term: a factor of a derived parameter.
	Term struct {
		Kind, Format  uint8
		Index         uint16
		Offset, Width uint32
	}
	// Derived is dl_derived: a parameter that is filled in, never passed.
	Derived struct {
		Format           uint8
		IsScratch        bool
		_                [2]uint8
		Offset, Size     uint32
		_                uint32
		Factor, Multiple int64
		Terms, NumTerms  uint32
	}
	// Fault is dl_fault: why a launch was refused.
	Fault struct {
		Reason     Reason
		Argument   int32
		Axis       int32
		DriverCode int32
		Found      int64
		Wanted     int64
	}
	// Range is dl_range: what an argument lets a simulated kernel touch.
	Range struct {
		Argument, Flags uint32
		Data, Low, High uint64
		DType           uint32
		_               uint32
	}
	// Arg is dlaunch_arg.
	Arg struct {
		Kind, Flags uint16
		Size        uint32
		Value       uint64
	}
	// Config is dlaunch_config.
	Config struct {
		StructSize    uint32
		Grid          [3]uint32
		Block         [3]uint32
		Cluster       [3]uint32
		SharedBytes   uint32
		Flags         uint32
		Stream        uint64
		Attributes    uintptr
		NumAttributes uint32
		_             uint32
	}
)

var (
	_ = [1]struct{}{}[unsafe.Sizeof(Step{})-unsafe.Sizeof(C.dl_step{})]
	_ = [1]struct{}{}[unsafe.Sizeof(Dim{})-unsafe.Sizeof(C.dl_dim{})]
	_ = [1]struct{}{}[unsafe.Sizeof(Term{})-unsafe.Sizeof(C.dl_term{})]
	_ = [1]struct{}{}[unsafe.Sizeof(Derived{})-unsafe.Sizeof(C.dl_derived{})]
	_ = [1]struct{}{}[unsafe.Sizeof(Fault{})-unsafe.Sizeof(C.dl_fault{})]
	_ = [1]struct{}{}[unsafe.Sizeof(Range{})-unsafe.Sizeof(C.dl_range{})]
	_ = [1]struct{}{}[unsafe.Sizeof(Arg{})-unsafe.Sizeof(C.dlaunch_arg{})]
	_ = [1]struct{}{}[unsafe.Sizeof(Config{})-unsafe.Sizeof(C.dlaunch_config{})]
)

// Program is a kernel's parameters, compiled.
type Program struct {
	Params  []byte // the buffer's beginning, with every constant in place
	Steps   []Step // one an argument of the caller
	Dims    []Dim
	Derived []Derived
	Terms   []Term
	Sizes   int // how many size variables
	Bound   *Bound
}

// Bound is what bound arguments left in a program, with their bytes in Params.
type Bound struct {
	Sizes  []int64 // the value of each size; -1 if a launch gives it
	Ranges []Range // of tensors; the simulator's
	Device int32   // of tensors; -1
}

// Limits are what a launch on one device is checked against.
type Limits struct {
	Threads     uint32
	Block, Grid [3]uint32
	Shared      uint32
}

// Values of Step.Op, Step.Format, Step.Flags, Dim.Size and Term.Kind.
const (
	OpTensor  = C.DL_OP_TENSOR
	OpScalar  = C.DL_OP_SCALAR
	OpPointer = C.DL_OP_POINTER
	OpBytes   = C.DL_OP_BYTES
	OpUntyped = C.DL_OP_UNTYPED

	FormatNone     = C.DL_FORMAT_NONE
	FormatBool     = C.DL_FORMAT_BOOL
	FormatSigned   = C.DL_FORMAT_SIGNED
	FormatUnsigned = C.DL_FORMAT_UNSIGNED
	FormatFloat    = C.DL_FORMAT_FLOAT
	FormatBFloat   = C.DL_FORMAT_BFLOAT
	FormatBits     = C.DL_FORMAT_BITS
	FormatAddress  = C.DL_FORMAT_ADDRESS
	FormatOpaque   = C.DL_FORMAT_OPAQUE
	FormatFloat8   = C.DL_FORMAT_FLOAT8

	Nullable = C.DL_NULLABLE
	Written  = C.DL_WRITTEN
	Read     = C.DL_READ
	Marked   = C.DL_MARKED
	Fortran  = C.DL_FORTRAN
	Strided  = C.DL_STRIDED
	OpenRank = C.DL_OPEN_RANK
	Peer     = C.DL_PEER
	Multiple = C.DL_MULTIPLE
	Plain    = C.DL_PLAIN

	FormPointer = C.DL_FORM_POINTER
	FormView    = C.DL_FORM_VIEW
	FormNumba   = C.DL_FORM_NUMBA

	AnyExtent   = -1
	FixedExtent = -2

	TermSize      = C.DL_TERM_SIZE
	TermParameter = C.DL_TERM_PARAMETER
	TermStride    = C.DL_TERM_STRIDE
)

// Flags of Config, kinds and flags of Arg.
const (
	ArgNone      = C.DLAUNCH_ARG_NONE
	ArgTensor    = C.DLAUNCH_ARG_TENSOR
	ArgManaged   = C.DLAUNCH_ARG_MANAGED
	ArgVersioned = C.DLAUNCH_ARG_VERSIONED
	ArgInt       = C.DLAUNCH_ARG_INT
	ArgUint      = C.DLAUNCH_ARG_UINT
	ArgFloat     = C.DLAUNCH_ARG_FLOAT
	ArgBool      = C.DLAUNCH_ARG_BOOL
	ArgBytes     = C.DLAUNCH_ARG_BYTES
	ArgPointer   = C.DLAUNCH_ARG_POINTER
	ArgHandle    = C.DLAUNCH_ARG_HANDLE

	CheckPointers = C.DLAUNCH_CHECK_POINTERS

	ArgIn    = C.DLAUNCH_IN
	ArgOut   = C.DLAUNCH_OUT
	ArgWhole = C.DLAUNCH_WHOLE

	ParameterBound = C.DLAUNCH_BOUND // of Parameter.Mode
	BoundArgument  = C.DL_BOUND      // of Range.Argument

	MemoryHost = C.DL_MEMORY_HOST // of Fault.Found and Wanted, for PointerMemory
)

// Reason says why a launch was refused; exec.h explains each and its numbers.
type Reason int32

const (
	OK              Reason = C.DL_OK
	Attention       Reason = C.DL_ATTENTION
	StaleKernel     Reason = C.DL_STALE_KERNEL
	StaleStream     Reason = C.DL_STALE_STREAM
	StaleArgument   Reason = C.DL_STALE_ARGUMENT
	BadConfig       Reason = C.DL_CONFIG
	ConfigBits      Reason = C.DL_CONFIG_BITS
	Count           Reason = C.DL_COUNT
	NoArguments     Reason = C.DL_ARGUMENTS
	ArgumentFlags   Reason = C.DL_FLAGS
	Kind            Reason = C.DL_KIND
	Null            Reason = C.DL_NULL
	Version         Reason = C.DL_VERSION
	OutOfRange      Reason = C.DL_RANGE
	Precision       Reason = C.DL_PRECISION
	Bytes           Reason = C.DL_BYTES
	DType           Reason = C.DL_DTYPE
	Rank            Reason = C.DL_RANK
	Extent          Reason = C.DL_EXTENT
	Negative        Reason = C.DL_NEGATIVE
	Overflow        Reason = C.DL_OVERFLOW
	Layout          Reason = C.DL_LAYOUT
	Overlap         Reason = C.DL_OVERLAP
	NullData        Reason = C.DL_NULL_DATA
	Crooked         Reason = C.DL_CROOKED
	Reach           Reason = C.DL_REACH
	Alignment       Reason = C.DL_ALIGNMENT
	ReadOnly        Reason = C.DL_READ_ONLY
	DeviceType      Reason = C.DL_DEVICE_TYPE
	Device          Reason = C.DL_DEVICE
	StreamDevice    Reason = C.DL_STREAM_DEVICE
	PointerGone     Reason = C.DL_POINTER_GONE
	PointerMemory   Reason = C.DL_POINTER_MEMORY
	PointerDevice   Reason = C.DL_POINTER_DEVICE
	PointerRange    Reason = C.DL_POINTER_RANGE
	PointerUnknown  Reason = C.DL_POINTER_UNKNOWN
	Host            Reason = C.DL_HOST
	DerivedRange    Reason = C.DL_DERIVED_RANGE
	DerivedOverflow Reason = C.DL_DERIVED_OVERFLOW
	Unbound         Reason = C.DL_UNBOUND
	DerivedMultiple Reason = C.DL_DERIVED_MULTIPLE
	Scratch         Reason = C.DL_SCRATCH
	NotMultiple     Reason = C.DL_NOT_MULTIPLE
	Grid            Reason = C.DL_GRID
	Block           Reason = C.DL_BLOCK
	Shared          Reason = C.DL_SHARED
	Cluster         Reason = C.DL_CLUSTER
	Attributes      Reason = C.DL_ATTRIBUTES
	NoLimits        Reason = C.DL_LIMITS
	Captured        Reason = C.DL_CAPTURED
	DriverRefused   Reason = C.DL_DRIVER
)

// String gives the reports' word for what left the fast path.
func (r Reason) String() string { return C.GoString(C.dl_reason_name(C.int32_t(r))) }
