// Package prototype reads prototypes: one line of text that states what a
// kernel's parameters are, where neither the driver nor PTX can tell.
//
//	kernel  = [ name ] "(" [ param { "," param } ] ")"
//	param   = ident ":" [ "in" | "out" | "inout" ] type { attr } [ "=" expr ]
//	type    = scalar [ "[" [ dim { "," dim } ] "]" ] [ "?" ]
//	        | "ptr" | "bytes" "(" size [ "," align ] ")"
//	dim     = int | ident | "_" | "..."
//	attr    = "@strided" | "@fortran" | "@view" | "@numba" | "@align(n)" | "@multiple(n)" | "@peer"
//	expr    = [ "-" ] term { "*" term }
//	term    = number | ident | "stride" "(" ident "," axis ")" | "scratch" "(" bytes "," align ")"
//
// Whatever the text alone can prove wrong is refused here, with its column. The
// package knows no kernel, driver or launch: docs/prototypes.md teaches what the
// parts mean there.
package prototype

import "dlaunch/dlpack"

// MaxParams is the most parameters that a prototype may have; a rank is at most
// dlpack.MaxRank.
const MaxParams = 1024

// MaxParamBytes is the most that any kernel takes, all parameters together
// (CUDA 12.1 and newer; 4096 before).
const MaxParamBytes = 32764

// Prototype is a text that has been read and checked.
type Prototype struct {
	Name   string // "" when the text gives none
	Params []Param
	Sizes  []string // the names of sizes, in order of appearance
}

// Param is one parameter. It is exactly one of: a tensor (Tensor), a raw
// address (Pointer), a struct by value (Bytes.Size > 0), or else a scalar.
type Param struct {
	Name     string
	Column   int // of the name, counted in bytes from 1
	Mode     Mode
	Scalar   Scalar // the element type of a tensor, or the type of a scalar
	Tensor   bool
	Dims     []Dim
	OpenRank bool // a "..." stands before Dims: they are the trailing ones
	Nullable bool
	Pointer  bool
	Bytes    Bytes
	Attrs    Attrs
	Fill     *Expr // what it is filled in with; nil: the caller passes it
}

// Mode says what the kernel does to a tensor.
type Mode uint8

const (
	In Mode = iota
	Out
	InOut
)

// String gives the mode's word.
func (m Mode) String() string { return [...]string{In: "in", Out: "out", InOut: "inout"}[m] }

// Bytes is a struct by value. Without a given alignment it is the highest power
// of two that divides the size, but 8 at most.
type Bytes struct{ Size, Align uint32 }

// DimKind says what an extent must be.
type DimKind uint8

const (
	Fixed DimKind = iota // Extent
	Named                // the value that the size Name has in this launch
	Free                 // anything
)

// Dim is one extent of a tensor.
type Dim struct {
	Kind   DimKind
	Extent int64
	Name   string
	Size   int // index in Prototype.Sizes
}

// Attrs are the attributes that a parameter has.
type Attrs struct {
	Strided  bool   // any layout
	Fortran  bool   // first axis fastest
	View     bool   // passed as the struct of dlaunch_device.cuh
	Numba    bool   // passed as numba-cuda's flattened array
	Peer     bool   // another device's memory is meant
	Align    uint32 // the address is a multiple of it, a power of two; 0: not given
	Multiple int64  // the integer is a multiple of it; 0: not given
}

// Expr is what fills a parameter in: a product.
type Expr struct {
	Negative bool
	Factors  []Factor
	Column   int
}

// FactorKind says what a factor is.
type FactorKind uint8

const (
	Number    FactorKind = iota // Value
	Size                        // Prototype.Sizes[Index]
	Parameter                   // Prototype.Params[Index], an integer that the caller passes
	Stride                      // of axis Axis of Prototype.Params[Index], in elements
	Scratch                     // the address of Value bytes a block, aligned to Align; the only factor
)

// Factor is one factor of an Expr.
type Factor struct {
	Kind   FactorKind
	Value  int64
	Name   string // of the size, parameter or tensor
	Index  int
	Axis   int
	Align  uint32
	Column int
}

// Constant gives the product of the numbers of an expression, with its sign, and
// whether that is all there is to it.
func (e *Expr) Constant() (product int64, only bool) {
	product, only = 1, true
	if e.Negative {
		product = -1
	}
	for _, f := range e.Factors {
		if f.Kind == Number {
			product *= f.Value
		} else {
			only = false
		}
	}
	return product, only
}

// Scalar is a scalar type: one data type, any of a width, or any at all.
type Scalar struct {
	Wildcard Wildcard
	Type     dlpack.DataType // for Width only the bits count
}

// Wildcard says how much of a data type is left open.
type Wildcard uint8

const (
	Exact Wildcard = iota
	Width          // b8 to b64: whatever has that many bits
	Anything
)

// integer says whether the type is a whole number with a sign that is known.
func (s Scalar) integer() bool {
	return s.Wildcard == Exact && (s.Type.Code == dlpack.Int || s.Type.Code == dlpack.UInt)
}

// isScalar says whether a parameter is passed by value as one number.
func (p *Param) isScalar() bool { return !p.Tensor && !p.Pointer && p.Bytes.Size == 0 }
