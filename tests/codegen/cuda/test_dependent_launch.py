"""Launches that overlap, by their text: nothing of a tensor is touched before the wait."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable

import numpy as np
import pytest
from dslc.codegen.cuda.dependent_launch import is_dependent
from dslc.codegen.cuda.tools.sass import disassemble
from dslc.codegen.cuda.tools.toolchain import compile_cubin
from dslc.compiler.ir import Kernel
from dslc.runtime.cuda_emulator import EmulationError, compiler

from support.gpu.emulation import emitted, execute, lower
from support.kernels import one

needs_compiler = pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")
DECODE = """
kernel decode(a: f16[M, 512], w: u4[512, N], c: out f16[M, N]):
    for m, n in parallel(range(0, M, 16), range(0, N, 32)):
        acc = zeros(f32, [16, 32])
        for k in range(0, 512, 64):
            acc += dot(a[m : m + 16, k : k + 64], cast(w[k : k + 64, n : n + 32], f16))
        c[m : m + 16, n : n + 32] = cast(acc, f16)
"""
ROWS = """
kernel rows(x: f32[M, 512], g: f32[512], y: out f32[M, 512]):
    for m in parallel(range(0, M, 2)):
        t = x[m : m + 2, :]
        y[m : m + 2, :] = t * g[0:512][None, :]
"""


def product(edit: Callable[[str], str] | None = None, seed: int = 1) -> None:
    """Two blocks over random numbers, held against NumPy."""
    kernel = lower(one(DECODE, {"N": 64}))
    random = np.random.default_rng(0)
    a = random.integers(-4, 5, (9, 512)).astype(np.float16)
    w = random.integers(0, 16, (512, 64), dtype=np.uint8)
    c = np.empty((9, 64), np.float16)
    execute(kernel, {"a": a, "w": w, "c": c}, seed, edit)
    assert np.array_equal(c, a.astype(np.float32) @ w)


def kernel_text(change: Callable[[str], str]) -> Callable[[str], str]:
    """A change of the kernel, its device functions apart."""

    def edit(text: str) -> str:
        at = text.index('extern "C"')
        changed = text[:at] + change(text[at:])
        assert changed != text
        return changed

    return edit


WAIT = "  await_launches();\n"


def after_the_first_copies(text: str) -> str:
    """The wait behind the loop that begins the ring's first iterations."""
    without = text.replace(WAIT, "")
    at = without.index("int slot = 0;")
    return without[:at] + WAIT + without[at:]


def for_one_warp(text: str) -> str:
    return text.replace(WAIT, f"if (tid < 32) {WAIT}")


def never(text: str) -> str:
    return text.replace(WAIT, "")


def with_a_store_before(text: str) -> str:
    return text.replace(WAIT, f"  if (tid == 0) c[0] = 0;\n{WAIT}")


def beyond_the_weights(text: str) -> str:
    return re.sub(r"prefetch_run\(w ", "prefetch_run(w + (1 << 20) ", text)


@needs_compiler
@pytest.mark.parametrize("seed", [1, 2])
def test_a_product_waits_before_it_reads(seed: int) -> None:
    assert "prefetch_run(w" in emitted(lower(one(DECODE, {"N": 64})))[0]
    product(seed=seed)


@needs_compiler
@pytest.mark.parametrize(
    ("change", "text"),
    [
        (after_the_first_copies, r"cp\.async before griddepcontrol\.wait"),
        (for_one_warp, "before griddepcontrol.wait"),
        (never, "before griddepcontrol.wait"),
        (with_a_store_before, "access to c before griddepcontrol.wait"),
        (beyond_the_weights, "a prefetch of bytes that are in no buffer"),
    ],
)
def test_seeded_faults_are_caught(change: Callable[[str], str], text: str) -> None:
    def over_seeds() -> None:
        for seed in range(1, 9):  # in some the launches before end as soon as one thread waits
            with contextlib.suppress(AssertionError):
                product(kernel_text(change), seed)

    with pytest.raises(EmulationError, match=text):
        over_seeds()


@pytest.mark.parametrize(("text", "dims"), [(DECODE, {"N": 64}), (ROWS, {})])
def test_the_assembler_keeps_the_order(nvdisasm: None, text: str, dims: dict[str, int]) -> None:
    """Constant tensors are read by loads that a compiler may move: none goes before the wait."""
    kernel = lower(one(text, dims))
    assert isinstance(kernel, Kernel)
    assert is_dependent(kernel)
    (code,) = disassemble(compile_cubin(emitted(kernel)[0], "sm_90a").cubin)
    words = [i.opcode for i in code.instructions]
    wait = words.index("ACQBULK")
    touching = [w for w in words if w.startswith(("LDG", "STG", "ATOM", "RED", "UTMA", "UBLKCP"))]
    assert touching
    assert not any(w in words[:wait] for w in touching)
    assert any(w.startswith("PREEXIT") for w in words[:wait])
