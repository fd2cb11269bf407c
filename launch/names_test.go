package launch

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the Itanium C++ ABI says these symbols are.
func TestSpellings(t *testing.T) {
	for symbol, want := range map[string][]string{
		"_Z3addPfi":                {"add(float*, int)", "add(float*, int)", "add", "add", "add"},
		"_ZN2ns1fIfLi3EEEvPT_":     {"void ns::f<float, 3>(float*)", "ns::f<float, 3>(float*)", "ns::f<float, 3>", "ns::f", "f"},
		"_ZN12_GLOBAL__N_14stepEv": {"(anonymous namespace)::step()", "(anonymous namespace)::step()", "(anonymous namespace)::step", "(anonymous namespace)::step", "step"},
		"_ZN6shapes5sidesE":        {"shapes::sides", "shapes::sides", "shapes::sides", "shapes::sides", "sides"},
		"saxpy":                    nil,
		"_Z":                       nil,
		"_Zwrong":                  nil,
		"_Z99f":                    nil,
	} {
		require.Equal(t, want, spellings(symbol), symbol)
	}
	require.Nil(t, spellings("_Z1f"+strings.Repeat("P", 1<<20)+"i"))
	doubled := "_Z1f1AIiiE" // each parameter is A of the last one, twice
	for i := range 30 {
		last := "S" + strings.ToUpper(strconv.FormatInt(int64(i), 36)) + "_"
		doubled += "S_I" + last + last + "E"
	}
	require.Len(t, spellings(doubled)[0], 4096)
}

func TestSqueeze(t *testing.T) {
	for name, want := range map[string]string{
		"f<float, 3>":               "f<float,3>",
		"  f <  float\t,3 > ":       "f<float,3>",
		"f(unsigned  int *, long)":  "f(unsigned int*,long)",
		"void f<const char *>(int)": "void f<const char*>(int)",
		"operator  new":             "operator new",
		"":                          "",
	} {
		require.Equal(t, want, squeeze(name), name)
	}
}

func TestNamed(t *testing.T) {
	const add, addDouble, other, f3, f4 = "_Z3addPfi", "_Z3addPdi", "_ZN2ns3addEv", "_Z1fIfLi3EEvPT_", "_Z1fIfLi4EEvPT_"
	symbols := []string{"saxpy", add, addDouble, other, f3, f4}
	for name, want := range map[string][]string{
		"add(float*,int)":          {add},
		"add(double *, int)":       {addDouble},
		"add":                      {add, addDouble}, // ns::add is less exactly that
		"ns::add":                  {other},
		"f":                        {f3, f4},
		"f<float,4>":               {f4},
		"void f<float, 3>(float*)": {f3},
		"saxpy":                    nil, // no mangled one
		"":                         nil,
	} {
		require.Equal(t, want, named(name, symbols), name)
	}
}

// A symbol of a few bytes may stand for a name of gigabytes.
func FuzzSpellings(f *testing.F) {
	for _, symbol := range []string{"_Z3addPfi", "_ZN2ns1fIfLi3EEEvPT_", "_ZN1aIS_S_S_EIS_S_S_EIS_S_S_E", "_RNvC1a1b", "_ZL1xDTL"} {
		f.Add(symbol)
	}
	f.Fuzz(func(t *testing.T, symbol string) {
		for _, spelling := range spellings(symbol) {
			require.LessOrEqual(t, len(spelling), 1<<13)
		}
		nearest("kernel", "asked", []string{symbol})
	})
}
