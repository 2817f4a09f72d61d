"""Artifacts called on an emulated CPU."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from dslc.codegen.aarch64.tools.library import with_library
from dslc.compiler.artifact import Artifact, Hashes, Param, Requirement, Signature, Workspace
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.aarch64.emulated import EmulatedProcessor
from dslc.runtime.native import NativeKernel, Processor
from dslc.runtime.native.description import word_of
from dslc.runtime.native.loading import LIBRARY

from support.aarch64 import function, guest_program, needs_emulator

# y[i] = a x[i] + bias, 4 elements a turn; counts the turns in a workspace; asserts a != 0
AXPB = """
    ldp x4, x5, [x0]            // x, y
    ldr s0, [x0, #16]           // a
    ldrsw x6, [x0, #24]         // bias
    ldr x7, [x0, #32]           // N
    ldr x8, [x0, #40]           // turns
    scvtf s2, w6
    fcmp s0, #0.0
    b.eq .L{0}zero
    str x7, [x3]
.L{0}turn:
    cmp x1, x2
    b.ge .L{0}done
    ldr x9, [x8]
    add x9, x9, #1
    str x9, [x8]
    lsl x10, x1, #2
    add x11, x10, #4
    cmp x11, x7
    csel x11, x11, x7, lt
.L{0}element:
    ldr s1, [x4, x10, lsl #2]
    fmul s1, s1, s0
    fadd s1, s1, s2
    str s1, [x5, x10, lsl #2]
    add x10, x10, #1
    cmp x10, x11
    b.lt .L{0}element
    add x1, x1, #1
    b .L{0}turn
.L{0}done:
    mov w0, #0
    ret
.L{0}zero:
    mov w0, #1
    ret
"""
HASHES = Hashes("", "", "", "")
LAUNCH: dict[str, Any] = {
    "variant": "dotprod",
    "features": ["dotprod"],
    "arguments": [
        {"kind": "tensor", "name": "x"},
        {"kind": "tensor", "name": "y"},
        {"kind": "scalar", "name": "a", "type": "f32"},
        {"kind": "scalar", "name": "bias", "type": "i32"},
        {"kind": "value", "value": "N", "type": "i64"},
        {"kind": "workspace", "name": "turns"},
    ],
    "scratch": 64,
    "asserts": ["a != 0"],
    "grid": ["cdiv(N, 4)"],
}


def axpb(entry: str = "axpb__dotprod") -> Artifact:
    params = (
        Param("x", "f32", "in", ("N",)),
        Param("y", "f32", "out", ("N",)),
        Param("a", "f32", "in"),
        Param("bias", "i32", "in"),
    )
    text = function(entry, AXPB.format(entry))
    return Artifact(
        "axpb",
        "kernel",
        "aarch64:dotprod",
        entry,
        Signature(params, ("N",), requires=(Requirement("N < 100000", "N < 100000"),)),
        HASHES,
        ("cdiv(N, 4)",),
        workspaces=(Workspace("turns", "i64", "8"),),
        launch=LAUNCH,
        files={"kernel.s": text.encode()},
    )


@pytest.fixture(scope="module")
def processor() -> Processor:
    needs_emulator()
    return EmulatedProcessor(guest_program(), "neoverse-n1")


@pytest.fixture(scope="module")
def kernel(processor: Processor) -> NativeKernel:
    return NativeKernel(with_library(axpb()), processor, LIBRARY)


@pytest.mark.parametrize("n", [1, 4, 5, 63, 40_000])
def test_a_kernel_is_called_with_arrays_and_scalars(kernel: NativeKernel, n: int) -> None:
    x, y = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    kernel.launch({"x": x, "y": y, "a": 0.5, "bias": -3})
    np.testing.assert_array_equal(y, x / 2 - 3)


def test_a_whole_number_of_a_float_is_passed_as_a_float() -> None:
    """Such as an extent that a program hands on."""
    assert word_of(3, "f32") == word_of(3.0, "bf16") == 0x40400000
    assert word_of(3, "f64") == 0x4008 << 48
    assert word_of(-3, "i32") == -3


def test_small_calls_run_on_the_thread_of_the_caller(kernel: NativeKernel) -> None:
    def threads(n: int) -> tuple[int, ...]:
        x = np.zeros(n, np.float32)
        return kernel.threads({"x": x, "y": x.copy(), "a": 1.0, "bias": 0})

    assert threads(8) == (1,)
    assert threads(40_000) == (3,)
    assert threads(0) == (0,)


def test_an_assertion_that_does_not_hold(kernel: NativeKernel) -> None:
    x = np.ones(8, np.float32)
    with pytest.raises(DiagnosticError, match=r"DSL0608.*a != 0"):
        kernel.launch({"x": x, "y": x.copy(), "a": 0.0, "bias": 0})


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"x": np.ones(8, np.float64)}, "DSL0761"),
        ({"x": np.ones(7, np.float32)}, "DSL0752"),
        ({"x": np.ones((8, 1), np.float32)}, "DSL0751"),
        ({"y": np.broadcast_to(np.float32(0), 8)}, "DSL0763"),
        ({"x": np.ones(1 << 17, np.float32), "y": np.ones(1 << 17, np.float32)}, "DSL0759"),
    ],
)
def test_arguments_that_do_not_fit(
    kernel: NativeKernel, changes: dict[str, object], code: str
) -> None:
    x = np.ones(8, np.float32)
    with pytest.raises(DiagnosticError, match=code):
        kernel.launch({"x": x, "y": x.copy(), "a": 1.0, "bias": 0, **changes})


def test_an_output_has_memory_of_its_own(kernel: NativeKernel) -> None:
    """Where a package is called, nothing has looked at the arguments before."""
    memory = np.ones(16, np.float32)
    with pytest.raises(DiagnosticError, match=r"DSL0742.*y \(out\) and x share memory"):
        kernel.launch({"x": memory[:8], "y": memory[4:12], "a": 1.0, "bias": 0})
    kernel.launch({"x": memory[:8], "y": memory[8:], "a": 2.0, "bias": 0})
    assert (memory[8:] == 2).all()


def test_any_address_does(kernel: NativeKernel) -> None:
    memory = np.zeros(64, np.uint8)
    x = memory[3:27].view(np.float32)
    x[:] = range(6)
    y = np.zeros(6, np.float32)
    kernel.launch({"x": x, "y": y, "a": 1.0, "bias": 0})
    np.testing.assert_array_equal(y, range(6))


def test_a_cpu_without_the_features_is_refused_at_once() -> None:
    needs_emulator()
    old = EmulatedProcessor(guest_program(), "cortex-a57")
    with pytest.raises(
        DiagnosticError, match=r"DSL0860.*needs dotprod: .*cortex-a57 has no dotprod"
    ):
        NativeKernel(with_library(axpb()), old, LIBRARY)


def test_a_fault_is_an_error_of_the_call(processor: Processor) -> None:
    broken = axpb()
    text = function(broken.entry, "    ldr x4, [x0]\n    ldr x5, [x4, #64]\n    ret").encode()
    kernel = NativeKernel(
        with_library(dataclasses.replace(broken, files={"kernel.s": text})), processor, LIBRARY
    )
    x = np.ones(8, np.float32)
    with pytest.raises(DiagnosticError, match=r"DSL0861.*33 bytes behind the end of x"):
        kernel.launch({"x": x, "y": x.copy(), "a": 1.0, "bias": 0})


@pytest.mark.parametrize(
    "launch",
    [
        {},
        {**LAUNCH, "scratch": -1},
        {**LAUNCH, "asserts": "a"},
        {**LAUNCH, "arguments": [{"kind": "tensor", "name": "a"}]},
        {**LAUNCH, "arguments": [{"kind": "tensor_map", "name": "x"}]},
    ],
)
def test_a_launch_that_cannot_be_read(processor: Processor, launch: dict[str, Any]) -> None:
    wrong = dataclasses.replace(axpb(), launch=launch, files={"kernel.so": b""})
    with pytest.raises(DiagnosticError, match="DSL0802"):
        NativeKernel(wrong, processor, LIBRARY)


def test_the_calls_of_a_program_share_buffers_and_one_library(processor: Processor) -> None:
    """y = b (a x + 1) + 2 by two kernels of one name."""
    one = axpb()
    params = (
        Param("x", "f32", "in", ("M",)),
        Param("y", "f32", "out", ("M",)),
        Param("a", "f32", "in"),
        Param("b", "f32", "in"),
    )
    calls = [
        {
            "kernel": n,
            "tensors": {"x": source, "y": target},
            "dims": {"N": "M"},
            "scalars": {"a": factor, "bias": str(n + 1)},
        }
        for n, (source, target, factor) in enumerate((("x", "t", "a"), ("t", "y", "b")))
    ]
    program = Artifact(
        "twice",
        "program",
        "aarch64:dotprod",
        "twice",
        Signature(params, ("M",)),
        HASHES,
        launch={
            "buffers": [{"name": "t", "bytes": "M * 4"}],
            "kernels": [one.to_manifest(), one.to_manifest()],
            "calls": calls,
        },
        files={
            "0.kernel.s": one.files["kernel.s"],
            "1.kernel.s": one.files["kernel.s"].replace(b".L", b".Lother"),
        },
    )
    kernel = NativeKernel(with_library(program), processor, LIBRARY)
    x, y = np.arange(37, dtype=np.float32), np.zeros(37, np.float32)
    kernel.launch({"x": x, "y": y, "a": 2.0, "b": -1.0})
    np.testing.assert_array_equal(y, -(2 * x + 1) + 2)


def test_packed_bytes_are_as_many_as_the_shape_takes(processor: Processor) -> None:
    one = axpb()
    packed = dataclasses.replace(
        one.signature.params[0], dtype="u4", packed={"scheme": "row", "bits": 4, "signed": False}
    )
    signature = dataclasses.replace(one.signature, params=(packed, *one.signature.params[1:]))
    kernel = NativeKernel(
        with_library(dataclasses.replace(one, signature=signature)), processor, LIBRARY
    )
    y = np.zeros(8, np.float32)
    for wrong in (np.zeros(3, np.uint8), np.zeros(4, np.int8)):
        with pytest.raises(DiagnosticError, match=r"DSL0752.*uint8 of shape \(4,\)"):
            kernel.launch({"x": wrong, "y": y, "a": 1.0, "bias": 0})
