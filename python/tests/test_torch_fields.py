"""torch's tensors are read by their fields only where these say what torch itself says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import imported

import dlaunch
from dlaunch import _torch, _torch_fields

pytestmark = pytest.mark.builtin
on_gpu = pytest.mark.gpu


@pytest.fixture
def torch() -> Any:
    return imported("torch")


@pytest.fixture
def launch(torch: Any, saxpy: dlaunch.Kernel) -> Iterator[Callable[..., Any]]:
    """The launcher of y += 2 x, which has seen plain tensors: what is like them is read by fields now."""
    function = saxpy.configure(8, 64)
    for _ in range(3):
        function(2.0, torch.ones(8, device="cuda"), torch.zeros(8, device="cuda"))
    yield function
    torch.cuda.synchronize()


@pytest.fixture(params=[True, False], ids=["by fields", "by DLPack"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Launchers that are made now read torch's tensors by their fields, or by the exchange API alone."""
    monkeypatch.setenv("DLAUNCH_SHIMS", str(int(request.param)))
    _torch.shims_of.cache_clear()
    yield
    _torch.shims_of.cache_clear()


if imported("torch") is not None:

    @pytest.mark.parametrize("name", ["Tensor", "nn.Parameter"])
    def test_the_fields_are_found(torch: Any, name: str) -> None:
        cls = torch.nn.Parameter if name == "nn.Parameter" else torch.Tensor
        recipe = _torch.shims_of(cls)
        assert recipe is not None
        assert min(recipe[11:19]) > 0  # from KEYS to DELETER in pyshims.c

    @pytest.mark.parametrize("first", [0, 1, 5000])
    def test_host_memory_that_torch_has_freed(torch: Any, saxpy: dlaunch.Kernel, either_way: None, first: int) -> None:
        x, y = torch.ones(5008)[first : first + 8], torch.zeros(8)
        for launch in (saxpy.configure(1, 8), saxpy.configure(1, 8, sync=True)):  # the builtin, and ctypes
            x.untyped_storage().resize_(4 * 5008)
            x.fill_(3.0)
            launch(2.0, dlaunch.In(x), y)
            x.untyped_storage().resize_(0)
            with pytest.raises(dlaunch.TensorError, match="freed|NULL"):
                launch(2.0, dlaunch.In(x), y)
            with pytest.raises(dlaunch.TensorError, match="freed|NULL"):
                launch(2.0, x, y)
        assert y.tolist() == [12.0] * 8


def test_another_torch_has_no_fields() -> None:
    assert _torch_fields.fields_of(object(), [object()], lambda *_: 0) == _torch_fields.NOT_FOUND


def plain(torch: Any) -> Any:
    return torch.arange(1.0, 9.0, device="cuda")


def offset(torch: Any) -> Any:
    return torch.arange(32.0, device="cuda")[7:15]


def reshaped(torch: Any) -> Any:
    return torch.arange(32.0, device="cuda").view(2, 2, 8)[1, 0]


def by_dlpack(torch: Any) -> Any:
    return torch.from_dlpack(torch.arange(8.0, device="cuda"))


def requires_grad(torch: Any) -> Any:
    return torch.arange(8.0, device="cuda").requires_grad_()


def inference(torch: Any) -> Any:
    with torch.inference_mode():
        return torch.arange(8.0, device="cuda")


def pinned_then_moved(torch: Any) -> Any:
    return torch.arange(8.0).pin_memory().to("cuda", non_blocking=True)


def copied_on_write(torch: Any) -> Any:
    return torch._lazy_clone(torch.arange(8.0, device="cuda"))


KINDS = [plain, offset, reshaped, by_dlpack, requires_grad, inference, pinned_then_moved, copied_on_write]


@on_gpu
@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_what_is_read_and_written(torch: Any, launch: Callable[..., Any], make: Callable[[Any], Any]) -> None:
    x, y = make(torch), make(torch)
    expected = 2.0 * x + y
    for _ in range(2):  # asked the first time, and known the second
        result = make(torch)
        launch(2.0, x, result)
        assert torch.equal(result, expected)
    assert torch.equal(x, make(torch))


@on_gpu
def test_tensors_that_change_in_place(torch: Any, launch: Callable[..., Any]) -> None:
    x, y = torch.ones(8, device="cuda"), torch.zeros(8, device="cuda")
    launch(2.0, x, y)
    other = torch.full((8,), 5.0, device="cuda")
    x.set_(other)  # other memory
    launch(2.0, x, y)
    assert y.tolist() == [12.0] * 8
    x.data = torch.full((9,), 7.0, device="cuda")[1:]  # and another place in it
    launch(2.0, x, y)
    assert y.tolist() == [26.0] * 8
    x.resize_(4)
    with pytest.raises(dlaunch.TensorError, match="8"):
        launch(2.0, x, y)
    y.resize_(4)
    launch(2.0, x, y)
    assert y.tolist() == [40.0] * 4


@on_gpu
@pytest.mark.parametrize("first", [0, 1, 5000])
def test_memory_that_torch_has_freed(torch: Any, saxpy: dlaunch.Kernel, either_way: None, first: int) -> None:
    """The address that torch gives is then the offset of the first element."""
    launch = saxpy.configure(8, 64)
    x, y = torch.ones(5008, device="cuda")[first : first + 8], torch.zeros(8, device="cuda")
    launch(2.0, x, y)
    x.untyped_storage().resize_(0)
    with pytest.raises(dlaunch.TensorError, match="freed|NULL"):
        launch(2.0, x, y)
    x.untyped_storage().resize_(4 * 5008)
    x.fill_(3.0)
    launch(2.0, x, y)
    assert y.tolist() == [8.0] * 8


@on_gpu
def test_both_of_what_is_copied_on_write(torch: Any, launch: Callable[..., Any]) -> None:
    x = torch.ones(8, device="cuda")
    first = torch.arange(8.0, device="cuda")
    launch(2.0, x, first)  # so that its memory was read by fields once
    second = torch._lazy_clone(first)
    before = second.tolist()
    launch(2.0, x, first)
    assert second.tolist() == before
    assert first.tolist() == [value + 2.0 for value in before]
    third = torch._lazy_clone(first)
    launch(2.0, x, third)
    assert first.tolist() == [value + 2.0 for value in before]
    assert third.tolist() == [value + 4.0 for value in before]


@on_gpu
def test_what_is_no_plain_tensor_of_floats(torch: Any, launch: Callable[..., Any]) -> None:
    y = torch.zeros(8, device="cuda")
    complex_x = torch.ones(8, dtype=torch.complex64, device="cuda")
    for x, error in (
        (torch.ones(8, dtype=torch.float64, device="cuda"), "f64"),
        (torch.ones(8, dtype=torch.int32, device="cuda"), "i32"),
        (torch.ones(16, device="cuda")[::2], "stride"),
        (torch.ones(2, 4, device="cuda"), "dimension"),
        (torch.ones(1, 1, 1, 1, 1, 1, 8, device="cuda"), "dimension"),
        (complex_x.conj().imag, "neg"),
        (torch.ones(0, device="cuda"), "8"),
    ):
        with pytest.raises((dlaunch.Error, RuntimeError, BufferError), match=f"(?i){error}"):
            launch(2.0, x, y)
    assert not y.any()


@on_gpu
def test_negative_views_are_no_kind_to_believe(torch: Any, kernels: Any) -> None:
    """Their strides do not tell them: so that nothing like them may be taken without asking."""
    strided = "saxpy(a: f32, x: f32[n] @strided, y: inout f32[n], n: i32 = n)"
    with dlaunch.load(kernels / "saxpy.ptx") as library, library.kernel(strided) as kernel:
        launch, y = kernel.configure(1, 64), torch.zeros(8, device="cuda")
        imaginary = torch.ones(8, dtype=torch.complex64, device="cuda").conj().imag
        for _ in range(2):
            for x in (torch._neg_view(torch.ones(8, device="cuda")), imaginary):
                with pytest.raises((dlaunch.TensorError, RuntimeError, BufferError), match="neg"):
                    launch(2.0, x, y)
        assert not y.any()


@on_gpu
def test_more_axes_than_a_tensor_keeps_itself(torch: Any, kernels: Any) -> None:
    with dlaunch.load(kernels / "saxpy.ptx") as library:
        wide = library.kernel("saxpy(a: f32, x: f32[a, b, c, d, e, f], y: inout f32[a, b, c, d, e, f], n: i32)")
        function = wide.configure(1, 64)
        x, y = torch.ones(1, 2, 1, 2, 1, 2, device="cuda"), torch.zeros(1, 2, 1, 2, 1, 2, device="cuda")
        for _ in range(3):
            function(2.0, x, y, 8)
        assert y.flatten().tolist() == [6.0] * 8


@on_gpu
def test_vmap_and_other_wrappers_are_not_looked_into(torch: Any, launch: Callable[..., Any]) -> None:
    y = torch.zeros(8, device="cuda")

    def inside(x: Any) -> Any:
        with pytest.raises((dlaunch.Error, RuntimeError, BufferError, TypeError, ValueError)):
            launch(2.0, x, y)
        return x

    torch.vmap(inside)(torch.ones(4, 8, device="cuda"))
    assert not y.any()


@on_gpu
def test_another_stream(torch: Any, launch: Callable[..., Any]) -> None:
    x, y = torch.ones(8, device="cuda"), torch.zeros(8, device="cuda")
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(100_000_000)
        x.mul_(3.0)
        launch(2.0, x, y)
    stream.synchronize()
    assert y.tolist() == [6.0] * 8
