package handles

import "fmt"

// Kind says what a handle stands for.
type Kind uint8

const (
	Any     Kind = 0 // as a wanted kind only: whatever the handle is
	Library Kind = 1
	Kernel  Kind = 2
	Tensor  Kind = 3
	Array   Kind = 4
	Stream  Kind = 5
	Event   Kind = 6
	Capture Kind = 7 // a launch that a CUDA graph holds: never the user's
	Graph   Kind = 8 // a CUDA graph that can be launched
)

var kindNames = [...]string{
	Any: "handle", Library: "library", Kernel: "kernel", Tensor: "tensor",
	Array: "array", Stream: "stream", Event: "event", Capture: "captured launch", Graph: "graph",
}

// String gives the kind's name as messages and reports spell it.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return kindNames[k]
}

// article gives the name with its article, for messages.
func (k Kind) article() string {
	switch k {
	case Any:
		return "an open handle"
	case Array, Event:
		return "an " + k.String()
	}
	return "a " + k.String()
}

// Handle is the number that callers hold: kind, generation and slot, from the
// highest bit down. Its 53 bits fit a double, and since a kind is never 0 every
// handle is at least First, 2^48: no native stream, small integer or user-space
// address of 47 bits is taken for one.
type Handle uint64

const (
	slotBits       = 24
	generationBits = 24
	kindBits       = 5

	generationShift = slotBits
	kindShift       = slotBits + generationBits
)

// First is the least number that may be a handle.
const First = 1 << kindShift

func encode(kind Kind, generation, slot uint32) Handle {
	return Handle(kind)<<kindShift | Handle(generation)<<generationShift | Handle(slot)
}

// Kind gives what the number claims to stand for; a number that is no handle
// claims Any, or a kind that does not exist.
func (h Handle) Kind() Kind {
	if h >= 1<<(kindShift+kindBits) {
		return Any
	}
	return Kind(h >> kindShift)
}

// Slot gives the place in the table, below 2^24: what C keeps beside a handle
// is found by it.
func (h Handle) Slot() uint32 { return uint32(h & (1<<slotBits - 1)) }

func (h Handle) generation() uint32 {
	return uint32(h >> generationShift & (1<<generationBits - 1))
}
