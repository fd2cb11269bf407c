// Package dlpack knows tensors as DLPack 1.3 describes them: the structs, the
// data types and their names, and the strided view that is the one inner form of
// every tensor. It must never know CUDA, kernels or handles.
package dlpack

// The structs of dlpack.h. Pointers are numbers here: they lead to memory of
// some producer, or of a device, that Go's collector must not look at. Only
// foreign.go follows them.
type (
	// Device is a DLDevice.
	Device struct {
		Type DeviceType
		ID   int32
	}

	// DataType is a DLDataType.
	DataType struct {
		Code  uint8
		Bits  uint8
		Lanes uint16
	}

	// Tensor is a DLTensor.
	Tensor struct {
		Data       uintptr
		Device     Device
		Rank       int32 // ndim
		Type       DataType
		Shape      uintptr // *int64, Rank of them
		Strides    uintptr // *int64 in elements, or NULL for C order
		ByteOffset uint64
	}

	// ManagedTensor is a DLManagedTensor. A producer's deleter takes the
	// original's address: never a copy's.
	ManagedTensor struct {
		Tensor  Tensor
		Context uintptr // manager_ctx
		Deleter uintptr // NULL is legal
	}

	// Version is a DLPackVersion.
	Version struct {
		Major, Minor uint32
	}

	// ManagedTensorVersioned is a DLManagedTensorVersioned.
	ManagedTensorVersioned struct {
		Version Version
		Context uintptr
		Deleter uintptr
		Flags   Flags
		Tensor  Tensor
	}
)

// The version of DLPack that these structs are. Another major version has
// another layout; a newer minor one adds values, not fields.
const (
	MajorVersion = 1
	MinorVersion = 3
)

// Flags are those of a DLManagedTensorVersioned; an older struct says nothing.
type Flags uint64

const (
	ReadOnly Flags = 1 << 0
	Copied   Flags = 1 << 1
	Padded   Flags = 1 << 2 // each element of less than 8 bits has a byte of its own
)

// MaxRank is the highest rank that dlaunch reads: NumPy's limit. A struct that
// claims more is garbage.
const MaxRank = 64
