package driver

// LinkKind says what an input of a linker is.
type LinkKind int

// What a linker takes.
const (
	LinkPTX LinkKind = iota
	LinkCubin
	LinkFatbin
	LinkObject  // of the host, with device code inside
	LinkArchive // of such objects
	LinkLTOIR   // nvJitLink only
)

// LinkInput is one input of a linker. PTX gets its NUL there.
type LinkInput struct {
	Kind LinkKind
	Data []byte
	Name string // for the linker's messages
}
