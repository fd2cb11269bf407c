package prototype_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/status"
	. "dlaunch/launch/prototype"
)

// Where a text is wrong is marked by a ! in it, which is taken out.
func TestRefusals(t *testing.T) {
	for _, test := range []struct{ text, message string }{
		{"!", `"(" is wanted, the end found: a prototype is name(parameter: type, ...)`},
		{"saxpy!", `"(" is wanted, the end found: a prototype is name(parameter: type, ...)`},
		{"!3d(a: f32)", `"3d" cannot be here in a kernel's name; a PTX identifier is wanted`},
		{"two !words(a: f32)", `"words" cannot be here in a kernel's name; a PTX identifier is wanted`},
		{"a!-b(a: f32)", `"-" cannot be here in a kernel's name; a PTX identifier is wanted`},
		{"f!<float(a: f32)", `"<" cannot be here in a kernel's name; a PTX identifier is wanted`},
		{"f!>(a: f32)", `">" cannot be here in a kernel's name; a PTX identifier is wanted`},
		{"s(a: f32!", `"," or ")" is wanted, the end found`},
		{"s(a: f32)!)", `the end is wanted, ")" found`},
		{"s(a: f32) !x", `the end is wanted, "x" found`},
		{"s(a: f32,!)", `a parameter's name is wanted, ")" found`},
		{"s(!, a: f32)", `a parameter's name is wanted, "," found`},
		{"s(a: f32 !b: f32)", `"," or ")" is wanted, "b" found`},
		{"s(a: f32, !3: f32)", `a parameter's name is wanted, "3" found`},
		{"s(!_: f32)", `"_" is no name; give the parameter one`},
		{"s(a: f32, b!)", `":" and a type after "b" is wanted, ")" found`},
		{"s(a: f32, b !f32)", `":" and a type after "b" is wanted, "f32" found`},
		{"s(a: f32, !a: i32)", `a second parameter "a"; the first is at column 3`},
		{"s(a: !)", `the type of "a" is wanted, ")" found`},
		{"s(a: !3)", `the type of "a" is wanted, "3" found`},
		{"s(a: inout !)", `the type of "a" is wanted, ")" found`},
		{"s(a: !f322)", `"f322" is no type; did you mean f32?`},
		{"s(a: !F32)", `"F32" is no type; did you mean f32?`},
		{"s(a: !float)", `"float" is no type here; it is called f32`},
		{"s(a: !size_t)", `"size_t" is no type here; it is called u64`},
		{"s(a: !strange)", `"strange" is no type; a type is wanted: f32, i64, bool ..., b32, any, ptr or bytes(size, align)`},
		{"s(a: !f32x4)", `"f32x4" is no type; did you mean f32?`},
		{"s(a: !b128)", `"b128" is no type; did you mean c128?`},
		{"s(a: f32!?)", `"?" is for tensors; "f32" is a scalar`},
		{"s(a: ptr!?)", `"?" is for tensors; a null is a ptr too`},
		{"s(a: ptr![n])", `"ptr" has no elements; a tensor is written f32[n], or any[...]`},
		{"s(a: bytes(8,8)![n])", `"bytes" has no elements; a tensor is written f32[n], or any[...]`},
		{"s(a: !any)", `"any" is for tensors, as any[...]; a scalar has a width: b8, b16, b32 or b64`},
		{"s(a: !f4e2m1fn)", `"f4e2m1fn" has less than 8 bits, which no parameter has; bytes(1) passes one`},
		{"s(a: !out f32)", `out is for tensors; a result of one element is written f32[]`},
		{"s(a: !inout ptr)", `inout is for tensors; a result of one element is written f32[]`},
		{"s(a: !out bytes(8))", `out is for tensors; a result of one element is written f32[]`},
		{"s(a: bytes!)", `"(" and a size after "bytes" is wanted, ")" found`},
		{"s(a: bytes(!))", `a size in bytes is wanted, ")" found`},
		{"s(a: bytes(!0))", `a struct of 0 bytes; 1 to 32764 are wanted`},
		{"s(a: bytes(!32765))", `a struct of 32765 bytes; 1 to 32764 are wanted`},
		{"s(a: bytes(24,!3))", `"3" is no alignment; a power of two is wanted`},
		{"s(a: bytes(24,!0))", `"0" is no alignment; a power of two is wanted`},
		{"s(a: bytes(24,!16))", `a struct of 24 bytes cannot be aligned to 16; a divisor is wanted`},
		{"s(a: bytes(24,8!,1))", `")" after "bytes(" is wanted, "," found`},
		{"s(a: f32[n!)", `"," or "]" for the "[" at column 9 is wanted, ")" found`},
		{"s(a: f32[n,!])", `a size after the comma is wanted, "]" found`},
		{"s(a: f32[!,n])", `a size (a number, a name, "_" or "...") is wanted, "," found`},
		{"s(a: f32[!-1])", `a size (a number, a name, "_" or "...") is wanted, "-" found`},
		{"s(a: f32[n!+1])", `"," or "]" for the "[" at column 9 is wanted, "+" found`},
		{"s(a: f32[n,!...])", `"..." after other sizes; it is wanted alone or first`},
		{"s(a: f32[...,!...])", `a second "..."; one is wanted, alone or first`},
		{"s(a: f32[!1.5])", `"1.5" is no whole decimal number; a size is wanted`},
		{"s(a: f32[!0x10])", `"0x10" is no whole decimal number; a size is wanted`},
		{"s(a: f32[!010])", `"010" begins with 0; a decimal number is wanted`},
		{"s(a: f32[!9223372036854775808])", `"9223372036854775808" is more than 2^63-1`},
		{"s(a: f32[n] @strided !?)", `"," or ")" ("?" stands right after the type) is wanted, "?" found`},
		{"s(a: f32[n] !@stided)", `"@stided" is no attribute; did you mean strided?`},
		{"s(a: f32[n] !@contiguous)", `"@contiguous" is no attribute; @strided, @fortran, @view, @numba, @align(n), @multiple(n) and @peer are`},
		{"s(a: f32[n] @ !strided)", `an attribute's name right after "@" is wanted, "strided" found`},
		{"s(a: f32[n] @strided !@strided)", `a second @strided`},
		{"s(a: f32[n] @strided !@fortran)", `@strided takes any layout, @fortran one: write one of them`},
		{"s(a: f32[n] @view !@numba)", `@view and @numba are different structs: write one of them`},
		{"s(a: f32[...] !@view)", `@view passes every extent, so the rank must be known; "a" has "..."`},
		{"s(a: f32[...,n] !@numba)", `@numba passes every extent, so the rank must be known; "a" has "..."`},
		{"s(a: f32[n] @strided!(1))", `@strided has no number`},
		{"s(a: f32[n] @align!)", `"(" and a number after @align is wanted, ")" found`},
		{"s(a: f32[n] @align(!12))", `"12" is no alignment; a power of two is wanted`},
		{"s(a: f32[n] @align(!4294967296))", `"4294967296" is no alignment; a power of two is wanted`},
		{"s(a: f32[n] @align(!n))", `an alignment in bytes is wanted, "n" found`},
		{"s(a: f32 !@align(4))", `@align is for tensors; "a" is f32`},
		{"s(a: ptr !@peer)", `@peer is for tensors; "a" is ptr`},
		{"s(a: bytes(8) !@view)", `@view is for tensors; "a" is bytes(8,8)`},
		{"s(a: f32 !@multiple(4))", `@multiple is for integers; "a" is f32`},
		{"s(a: f32[n] !@multiple(4))", `@multiple is for integers; "a" is f32[n]`},
		{"s(a: i32 @multiple(!0))", `every number is refused by @multiple(0); 1 or more is wanted`},
		{"s(a: i8 @multiple(!128))", `128 does not fit i8`},
		{"s(a: f32[n] != n)", `"=" fills in scalars and ptr; "a" is a tensor, which the caller passes`},
		{"s(a: bytes(8) != 0)", `"=" fills in scalars and ptr; "a" is a struct, which the caller passes`},
		{"s(a: c64 != 1)", `"=" fills in integers, floats, bool and ptr; "a" is c64`},
		{"s(n: i32 = !)", `a number, a name, stride(tensor, axis) or scratch(bytes, align) is wanted, ")" found`},
		{"s(n: i32 = 2*!)", `a number, a name, stride(tensor, axis) or scratch(bytes, align) is wanted, ")" found`},
		{"s(n: i32 = 2*!-3)", `a number, a name, stride(tensor, axis) or scratch(bytes, align) is wanted, "-" found`},
		{"s(x: f32[n], n: i32 = n!+1)", `"," or ")" (an expression is a product: a*b) is wanted, "+" found`},
		{"s(x: f32[n], n: i32 = n !@multiple(4))", `"," or ")" (attributes stand before "=") is wanted, "@" found`},
		{"s(n: i32 = !0.5)", `"0.5" is no whole decimal number; a number is wanted`},
		{"s(n: i64 = 4294967296*!4294967296)", `the numbers of the product are more than 2^63-1`},
		{"s(n: i32 = !n)", `"n" is filled in itself, and there is no size of that name; a size or a parameter that the caller passes is wanted`},
		{"s(a: i32 = !b, b: i32 = 1)", `"b" is filled in itself, and there is no size of that name; a size or a parameter that the caller passes is wanted`},
		{"s(x: f32[rows], n: i32 = !row)", `there is no size or parameter "row"; did you mean rows?`},
		{"s(n: i32 = !zebra)", `there is no size or parameter "zebra"`},
		{"s(x: f32[n], m: i32 = !x)", `"x" is a tensor; one of its sizes, or stride(x, axis), is wanted`},
		{"s(a: f32, m: i32 = !a)", `"a" is f32; an integer is wanted`},
		{"s(a: ptr, m: i64 = !a)", `"a" is ptr; an integer is wanted`},
		{"s(x: f32[n]?, n: i32 = !n)", `the size "n" is unknown when null is passed; a tensor without "?" must have it too`},
		{"s(x: f32[n], n: i32 = !stride)", `there is no size or parameter "stride"`},
		{"s(x: f32[n], n: i32 = !strid(x,0))", `"strid" is no function; did you mean stride?`},
		{"s(x: f32[n], n: i32 = !len(x))", `"len" is no function; stride(tensor, axis) and scratch(bytes, align) are`},
		{"s(x: f32[n], n: i32 = stride(!0,x))", `a tensor's name after "stride(" is wanted, "0" found`},
		{"s(x: f32[n], n: i32 = stride(x!))", `"," and an axis after the tensor is wanted, ")" found`},
		{"s(x: f32[n], n: i32 = stride(x,!-1))", `an axis, counted from 0, is wanted, "-" found`},
		{"s(x: f32[n], n: i32 = stride(x,0!,1))", `")" after the axis is wanted, "," found`},
		{"s(x: f32[n], n: i32 = stride(!x,1))", `"x" is of rank 1; there is no axis 1, counted from 0`},
		{"s(x: f32[n], n: i32 = stride(x,!64))", `there is no axis 64; a tensor has 64 at most`},
		{"s(x: f32[...,n], n: i32 = stride(!x,1))", `"x" may be of rank 1 only; axis 1 is not sure to be there`},
		{"s(x: f32[n]?, y: f32[n], n: i32 = stride(!x,0))", `"x" may be null, which has no strides`},
		{"s(xx: f32[n], n: i32 = stride(!xy,0))", `there is no tensor "xy"; did you mean xx?`},
		{"s(a: f32, n: i32 = stride(!a,0))", `"a" is f32, which has no strides; a tensor is wanted`},
		{"s(n: i64 = !scratch(8,8))", `scratch is an address; "n" is i64, ptr is wanted`},
		{"s(p: ptr = 2*!scratch(8,8))", `scratch is an address; nothing can be multiplied with it`},
		{"s(p: ptr = scratch(!0,8))", `scratch of no bytes; for a kernel that needs none write = 0`},
		{"s(p: ptr = scratch(8,!12))", `"12" is no alignment; a power of two is wanted`},
		{"s(p: ptr = scratch(8!))", `"," and an alignment after the bytes is wanted, ")" found`},
		{"s(p: ptr = scratch(!n,8))", `a number of bytes is wanted, "n" found`},
		{"s(x: f32[n], p: ptr = !n)", `a ptr is filled in with a number or scratch(bytes, align); "n" is neither`},
		{"s(p: ptr = !-1)", `an address is not negative; a number or scratch(bytes, align) is wanted`},
		{"s(n: i8 = !128)", `128 does not fit i8 exactly`},
		{"s(n: u8 = !-1)", `-1 does not fit u8 exactly`},
		{"s(n: u32 = !4294967296)", `4294967296 does not fit u32 exactly`},
		{"s(n: b16 = !65536)", `65536 does not fit b16 exactly`},
		{"s(n: b16 = !-32769)", `-32769 does not fit b16 exactly`},
		{"s(n: bool = !2)", `2 does not fit bool exactly`},
		{"s(n: f16 = !65536)", `65536 does not fit f16 exactly`},
		{"s(n: f16 = !2049)", `2049 does not fit f16 exactly`},
		{"s(n: bf16 = !257)", `257 does not fit bf16 exactly`},
		{"s(n: f32 = !16777217)", `16777217 does not fit f32 exactly`},
		{"s(n: f64 = !9007199254740993)", `9007199254740993 does not fit f64 exactly`},
		{"s(n: i32 @multiple(16) = !24)", `24 is no multiple of 16`},
		{"s(a: f32 !# b)", `"," or ")" is wanted, "#" found`},
		{"s(a: f32 !é)", `"," or ")" is wanted, "é" found`},
		{"s(a: f32 !\xff)", "\",\" or \")\" is wanted, \"\uFFFD\" found"},
		{"s(\n  a: f32,\n  b: !f322\n)", `"f322" is no type; did you mean f32?`},
	} {
		t.Run(test.text, func(t *testing.T) {
			at := strings.IndexByte(test.text, '!')
			require.GreaterOrEqual(t, at, 0)
			text := test.text[:at] + test.text[at+1:]
			p, err := Parse(text)
			require.Nil(t, p)
			var e *status.Error
			require.True(t, errors.As(err, &e))
			require.Equal(t, status.Prototype, e.Code)
			first, picture, shown := strings.Cut(e.Message, "\n")
			require.True(t, shown)
			prefix := fmt.Sprintf("prototype, column %d: ", at+1)
			require.True(t, strings.HasPrefix(first, prefix), "%s\nwanted %s", e.Message, prefix)
			require.Equal(t, test.message, strings.TrimPrefix(first, prefix))
			lines := strings.Split(picture, "\n")
			require.Len(t, lines, 2)
			require.True(t, strings.HasSuffix(lines[1], "^"))
		})
	}
}

func TestPicture(t *testing.T) {
	_, err := Parse("saxpy(a: f322)")
	require.EqualError(t, err, "prototype, column 10: \"f322\" is no type; did you mean f32?\n"+
		"  saxpy(a: f322)\n"+
		"           ^")
	_, err = Parse("long_name(first: f32[rows,columns], second: f32[rows,columns], third: i3, fourth: f32[rows,columns], fifth: i64 = rows)")
	require.EqualError(t, err, "prototype, column 71: \"i3\" is no type; did you mean i32?\n"+
		"  ...cond: f32[rows,columns], third: i3, fourth: f32[rows,columns], f...\n"+
		"                                     ^")
	_, err = Parse("k(été: f32)")
	require.EqualError(t, err, "prototype, column 3: a parameter's name is wanted, \"é\" found\n"+
		"  k(été: f32)\n"+
		"    ^")
}

// A character of several bytes at either end of the picture is not torn, and what
// cannot be printed is a blank.
func TestPictureOfOddText(t *testing.T) {
	for shift := range 4 {
		text := "k(" + strings.Repeat("a", 40+shift) + ": f32 x" + strings.Repeat("é", 60) + ")"
		_, err := Parse(text)
		lines := strings.Split(err.Error(), "\n")
		require.Len(t, lines, 3)
		require.NotContains(t, lines[1], "\uFFFD")
		require.Equal(t, strings.Index(lines[1], "x"), strings.Index(lines[2], "^"))

		_, err = Parse("(" + strings.Repeat("é", 60) + strings.Repeat("b", shift) + "\x01)(a: f32)")
		lines = strings.Split(err.Error(), "\n")
		require.Len(t, lines, 3)
		require.NotContains(t, lines[1], "\uFFFD")
		require.True(t, strings.HasPrefix(lines[0], fmt.Sprintf("prototype, column %d: \" \" cannot be here", 122+shift)), lines[0])
	}
}

func TestLimits(t *testing.T) {
	params := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("p%d: i32", i))
		}
		return "k(" + strings.Join(list, ", ") + ")"
	}
	dims := func(n int) string { return "k(x: f32[" + strings.TrimSuffix(strings.Repeat("_,", n), ",") + "])" }
	factors := func(n int) string { return "k(x: i32 = " + strings.TrimSuffix(strings.Repeat("1*", n), "*") + ")" }
	for _, limit := range []struct {
		make    func(int) string
		most    int
		message string
	}{{params, 1024, "more than 1024 parameters"}, {dims, 64, "more than 64 axes"}, {factors, 64, "more than 64 factors"}} {
		_, err := Parse(limit.make(limit.most))
		require.NoError(t, err)
		_, err = Parse(limit.make(limit.most + 1))
		require.ErrorContains(t, err, limit.message)
	}
}
