package ptx

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

const linkHead = ".version 8.0\n.target sm_75\n.address_size 64\n"

func linked(t *testing.T, texts ...string) (*Module, error) {
	t.Helper()
	var modules []*Module
	var names []string
	for i, text := range texts {
		module, err := Parse([]byte(linkHead + text))
		require.NoError(t, err)
		modules, names = append(modules, module), append(names, string(rune('a'+i)))
	}
	return Link(modules, names)
}

func TestLinkResolves(t *testing.T) {
	const f, decl = ".visible .func f() { ret; }", ".extern .func f();"
	for name, c := range map[string]struct {
		texts     []string
		functions map[string]string // those that are defined, and from where
		variables map[string]uint64 // sizes
	}{
		"an extern function":         {[]string{decl, f}, map[string]string{"f": "b"}, nil},
		"one that comes first":       {[]string{f, decl}, map[string]string{"f": "a"}, nil},
		"one that nobody has":        {[]string{decl, decl}, map[string]string{}, nil},
		"a weak one and a strong":    {[]string{".weak .func f() { ret; }", f}, map[string]string{"f": "b"}, nil},
		"a strong one and a weak":    {[]string{f, ".weak .func f() { ret; }"}, map[string]string{"f": "a"}, nil},
		"two weak ones":              {[]string{".weak .func f() { ret; }", ".weak .func f() { ret; }"}, map[string]string{"f": "a"}, nil},
		"own ones":                   {[]string{".func f() { ret; }", ".func f() { ret; }"}, map[string]string{"f$1": "a", "f$2": "b"}, nil},
		"an own and a shown one":     {[]string{".func f() { ret; }", f}, map[string]string{"f$1": "a", "f": "b"}, nil},
		"an own one, and its number": {[]string{".func f() { ret; }", f + ".visible .func f$1() { ret; }"}, map[string]string{"f$1$1": "a", "f": "b", "f$1": "b"}, nil},
		"an extern variable":         {[]string{".extern .global .u32 v;", ".visible .global .u32 v;"}, nil, map[string]uint64{"v": 4}},
		"one of no size":             {[]string{".extern .global .b8 v[];", ".visible .global .b8 v[7];"}, nil, map[string]uint64{"v": 7}},
		"weak variables":             {[]string{".weak .global .u32 v = 1;", ".weak .global .u32 v = 2;"}, nil, map[string]uint64{"v": 4}},
		"own variables":              {[]string{".global .u32 v;", ".const .u64 v;"}, nil, map[string]uint64{"v$1": 4, "v$2": 8}},
		"dynamic shared memory":      {[]string{".extern .shared .b8 s[];", ".extern .shared .b8 s[];"}, nil, map[string]uint64{"s": 0}},
	} {
		t.Run(name, func(t *testing.T) {
			module, err := linked(t, c.texts...)
			require.NoError(t, err)
			functions, variables := map[string]string{}, map[string]uint64{}
			for _, f := range module.Functions {
				if f.Defined {
					functions[f.Name] = f.Input
				}
			}
			for _, v := range module.Variables {
				variables[v.Name] = v.Size
			}
			if c.functions != nil {
				require.Equal(t, c.functions, functions)
			}
			if c.variables != nil {
				require.Equal(t, c.variables, variables)
			}
		})
	}
}

func TestLinkRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		texts   []string
		message string
	}{
		"a function twice":       {[]string{".visible .func f() { ret; }", ".visible .func f() { ret; }"}, "f is defined twice: in a, and as a function in b"},
		"a kernel twice":         {[]string{".entry k() { ret; }", ".entry k() { ret; }"}, "k is defined twice: in a, and as a function in b"},
		"a variable twice":       {[]string{".visible .global .u32 v;", ".visible .global .u32 v;"}, "v is defined twice: in a, and as a variable in b"},
		"a function, a variable": {[]string{".visible .func f() { ret; }", ".visible .global .u32 f;"}, "f is defined twice: in a, and as a variable in b"},
		"a variable, a function": {[]string{".visible .global .u32 f;", ".visible .func f() { ret; }"}, "f is defined twice: in a, and as a function in b"},
		"sizes that differ":      {[]string{".extern .global .u32 v;", ".visible .global .u64 v;"}, "v has 4 bytes in .global of a, and 8 in .global of b"},
		"state spaces that do":   {[]string{".extern .global .u32 v;", ".visible .const .u32 v;"}, "v has 4 bytes in .global of a, and 4 in .const of b"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := linked(t, c.texts...)
			require.EqualError(t, err, c.message)
		})
	}
}

// What refers to a name that is renamed, follows: in instructions and in initial values.
func TestLinkRenamesUses(t *testing.T) {
	const text = `.func f() { ret; }
.global .u32 v;
.global .u64 table[2] = {v, f};
.visible .entry %s() { .reg .u64 %%a; call f, (); mov.u64 %%a, v; ld.global.u64 %%a, [v+4]; ret; }`
	module, err := linked(t, fmt.Sprintf(text, "first"), fmt.Sprintf(text, "second"))
	require.NoError(t, err)
	for i, entry := range []string{"first", "second"} {
		number := string(rune('1' + i))
		for _, f := range module.Functions {
			if f.Name == entry {
				require.Equal(t, "f$"+number, f.Instructions[0].Operands[0].Name)
				require.Equal(t, "v$"+number, f.Instructions[1].Operands[1].Name)
				require.Equal(t, "v$"+number, f.Instructions[2].Operands[1].Elements[0].Name)
			}
		}
		for _, v := range module.Variables {
			if v.Name == "table$"+number {
				require.Equal(t, []string{"v$" + number, "f$" + number}, []string{v.Initial[0].Symbol, v.Initial[1].Symbol})
			}
		}
	}
	var names []string
	for _, f := range module.Functions {
		names = append(names, f.Name)
	}
	for _, v := range module.Variables {
		names = append(names, v.Name)
	}
	require.Equal(t, []string{"f$1", "first", "f$2", "second", "v$1", "table$1", "v$2", "table$2"}, names)
}
