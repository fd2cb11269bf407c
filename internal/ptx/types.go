package ptx

// SizeOf gives the bytes of a fundamental type (".u32", "u32" ...); 0 for one
// that is unknown. Opaque types are handles of 8 bytes.
func SizeOf(name string) uint64 {
	if len(name) > 0 && name[0] == '.' {
		name = name[1:]
	}
	switch name {
	case "b8", "u8", "s8", "pred", "e4m3", "e5m2":
		return 1
	case "b16", "u16", "s16", "f16", "bf16", "e4m3x2", "e5m2x2":
		return 2
	case "b32", "u32", "s32", "f32", "f16x2", "bf16x2", "tf32", "u16x2", "s16x2":
		return 4
	case "b64", "u64", "s64", "f64", "f32x2", "texref", "samplerref", "surfref":
		return 8
	case "b128":
		return 16
	}
	return 0
}

// vectorOf gives the elements of .v2, .v4, .v8.
func vectorOf(name string) uint64 {
	switch name {
	case ".v2":
		return 2
	case ".v4":
		return 4
	case ".v8":
		return 8
	}
	return 0
}

// Version is that of the language: `.version 9.0`.
type Version struct{ Major, Minor int }

// Less says whether v is the older one.
func (v Version) Less(w Version) bool {
	return v.Major < w.Major || v.Major == w.Major && v.Minor < w.Minor
}

// Param is one parameter of an entry or a function.
type Param struct {
	Name   string
	Type   string // ".u64", ".b8" ...
	Size   uint64 // in bytes; of an array all of it
	Align  uint64
	Offset uint64 // in the parameter buffer
	Array  bool
}

// mostBytes bounds sizes that a text may state, far beyond any device.
const mostBytes = 1 << 40

// place lays parameters out as the driver does: each at the next multiple of
// its alignment. It gives the end of the last.
func place(params []Param) uint64 {
	end := uint64(0)
	for i := range params {
		p := &params[i]
		end = (end + p.Align - 1) / p.Align * p.Align
		p.Offset = end
		end += p.Size
	}
	return end
}
