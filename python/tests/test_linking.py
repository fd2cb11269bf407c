"""Several images as one library, and the names that its kernels and variables go by."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT

import dlaunch
from dlaunch._options import _nvjitlink

FOLDER = ROOT / "testdata" / "linking"
SIMULATED = dlaunch.driver_info().kind == "sim"
HOPPER = dlaunch.devices()[0].compute_capability == (9, 0)

CALLER, CALLEE = FOLDER / "caller.ptx", FOLDER / "callee.ptx"

FILL_FLOAT, FILL_INT = "_Z4fillIfLi3EEvPT_", "_Z4fillIiLi4EEvPT_"


def has_nvjitlink() -> bool:
    """Tell whether there is one that is as new as what made the LTO IR, CUDA 13.0."""
    path = (_nvjitlink() or b"libnvJitLink.so.13").decode()
    try:
        ctypes.CDLL(path)
    except OSError:
        return False
    return path.endswith(".13")


def check(library: dlaunch.Library) -> None:
    """Run what calls across the images: twice(x) + 7, where twice(x) is 2x + 100, and count the calls."""
    with library, library["apply"] as apply:
        assert sorted(library.kernels) == sorted(["apply", FILL_FLOAT, FILL_INT, "_ZN6shapes5countEPi"])
        assert apply.prototype == "apply(x: inout i32[n], n: i32 = n)"  # caller.cu carries it
        x = np.arange(10, dtype="i4")
        apply[1, 32](x)
        np.testing.assert_array_equal(x, 2 * np.arange(10) + 107)
        calls = library.globals["calls"]
        np.testing.assert_array_equal(calls.copy_to_host().view("i4"), [10])
        assert {"calls", "_ZN6shapes5sidesE"} <= set(library.globals)


def test_two_texts() -> None:
    for images in (
        [CALLER, CALLEE],
        [CALLEE, CALLER],
        [str(CALLER), CALLEE.read_bytes()],
        (p for p in (CALLER, CALLEE)),
    ):
        library = dlaunch.link(images)
        assert library.architectures == (["compute_75"] if SIMULATED else library.architectures)
        assert all(a.startswith("compute_" if SIMULATED else "sm_") for a in library.architectures)
        check(library)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "images",
    [
        ("caller.cubin", "callee.cubin"),
        ("caller.cubin", "callee.ptx"),
        ("caller.ptx", "callee.o"),
        ("caller.o", "callee.cubin"),
        ("caller.ptx", "libcallee.a"),
    ],
    ids=" ".join,
)
def test_machine_code_objects_and_archives(images: tuple[str, ...]) -> None:
    if not HOPPER and any(name.endswith(".cubin") for name in images):
        with pytest.raises(dlaunch.ImageError, match="sm_90"):
            dlaunch.link([FOLDER / name for name in images])
        return
    check(dlaunch.link([FOLDER / name for name in images]))


if has_nvjitlink():

    @pytest.mark.parametrize(
        "images", [("caller.ltoir", "callee.ltoir"), ("callee.ltoir", "caller.ltoir")], ids=" ".join
    )
    def test_lto_ir(images: tuple[str, ...]) -> None:
        check(dlaunch.link([FOLDER / name for name in images], verbose=True, max_registers=64, lineinfo=True))

    def test_lto_ir_that_does_not_link() -> None:
        with pytest.raises(dlaunch.ImageError, match="_Z5twicei"):
            dlaunch.load(FOLDER / "caller.ltoir")
        with pytest.raises(dlaunch.UnsupportedError, match="JIT option 14: nvJitLink"):
            dlaunch.load(FOLDER / "callee.ltoir", cache_mode="cg")
        with pytest.raises(dlaunch.ImageError, match="no kernel came of linking"):
            dlaunch.load(FOLDER / "callee.ltoir")

else:

    def test_lto_ir_needs_nvjitlink() -> None:
        with pytest.raises((dlaunch.UnsupportedError, dlaunch.ImageError)) as caught:
            dlaunch.link([FOLDER / "caller.ltoir", FOLDER / "callee.ltoir"])
        if caught.type is dlaunch.ImageError:
            assert "nvJitLink" in str(caught.value)  # there is one, which is older
        else:
            assert "libnvJitLink.so.13" in str(caught.value) and "pip install nvidia-nvjitlink" in str(caught.value)


def test_an_object_of_a_whole_program_is_its_fatbin() -> None:
    for name in ("whole.o", "whole.fatbin"):
        if SIMULATED:
            with pytest.raises(dlaunch.ImageError, match="for sm_90, compute_75\nthe simulator runs PTX text only"):
                dlaunch.load(FOLDER / name)
            continue
        with dlaunch.load(FOLDER / name) as library, library["whole"] as whole:
            assert library.architectures == ["sm_90", "compute_75"]
            x = np.arange(4, dtype="f4")
            whole[1, 4](dlaunch.InOut(x))
            np.testing.assert_array_equal(x, 2 * np.arange(4))
            assert library.globals["scale"].nbytes == 4
            assert list(library.globals) == ["scale"]
            with pytest.raises(dlaunch.NotFoundError, match='no variable "none" in .*; there is only "scale"'):
                library.globals["none"]


HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
TWICE = "(.param .u32 r) twice(.param .u32 x)"
DEFINED = "{\n.reg .u32 %a;\nld.param.u32 %a, [x];\nadd.u32 %a, %a, %a;\nst.param.u32 [r], %a;\nret;\n}\n"
EMPTY = ".visible .entry k()\n{\nret;\n}\n"

REFUSED = {
    "an extern that none has": ([CALLER], "_Z5twicei"),
    "a kernel that both have": ([HEAD + EMPTY, HEAD + EMPTY], r"\bk\b.* defined|definition of 'k'"),
    "a function that both have": (
        [HEAD + EMPTY + ".visible .func " + TWICE + DEFINED, HEAD + ".visible .func " + TWICE + DEFINED],
        r"\btwice\b.* defined|definition of 'twice'",
    ),
    "a variable that both have": (
        [HEAD + EMPTY + ".visible .global .u32 v;\n", HEAD + ".visible .global .u32 v;\n"],
        r"\bv\b.* defined|definition of 'v'",
    ),
    "a variable of two sizes": (
        [HEAD + EMPTY + ".visible .global .u32 v[4];\n", HEAD + ".extern .global .u32 v[5];\n"],
        r"v has 16 bytes|match for 'v'",
    ),
    "no text": ([CALLER, "junk\n"], r'input 1: the image begins with "junk'),
    "a text that is cut": ([CALLER, CALLEE.read_bytes()[:-20]], "INVALID_PTX"),
    "a whole program's object": (
        [CALLER, FOLDER / "whole.o"],
        "whole.o: it was compiled as a whole program.*-rdc=true",
    ),
    "a cut cubin": ([CALLER, (FOLDER / "callee.cubin").read_bytes()[:1000]], "input 1: the cubin is truncated"),
    "a cut archive": ([CALLER, (FOLDER / "libcallee.a").read_bytes()[:2000]], "input 1: the archive is truncated"),
    "a cut object": ([CALLER, (FOLDER / "callee.o").read_bytes()[:2000]], "input 1: the object is truncated"),
    "no kernel at all": ([CALLEE], "no kernel came of linking"),
}


@pytest.mark.parametrize(("images", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_what_does_not_link(images: list[object], said: str) -> None:
    with pytest.raises(dlaunch.ImageError, match=said) as caught:
        dlaunch.link(images)
    assert str(caught.value).startswith("dlaunch_link: ")


def test_a_texts_own_names_stay_its_own() -> None:
    """Both texts have a function and a variable of these names, and neither shows them."""

    def text(kernel: str, value: int) -> str:
        return (
            HEAD
            + f".global .u32 own = {value};\n"
            + ".func (.param .u32 r) get()\n{\n.reg .u32 %a;\n"
            + "ld.global.u32 %a, [own];\nst.param.u32 [r], %a;\nret;\n}\n"
            + f".visible .entry {kernel}(.param .u64 p)\n{{\n.reg .u32 %a;\n.reg .u64 %p;\n.param .u32 v;\n"
            + "ld.param.u64 %p, [p];\ncall (v), get, ();\nld.param.u32 %a, [v];\nst.global.u32 [%p], %a;\nret;\n}\n"
        )

    with dlaunch.link([text("first", 11), text("second", 22)]) as library:
        for kernel, value in (("first", 11), ("second", 22)):
            x = np.zeros(1, "u4")
            library.kernel(f"{kernel}(p: out u32[1])")[1, 1](x)
            assert x[0] == value


def test_weak_ones_may_be_in_several() -> None:
    weak = HEAD + ".weak .entry k()\n{\nret;\n}\n"
    with dlaunch.link([weak, weak]) as library:
        assert library.kernels == ["k"]


def test_what_is_no_list_of_images() -> None:
    for images, said in (([], "nothing to link"), (CALLER, "a list"), ("x.ptx", "a list"), ([5], "int given")):
        with pytest.raises(dlaunch.ArgumentError, match=said):
            dlaunch.link(images)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match="none.ptx"):
        dlaunch.link([CALLER, FOLDER / "none.ptx"])
    with pytest.raises(dlaunch.ArgumentError, match="cannot read"):
        dlaunch.link([FOLDER])


@pytest.fixture(scope="module")
def linked() -> dlaunch.Library:
    with dlaunch.link([CALLER, CALLEE]) as library:
        yield library


@pytest.mark.parametrize(
    ("name", "symbol"),
    [
        (FILL_FLOAT, FILL_FLOAT),
        ("void fill<float, 3>(float*)", FILL_FLOAT),
        ("fill<float,3>(float *)", FILL_FLOAT),
        (" fill < int , 4 > ", FILL_INT),
        ("shapes::count(int*)", "_ZN6shapes5countEPi"),
        ("shapes::count", "_ZN6shapes5countEPi"),
        ("count", "_ZN6shapes5countEPi"),
    ],
)
def test_names_as_the_source_has_them(linked: dlaunch.Library, name: str, symbol: str) -> None:
    with linked[name] as kernel, linked[symbol] as same:
        assert [p.name for p in kernel.parameters] == [p.name for p in same.parameters]
        x = np.zeros(2, "i4" if symbol != FILL_FLOAT else "f4")
        kernel[1, 2](dlaunch.InOut(x))
        assert list(x) == {FILL_FLOAT: [3, 3], FILL_INT: [4, 4]}.get(symbol, [4, 4])


def test_names_in_prototypes(linked: dlaunch.Library) -> None:
    with linked["fill<int, 4>(x: out i32[2])"] as kernel:
        x = np.zeros(2, "i4")
        kernel[1, 2](x)
        assert list(x) == [4, 4]
        assert linked.globals["shapes::sides"].copy_to_host().view("i4")[0] == 4


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fill", r'"fill" could be any of 2 .*\(fill<float, 3>\(float\*\)\).*\(fill<int, 4>\(int\*\)\)'),
        ("fill<float, 4>", r'the nearest are "_Z4fillIfLi3EEvPT_" \(fill<float, 3>'),
        ("shapes::cuont", r'the nearest are "_ZN6shapes5countEPi" \(shapes::count\(int\*\)\)'),
        ("shapes", r"shapes::count"),
        ("", "there are"),
    ],
)
def test_names_that_mean_no_kernel_or_several(linked: dlaunch.Library, name: str, said: str) -> None:
    with pytest.raises(dlaunch.NotFoundError, match=said):
        linked[name]


def test_variables_that_are_not_there(linked: dlaunch.Library) -> None:
    with pytest.raises(
        dlaunch.NotFoundError, match=r'no variable "shapes::side".*_ZN6shapes5sidesE" \(shapes::sides\)'
    ):
        linked.globals["shapes::side"]


def test_names_that_are_given(kernels: Path) -> None:
    given = {
        "template_scale<float, 3>": "_Z14template_scaleIfLi3EEvPT_i",
        "by minus two": b"_Z14template_scaleIxLin2EEvPT_i",
        "nothing": "nonesuch",
    }
    with dlaunch.load(kernels / "template_scale.ptx", names=given) as library:  # type: ignore[arg-type]
        for name in ("template_scale<float,3>", "by minus two"):
            library[name].close()
        with pytest.raises(dlaunch.NotFoundError, match=r'no kernel "nonesuch" \(which names say is "nothing"\)'):
            library["nothing"]
    for names, said in (({"a": ""}, "neither may be empty"), ({"": "a"}, "neither may be empty"), (["a"], "a mapping"),
                        ({"f<a>": "x", "f< a >": "y"}, "two symbols"), ({"a": 5}, "a str is wanted")):  # fmt: skip
        with pytest.raises(dlaunch.ArgumentError, match=said):
            dlaunch.load(kernels / "saxpy.ptx", names=names)  # type: ignore[arg-type]
