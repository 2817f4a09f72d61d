"""The short way of calls: right where it is taken, and not taken where anything differs."""

from __future__ import annotations

import ctypes
import dataclasses
import platform
from typing import Any, ClassVar

import numpy as np
import pytest
from dslc.codegen.cpu.tools.elf_library import link_elf
from dslc.compiler.artifact import UNKNOWN, Artifact, Param, Requirement, Signature, Workspace
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.native import HostProcessor, NativeKernel
from dslc.runtime.native.host import extension
from dslc.runtime.native.loading import LIBRARY
from dslc.runtime.packing import Packed

from support.llvm import object_of

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or extension() is None, reason="needs the extension on x86-64"
)

# y[i] = a x[i] + bias, an element a turn; asserts a != 0; bias is -1 where `loud` holds
TEXT = """
define i32 @axpb(ptr %words, i64 %begin, i64 %end, ptr %scratch) {
entry:
  %x = load ptr, ptr %words
  %wy = getelementptr i64, ptr %words, i64 1
  %y = load ptr, ptr %wy
  %wa = getelementptr i64, ptr %words, i64 2
  %a = load float, ptr %wa
  %wb = getelementptr i64, ptr %words, i64 3
  %b = load double, ptr %wb
  %wc = getelementptr i64, ptr %words, i64 4
  %c = load i64, ptr %wc
  %wl = getelementptr i64, ptr %words, i64 5
  %l = load i64, ptr %wl
  %loud = icmp ne i64 %l, 0
  %ci = sitofp i64 %c to double
  %sum = fadd double %b, %ci
  %wide = select i1 %loud, double -1.0, double %sum
  %bias = fptrunc double %wide to float
  %zero = fcmp oeq float %a, 0.0
  br i1 %zero, label %failed, label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %from = getelementptr float, ptr %x, i64 %i
  %given = load float, ptr %from
  %product = fmul float %given, %a
  %result = fadd float %product, %bias
  %to = getelementptr float, ptr %y, i64 %i
  store float %result, ptr %to
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
failed:
  ret i32 1
done:
  ret i32 0
}
"""
KINDS = {"a": "f32", "b": "f64", "c": "i64", "loud": "bool"}


def axpb(**changes: Any) -> Artifact:
    params = (
        Param("x", "f32", "in", ("N",)),
        Param("y", "f32", "out", ("N",)),
        *(Param(name, kind, "in") for name, kind in KINDS.items()),
    )
    launch = {
        "variant": "x86-64-v3",
        "features": [],
        "arguments": [
            {"kind": "tensor", "name": "x"},
            {"kind": "tensor", "name": "y"},
            *({"kind": "scalar", "name": n, "type": t} for n, t in KINDS.items()),
        ],
        "scratch": 0,
        "asserts": ["a != 0"],
        "grid": ["N"],
    }
    made = Artifact(
        "axpb", "kernel", "cpu:x86-64-v3", "axpb",
        Signature(params, ("N",), requires=(Requirement("c < 100", "c < 100"),)),
        UNKNOWN, ("N",), launch=launch, files={LIBRARY: link_elf([object_of(TEXT, "x86_64")])},
    )  # fmt: skip
    return dataclasses.replace(made, **changes)


@pytest.fixture(scope="module")
def kernel() -> NativeKernel:
    return NativeKernel(axpb(), HostProcessor.get(), LIBRARY)


def pair(n: int = 9) -> tuple[Any, Any]:
    return np.arange(n, dtype=np.float32), np.zeros(n, np.float32)


def way(kernel: NativeKernel, *arguments: object) -> Any:
    names = [p.name for p in kernel.artifact.signature.params]
    kernel.launch(dict(zip(names, arguments, strict=True)))
    found = kernel.short_call(arguments, {})
    assert found is not None
    return found


def test_other_arrays_and_scalars_of_the_same_kinds(kernel: NativeKernel) -> None:
    short = way(kernel, *pair(), 2.0, 0.5, 3, False)
    for a, b, loud in ((0.1, 7.0, False), (3, -1, False), (-2.5, 1e-3, True)):
        x, y = pair()
        x += 100
        assert short((x, y, a, b, 3, loud), None) is True
        bias = np.float32(-1 if loud else b + 3)
        np.testing.assert_array_equal(y, x * np.float32(a) + bias)


def test_large_calls_run_on_all_threads(kernel: NativeKernel) -> None:
    n = 1 << 18
    short = way(kernel, *pair(n), 1.0, 0.0, 0, False)
    x, y = pair(n)
    assert short((x, y, 0.5, 1.0, 0, False), None) is True
    np.testing.assert_array_equal(y, x * np.float32(0.5) + 1)


def test_whatever_differs_goes_the_long_way(kernel: NativeKernel) -> None:
    x, y = pair()
    short = way(kernel, x, y, 2.0, 0.5, 3, False)
    before = y.copy()
    read_only = y.copy()
    read_only.flags.writeable = False
    memory = np.zeros(20, np.float32)
    unaligned = np.zeros(37, np.uint8)[1:].view(np.float32)

    class Subclass(np.ndarray[Any, Any]):
        pass

    others = [
        (x[:8], y[:8], 2.0, 0.5, 3, False),  # extents
        (memory[::2][:9], y, 2.0, 0.5, 3, False),  # strides
        (x.astype(np.float64), y, 2.0, 0.5, 3, False),
        (x.view(np.int32), y, 2.0, 0.5, 3, False),
        (x[None], y, 2.0, 0.5, 3, False),
        (x.view(Subclass), y, 2.0, 0.5, 3, False),
        (x.tolist(), y, 2.0, 0.5, 3, False),
        (unaligned, y, 2.0, 0.5, 3, False),
        (x, read_only, 2.0, 0.5, 3, False),
        (x, x, 2.0, 0.5, 3, False),
        (memory[:9], memory[4:13], 2.0, 0.5, 3, False),
        (x, y, np.float32(2), 0.5, 3, False),
        (x, y, "2", 0.5, 3, False),
        (x, y, 2.0, 0.5, 4, False),  # a scalar that a requirement reads
        (x, y, 2.0, 0.5, 3, 0),
        (x, y, 2.0, 0.5, 3),
    ]
    for given in others:
        assert short(given, None) is False, given
    assert short((x, y, 2.0, 0.5, 3, False), 7) is False  # a stream
    np.testing.assert_array_equal(y, before)
    assert short((memory[:9], memory[9:18], 2.0, 0.5, 3, False), None) is True


def test_an_assertion_that_does_not_hold(kernel: NativeKernel) -> None:
    x, y = pair()
    short = way(kernel, x, y, 2.0, 0.5, 3, False)
    with pytest.raises(DiagnosticError, match=r"DSL0608.*a != 0"):
        short((x, y, 0.0, 0.5, 3, False), None)


def test_it_keeps_nothing_of_the_arguments_alive(kernel: NativeKernel) -> None:
    import gc
    import weakref

    x, y = pair()
    short = way(kernel, x, y, 2.0, 0.5, 3, False)
    seen = weakref.ref(x)
    del x
    gc.collect()
    assert seen() is None
    assert short((*pair(), 2.0, 0.5, 3, False), None) is True


def test_packed_bytes_go_with_their_storage_alone() -> None:
    """Other tiles of the same number of bytes are other weights."""
    params = (Param("x", "u8", "in", ("N",)), *axpb().signature.params[1:])
    storage = {"scheme": "row", "bits": 8, "signed": False}
    signature = Signature((dataclasses.replace(params[0], packed=storage), *params[1:]), ("N",))
    kernel = NativeKernel(axpb(signature=signature), HostProcessor.get(), LIBRARY)

    def packed(own: dict[str, Any]) -> Any:
        made = np.arange(9, dtype=np.float32).view(np.uint8)[:9].view(Packed)
        made.storage = own
        return made

    more = (np.zeros(9, np.float32), 2.0, 0.5, 3, False)
    short = kernel.short_call((packed(storage), *more), {})
    assert short is not None
    assert short((packed(dict(storage)), *more), None) is True
    np.testing.assert_array_equal(more[0], np.arange(9) * np.float32(2) + np.float32(3.5))
    for other in (packed({**storage, "signed": True}), packed(storage).view(np.ndarray)):
        assert short((other, *more), None) is False


class View(ctypes.Structure):
    """DLPack's tensor."""

    _fields_: ClassVar = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("extents", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
    ]


class Tensor:
    """An array of another library, which has DLPack's exchange in C as torch has it."""

    __module__ = "torch"

    def __init__(self, array: Any, device: int = 1) -> None:
        self.array, self.device = array, device
        self.extents = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.strides = (ctypes.c_int64 * array.ndim)(*(n // array.itemsize for n in array.strides))

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


class Constant(Tensor):
    """The same of a library whose arrays may be read-only."""

    __module__ = "another"


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(View))
def view(tensor: Any, out: Any) -> int:
    at = ctypes.addressof
    out[0] = View(
        tensor.array.ctypes.data - 8, (tensor.device, 0), tensor.array.ndim,
        2, 8 * tensor.array.itemsize, 1, at(tensor.extents), at(tensor.strides), 8,
    )  # fmt: skip
    return 0


EXCHANGE = (ctypes.c_void_p * 7)(1 | 3 << 32, 0, 0, 0, 0, ctypes.cast(view, ctypes.c_void_p), 0)


@pytest.fixture
def exchange(monkeypatch: pytest.MonkeyPatch) -> None:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = (
        ctypes.py_object,
        (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p),
    )
    capsule = new(ctypes.addressof(EXCHANGE), b"dlpack_exchange_api", None)
    monkeypatch.setattr(Tensor, "__dlpack_c_exchange_api__", capsule, raising=False)


@pytest.mark.usefixtures("exchange")
def test_tensors_of_other_libraries(kernel: NativeKernel) -> None:
    x, y = pair()
    rest = (2.0, 0.5, 3, False)
    short = way(kernel, Tensor(x), Tensor(y), *rest)
    x, y = pair()
    assert short((Tensor(x), Tensor(y), *rest), None)
    np.testing.assert_array_equal(y, 2 * x + 3.5)
    y[:] = 0
    for other in (
        x,  # of NumPy
        Tensor(x.astype(np.float64)),
        Tensor(np.arange(10, dtype=np.float32)),
        Tensor(np.arange(18, dtype=np.float32)[::2]),
        Tensor(x, device=2),
        Tensor(y),  # what is written
    ):
        assert not short((other, Tensor(y), *rest), None)
    assert not y.any()


@pytest.mark.usefixtures("exchange")
def test_what_may_be_read_only_is_not_written_the_short_way(kernel: NativeKernel) -> None:
    x, y = pair()
    rest = (2.0, 0.5, 3, False)
    assert way(kernel, Constant(x), Tensor(y), *rest)((Constant(x), Tensor(y), *rest), None)
    kernel.launch(dict(zip("xyabc", (x, Constant(y), *rest), strict=False), loud=False))
    assert kernel.short_call((x, Constant(y), *rest), {}) is None


def test_nothing_to_do_has_no_short_way(kernel: NativeKernel) -> None:
    assert kernel.short_call((*pair(0), 2.0, 0.5, 3, False), {}) is None


COUNTS = """
define i32 @count(ptr %words, i64 %begin, i64 %end, ptr %scratch) {
  %y = load ptr, ptr %words
  %ww = getelementptr i64, ptr %words, i64 1
  %w = load ptr, ptr %ww
  %old = load i64, ptr %w
  %turns = sub i64 %end, %begin
  %new = add i64 %old, %turns
  store i64 %new, ptr %w
  store i64 %new, ptr %y
  ret i32 0
}
"""


def test_workspaces_are_zero_in_each_call() -> None:
    arguments: Any = [{"kind": "tensor", "name": "y"}, {"kind": "workspace", "name": "w"}]
    made = axpb(
        entry="count",
        signature=Signature((Param("y", "i64", "out", ("N",)),), ("N",)),
        workspaces=(Workspace("w", "i64", "8"),),
        files={LIBRARY: link_elf([object_of(COUNTS, "x86_64")])},
    )
    made = dataclasses.replace(made, launch={**made.launch, "arguments": arguments})
    kernel = NativeKernel(made, HostProcessor.get(), LIBRARY)
    y = np.zeros(9, np.int64)
    short = kernel.short_call((y,), {})
    assert short is not None
    for _ in range(3):
        assert short((y,), None) is True
        assert y[0] == 9


def test_a_program_s_kernels_run_in_order_with_buffers_between() -> None:
    one = axpb()
    scalars = {"b": "b", "c": "1", "loud": "0"}
    same: Any = {"kernel": 0, "dims": {"N": "N"}}
    calls = [
        {**same, "tensors": {"x": "x", "y": "t"}, "scalars": {"a": "a", **scalars}},
        {**same, "tensors": {"x": "t", "y": "y"}, "scalars": {"a": "b", **scalars}},
    ]
    params = (*one.signature.params[:2], Param("a", "f32", "in"), Param("b", "f64", "in"))
    program = axpb(
        kind="program",
        signature=Signature(params, ("N",)),
        launch={
            "buffers": [{"name": "t", "bytes": "N * 4"}],
            "kernels": [{**one.to_manifest(), "files": {}}],
            "calls": calls,
        },
    )
    kernel = NativeKernel(program, HostProcessor.get(), LIBRARY)
    x, y = pair(40_000)
    kernel.launch({"x": x, "y": y, "a": 2.0, "b": 3.0})
    wanted, found = y.copy(), np.zeros_like(y)
    np.testing.assert_array_equal(wanted, (x * 2 + 4) * 3 + 4)
    short = kernel.short_call((x, y, 2.0, 3.0), {})
    assert short is not None
    assert short((x, found, 2.0, 3.0), None) is True
    np.testing.assert_array_equal(found, wanted)
    assert short((x, found, 2.5, 3.0), None) is False
    with pytest.raises(DiagnosticError, match=r"DSL0608.*a != 0"):
        kernel.launch({"x": x, "y": y, "a": 1.0, "b": 0.0})
