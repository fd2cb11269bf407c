package ptx

// Module is a whole PTX text, names resolved.
type Module struct {
	Version   Version
	Target    string
	Variables []Variable
	Functions []Function // entries and functions in order; a prototype has no Defined
}

// Linkage says who sees a name of the module. One without any of these is the
// text's own.
type Linkage struct{ Extern, Visible, Weak bool }

// Variable is memory with a name: of the module, or of one function.
type Variable struct {
	Name  string
	Space string // ".global", ".const", ".shared", ".local", ".param"
	Type  string
	Size  uint64 // in bytes; 0 for `.extern .shared s[]`
	Align uint64
	Linkage
	Unsized bool
	Initial []Initial // from the beginning; the rest is 0
	Line    int
}

// Initial is one initial value and the bytes that it fills.
type Initial struct {
	Offset uint64
	Size   uint64
	Bits   uint64
	Symbol string // the address of this is added to Bits, unless ""
	Shift  uint   // 0xFF00(symbol) takes these bits down
}

// Function is an .entry or a .func.
type Function struct {
	Name string
	Linkage
	Input        string // of Link: the text it is from
	Line         int
	Entry        bool
	Defined      bool
	Params       []Param
	Returns      []Param
	ParamsSize   uint64
	ReqNTID      [3]uint32
	MaxNTID      [3]uint32
	MinBlocks    uint32 // .minnctapersm; 0 when not given
	MaxRegisters uint32 // .maxnreg; 0 when not given
	Registers    []Register
	Variables    []Variable // .local, .shared, .param of the body
	Instructions []Instruction
	BranchTables [][]int // of .branchtargets: indices of instructions
}

// Register is one virtual register.
type Register struct {
	Name   string
	Type   string // ".pred", ".b32" ...
	Vector uint64 // 0, 2, 4: elements of a vector
}

// Guard is `@%p1` or `@!%p1`.
type Guard struct {
	Register int
	Negated  bool
}

// Instruction is one statement.
type Instruction struct {
	Line      int
	Guard     *Guard
	Name      string   // "ld"
	Modifiers []string // "global", "v2", "f32"
	Operands  []Operand
	Source    Source // the last .loc
}

// Text gives the opcode as written: ld.global.f32.
func (i *Instruction) Text() string {
	text := i.Name
	for _, m := range i.Modifiers {
		text += "." + m
	}
	return text
}

// Source is a line of the program that the PTX was compiled from.
type Source struct {
	File string
	Line int
}

// OperandKind says which fields of an Operand count.
type OperandKind uint8

const (
	RegisterOperand    OperandKind = iota // Register, Component, Negated
	SpecialOperand                        // Name: "%tid.x"
	IntegerOperand                        // Bits
	Float32Operand                        // Bits
	Float64Operand                        // Bits
	SymbolOperand                         // Name, Offset: a variable of the module
	VariableOperand                       // Index, Offset: a variable of the function
	ParamOperand                          // Index, Offset: a parameter; Return for one that is returned
	LabelOperand                          // Index: an instruction
	FunctionOperand                       // Name
	VectorOperand                         // Elements: {a, b}
	ListOperand                           // Elements: (a, b)
	AddressOperand                        // Elements: the base, or none; Offset
	PairOperand                           // Elements: p|q
	SinkOperand                           // _
	BranchTableOperand                    // Index
	PrototypeOperand                      // Name: of a .callprototype
)

// Operand is one operand. Names that stand for something are resolved.
type Operand struct {
	Kind      OperandKind
	Negated   bool // !p
	Return    bool
	Component int8 // of a vector register: 0 to 3; -1 for all of it
	Register  int
	Index     int
	Name      string
	Bits      uint64
	Offset    int64
	Elements  []Operand
}
