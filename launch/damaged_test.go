package launch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/status"
)

func refusedAsDamaged(t *testing.T, image []byte, said string) {
	t.Helper()
	_, err := examine(image, "image", 13000)
	var e *status.Error
	require.True(t, errors.As(err, &e), "%v", err)
	require.Equal(t, status.Image, e.Code)
	require.Contains(t, e.Message, said)
}

// One bit of these crashed a process in the driver, or in its linker (580).
func TestBitsThatCrashedTheDriver(t *testing.T) {
	for _, c := range []struct {
		file string
		at   int
		bit  int
		said string
	}{
		{"kernels/saxpy_carried.cubin", 0xd38, 5, `its section ".note.nv.cuinfo" begins at byte 1520, within its section ".note.nv.tkinfo"`},
		{"linking/caller.cubin", 0x2268, 7, `begins at byte 3272, within its section ".note.nv.tkinfo"`},
		{"linking/caller.cubin", 0x2790, 6, `the name of its section 26 lies outside of ".shstrtab"`},
		{"linking/whole.o", 0x9f0, 2, `".nv.info" has attribute 0x12, whose value 0f 00 00 00 00 00 00 00 cannot be`},
		{"linking/whole.o", 0x1020, 4, `begins at byte 1420, within its section ".note.nv.tkinfo"`},
		{"linking/whole.o", 0x10b6, 2, `".nv.info" is about sections 3 and 262144; there are 18`},
		{"linking/libcallee.a", 0x1e0, 4, "file 1 of the archive: the object is truncated"},
		{"linking/libcallee.a", 0x390, 6, "file 1 of the archive: the fatbin is truncated"},
		// The rest are bits of compressed members; what unpacks is wrong in many places.
		{"linking/callee.o", 0x348, 3, "the cubin in the fatbin is truncated: it has 3400 bytes, its headers need 10352"},
		{"linking/callee.o", 0x3f0, 2, "1024 compressed bytes do not become 3400"},
		{"linking/libcallee.a", 0x5b8, 5, `".rela.debug_frame" begins at byte 1906, which its alignment 8 does not divide`},
		{"linking/libcallee.a", 0x6c0, 0, `its ELF header begins at byte 0, within its section ".rela.text._Z5twicei"`},
		{"linking/libcallee.a", 0x750, 6, "the cubin in the fatbin is truncated"},
		{"linking/libcallee.a", 0x768, 7, "the name of its section 15 lies outside"},
	} {
		image, err := os.ReadFile(filepath.Join("../testdata", c.file))
		require.NoError(t, err)
		image[c.at] ^= 1 << c.bit
		refusedAsDamaged(t, image, c.said)
	}
}

// headerOf gives where the header of a section is.
func headerOf(t *testing.T, image []byte, name string) uint64 {
	t.Helper()
	for i, s := range elfSections(image) {
		if s.name == name {
			at, _, _ := sectionTable(image)
			return at + uint64(i)*sectionHeaderBytes
		}
	}
	t.Fatalf("no section %s", name)
	return 0
}

func TestDamagedCubins(t *testing.T) {
	caller, err := os.ReadFile("../testdata/linking/caller.cubin")
	require.NoError(t, err)
	saxpy, err := os.ReadFile("../testdata/kernels/saxpy_carried.cubin")
	require.NoError(t, err)
	const toName, toKind, toOffset, toSize, toLink, toInfo, toAlign, toEach = 0, 4, 24, 32, 40, 44, 48, 56
	word := binary.LittleEndian
	for name, c := range map[string]struct {
		image   []byte
		section string // whose header or content is changed
		inside  bool
		at      uint64
		value   uint32
		said    string
	}{
		"an alignment":                {caller, ".text.apply", false, toAlign, 129, "aligned to 129 bytes, which is no power of two"},
		"a place that is not aligned": {caller, ".debug_frame", false, toAlign, 512, "begins at byte 2688, which its alignment 512 does not divide"},
		"a section over another":      {caller, ".debug_frame", false, toSize, 0x1a4, `its section ".note.nv.tkinfo" begins at byte 3104, within its section ".debug_frame"`},
		"a section over the headers":  {caller, ".nv.constant0.apply", false, toSize, 0x224, `its table of sections begins at byte 8464, within its section ".nv.constant0.apply"`},
		"a section beyond":            {caller, ".nv.constant0.apply", false, toSize, 1 << 20, "the cubin is truncated"},
		"where names are":             {caller, ".shstrtab", false, toKind, sectionContent, `".shstrtab" holds no names`},
		"names without end":           {caller, ".strtab", false, toSize, 0x3d9, `".symtab" is about section 2, which is no table of names`},
		"a kind":                      {caller, ".nv.info", false, toKind, sectionNote, `".nv.info" has a record of`},
		"a kind that is unused":       {caller, ".note.nv.cuinfo", false, toKind, sectionUnused, `".note.nv.cuinfo" is of kind 0x0; 0x7 is wanted`},
		"a name":                      {caller, ".nv.compat", false, toName, 0, `"" is of kind 0x70000086, which has another name`},
		"what names are of":           {caller, ".symtab", false, toLink, 500, `".symtab" is about sections 500 and`},
		"what symbols are of":         {caller, ".rela.text.apply", false, toLink, 2, `".rela.text.apply" is about section 2, which is no table of symbols`},
		"what is relocated":           {caller, ".rela.text.apply", false, toInfo, 500, `".rela.text.apply" is about sections 3 and 500; there are 27`},
		"the size of entries":         {caller, ".rela.text.apply", false, toEach, 25, `".rela.text.apply" has 168 bytes in entries of 25; entries of 24 are wanted`},
		"half an entry":               {caller, ".nv.callgraph", false, toSize, 36, `".nv.callgraph" has 36 bytes in entries of 8`},
		"a function's symbol":         {caller, ".text.apply", false, toInfo, 23, `".text.apply" is said to be symbol 23, which is no function in it`},
		"a function's attributes":     {caller, ".nv.info.apply", false, toInfo, 20, `".nv.info.apply" is said to be of section 20, which is not ".text.apply"`},
		"a function's parameters":     {caller, ".nv.constant0.apply", false, toInfo, 20, `".nv.constant0.apply" is said to be of section 20`},

		"a symbol's name":        {caller, ".symtab", true, symbolBytes, 1 << 30, "a symbol whose name lies outside"},
		"a symbol's section":     {caller, ".symtab", true, symbolBytes + 4, 500 << 16, "a symbol in section 500; there are 27"},
		"a symbol's size":        {caller, ".symtab", true, 27*symbolBytes + 16, 0x301, `a symbol ("apply") that lies outside of section ".text.apply"`},
		"a relocation's place":   {caller, ".rela.text.apply", true, 0, 1 << 20, "a relocation of what is not there"},
		"a place in code":        {caller, ".rela.text.apply", true, 0, 4, "a relocation at 4, where no instruction or number begins"},
		"a place near the end":   {caller, ".rela.debug_frame", true, 0, 0x19e, "a relocation at 414, where no"},
		"a relocation's kind":    {caller, ".rela.text.apply", true, 8, 1 << 7, "a relocation of kind 128"},
		"a relocation's symbol":  {caller, ".rela.text.apply", true, 12, 5000, "a relocation by symbol 5000"},
		"who is called":          {caller, ".nv.callgraph", true, 4, 33, "symbol 0 calls 33; there are 33"},
		"a type of functions":    {caller, ".nv.prototype", true, 4, 1 << 20, "a symbol or a name that is not there"},
		"a note's owner":         {caller, ".note.nv.tkinfo", true, 0, 1 << 31, "a record of 2147483804 bytes in the last 168"},
		"a note's size":          {caller, ".note.nv.cuinfo", true, 4, 4, "ends in 4 bytes that are no record"},
		"a note's texts":         {caller, ".note.nv.tkinfo", true, 24 + 8, 1 << 10, "a record of texts, which lie outside"},
		"an attribute's form":    {caller, ".nv.info.apply", true, 0, 5, "has at byte 0 no attribute"},
		"an attribute's size":    {caller, ".nv.info", true, 0, 0x200<<16 | 0x2f<<8 | 4, `".nv.info" has attribute 0x2f of 512 bytes in the last 144`},
		"an attribute's symbol":  {caller, ".nv.info", true, 4, 33, `".nv.info" has attribute 0x2f, whose value 21 00 00 00`},
		"a place in no code":     {caller, ".nv.info.apply", true, 0x48, 0x300, `has attribute 0x1c, whose value 00 03 00 00`},
		"too many parameters":    {caller, ".nv.info.apply", true, 0x64, 0x10<<16 | 0x210, "has attribute 0xa, whose value"},
		"a parameter's number":   {caller, ".nv.info.apply", true, 0x10, 8<<16 | 0xffff, "has attribute 0x17, whose value"},
		"another's function":     {caller, ".nv.info.apply", true, 0x34, 33, "has attribute 0xf, whose value 21 00 00 00 cannot be"},
		"a kind of attribute":    {caller, ".nv.compat", true, 0, 0, `".nv.compat" has at byte 0 no attribute`},
		"a kernel that has none": {saxpy, ".symtab", true, 11 * symbolBytes, 0, `its kernel "" has no section ".text."`},

		"a segment's kind":   {saxpy, "", true, 2 * segmentBytes, 2, `".nv.constant4" is in none of the segments that are loaded`},
		"a segment's place":  {saxpy, "", true, 3*segmentBytes + 8, 0x788, "its segment 3 has 512 bytes from 1928 on"},
		"a segment's size":   {saxpy, "", true, 3*segmentBytes + 32, 0x300, "its segment 3 has 768 bytes from 1920 on, 512 in memory"},
		"a segment's memory": {saxpy, "", true, 3*segmentBytes + 44, 1, "from 1920 on, 4294967808 in memory"},
	} {
		t.Run(name, func(t *testing.T) {
			image := bytes.Clone(c.image)
			at := word.Uint64(image[32:]) // the segments
			if c.section != "" {
				at = headerOf(t, image, c.section)
			}
			if c.section != "" && c.inside {
				at = word.Uint64(image[at+toOffset:])
			}
			word.PutUint32(image[at+c.at:], c.value)
			refusedAsDamaged(t, image, c.said)
		})
	}
}

// What is around cubins.
func TestDamagedContainers(t *testing.T) {
	const kind, headerBytes, size, packed, options, flags, whole = 0, 4, 8, 16, 20, 40, 56
	word := binary.LittleEndian
	fat, cubin := imageFile(t, "whole.fatbin"), imageFile(t, "caller.cubin")
	second := fatbinHeaderBytes + 64 + word.Uint64(fat[fatbinHeaderBytes+size:]) // PTX, compressed
	for name, c := range map[string]struct {
		image  []byte
		damage func(image []byte)
		said   string
	}{
		"a member's size":            {fat, func(i []byte) { word.PutUint64(i[fatbinHeaderBytes+size:], 1<<40) }, "after 0 members, a header does not fit"},
		"a member's header":          {fat, func(i []byte) { word.PutUint32(i[fatbinHeaderBytes+headerBytes:], 8) }, "after 0 members, a header does not fit"},
		"a member's options":         {fat, func(i []byte) { word.PutUint32(i[second+options:], 1<<20) }, "after 1 members, a header does not fit"},
		"a member's compressed size": {fat, func(i []byte) { word.PutUint32(i[second+packed:], 1<<30) }, "of a member's 280 bytes, 1073741824 are said to be compressed"},
		"compressed, but not how":    {fat, func(i []byte) { word.PutUint32(i[second+flags:], 0x11) }, "280 are said to be compressed, and its flags are 0x11"},
		"how, but not compressed":    {fat, func(i []byte) { word.PutUint32(i[fatbinHeaderBytes+flags:], 0x8011) }, "0 are said to be compressed, and its flags are 0x8011"},
		"what a member becomes":      {fat, func(i []byte) { i[second+whole]++ }, "280 compressed bytes do not become 461"},
		"far too much":               {fat, func(i []byte) { i[second+whole+5] = 1 }, "is said to become 1099511628236 bytes; at most 1073741824 are taken"},
		"compressed text":            {fat, func(i []byte) { i[second+80+20] ^= 1 << 4 }, "280 compressed bytes do not become 460"},
		"a cubin in a fatbin":        {fatbin(cubin), func(i []byte) { word.PutUint64(i[fatbinHeaderBytes+64+40:], 1<<40) }, "the cubin in the fatbin is truncated"},
		"text with a NUL in it":      {fatbin([]byte(".version 8.0\x00.target")), func(i []byte) { word.PutUint16(i[fatbinHeaderBytes+kind:], memberPTX) }, "the PTX in the fatbin has a NUL"},
		"an object's fatbin":         {imageFile(t, "callee.o"), func(i []byte) { i[0x1d0] ^= 1 }, `the fatbin is damaged: it begins with "Q`},
		"an object's section":        {imageFile(t, "callee.o"), func(i []byte) { i[0x13c8+6*sectionHeaderBytes+24] = 0xc8 }, `"__nv_relfatbin" begins at byte 456, within its section "__nv_module_id"`},
		"a cubin in an archive":      {archive([]byte("text"), cubin), func(i []byte) { word.PutUint64(i[8+60+4+60+40:], 1<<40) }, "file 1 of the archive: the cubin is truncated"},
		"an archive's header":        {imageFile(t, "libcallee.a"), func(i []byte) { i[8+58] = 'x' }, "the archive is damaged: at byte 8"},
		"an archive's size":          {imageFile(t, "libcallee.a"), func(i []byte) { i[8+48] = 'x' }, "the archive is damaged: at byte 8"},
	} {
		t.Run(name, func(t *testing.T) {
			image := bytes.Clone(c.image)
			_, err := examine(image, name, 13000)
			if name != "text with a NUL in it" {
				require.NoError(t, err)
			}
			c.damage(image)
			refusedAsDamaged(t, image, c.said)
		})
	}
}
