"""Rows of any length mean on every GPU what the interpreter says, and cost no more to compile."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.codegen.hip.compilers import compilers
from dslc.compiler.dtypes import parse_dtype
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Kernel
from dslc.runtime.cuda_emulator import compiler

from support.generated.awkward import BODIES, Rows, check, drawn, values
from support.gpu import emulation
from support.hip import emulation as hip_emulation
from support.kernels import one

CHIPS = ("gfx942", "gfx950")
needs_host = pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")
needs_clang = pytest.mark.skipif(
    next(compilers(), None) is None, reason="needs a clang for AMD GPUs"
)
# Rows that begin or end between vectors, whose numbers are all below or above 0, or that are read from
# before their start.
SAMPLE = [
    Rows("max", "f32", 64, 2, start=1, beside=15, count=5, signs="negative"),
    Rows("softmax", "f16", 511, 1, start=0, beside=0, count=3),
    Rows("layernorm", "f32", 77, 5, start=8, beside=1, count=6),
    Rows("argmax", "f32", 257, 1, start=1, beside=8, count=3, signs="least"),
    Rows("argmin", "i32", 1100, 1, count=2, signs="positive"),  # over several warps, as the next
    Rows("rmsnorm", "f32", 1500, 1, count=2),
    Rows("cumsum", "i32", 513, 1, start=8, beside=8, count=2),
    Rows("halo", "f32", 100, 2, count=5, beside=4),
    Rows("scattered", "f16", 129, 2, start=1, beside=1, count=3),
    Rows("cross_entropy", "bf16", 333, 1, count=3),
    Rows("looped", "f32", 77, 4, start=1, beside=258, count=6),
]


def on_cuda(rows: Rows, seed: int) -> None:
    args = rows.args(seed)
    emulation.execute(emulation.lower(rows.kernel), args, seed)
    check(rows, args, seed)


def on_hip(rows: Rows, chip: str, seed: int) -> None:
    args = rows.args(seed)
    hip_emulation.execute(hip_emulation.lower(rows.kernel, chip), chip, args, seed)
    check(rows, args, seed)


@needs_host
@pytest.mark.parametrize("rows", SAMPLE, ids=str)
def test_a_row_means_the_same_on_cuda(rows: Rows) -> None:
    on_cuda(rows, 0)


@needs_clang
@pytest.mark.parametrize("rows", SAMPLE[1:4], ids=str)
def test_a_row_means_the_same_on_hip(rows: Rows) -> None:
    on_hip(rows, "gfx942", 0)


def test_passes_mean_the_same_by_the_interpreter() -> None:
    for seed, rows in enumerate(drawn(5, len(BODIES))):
        args = rows.args(seed)
        run(emulation.lower(rows.kernel), args, Options())
        check(rows, args, seed)


@pytest.mark.parametrize(("awkward", "even"), [(511, 512), (4095, 4096), (50257, 51200)])
@pytest.mark.parametrize("body", ["softmax", "layernorm", "cumsum", "argmax"])
def test_an_awkward_row_has_a_text_of_about_the_same_length(
    body: str, awkward: int, even: int
) -> None:
    texts = []
    for extent in (awkward, even):
        lowered = emulation.lower(Rows(body, "f32", extent).kernel)
        assert isinstance(lowered, Kernel)
        texts.append(emulation.emitted(lowered)[0])
    assert len(texts[0]) < 1.6 * len(texts[1])


def _fits_lds(rows: Rows) -> bool:
    """A prefix sum has its whole line in LDS, which has 64 KiB."""
    return rows.body != "cumsum" or rows.extent * 4 <= 1 << 16


LONG = [
    Rows(body, "f32", extent, start=start, beside=7 * start, count=2)
    for body in ("softmax", "layernorm", "rmsnorm", "argmax", "cumsum", "cross_entropy")
    for extent, start in ((4095, 1), (50257, 0))
]


@pytest.mark.deep
@needs_host
@pytest.mark.parametrize("rows", LONG, ids=str)
def test_long_rows_on_cuda(rows: Rows) -> None:
    on_cuda(rows, 1)


@pytest.mark.deep
@needs_clang
@pytest.mark.parametrize("rows", [r for r in LONG if _fits_lds(r)], ids=str)
def test_long_rows_on_hip(rows: Rows) -> None:
    on_hip(rows, "gfx942", 1)


@pytest.mark.deep
@needs_host
@pytest.mark.parametrize("part", range(8))
def test_rows_drawn_at_random_on_cuda(part: int) -> None:
    for seed, rows in enumerate(drawn(100 + part, 40)):
        on_cuda(rows, seed)


@pytest.mark.deep
@needs_clang
@pytest.mark.parametrize("chip", CHIPS)
def test_rows_drawn_at_random_on_hip(chip: str) -> None:
    for seed, rows in enumerate(drawn(200, 60)):
        on_hip(rows, chip, seed)


ENDS = """
kernel k(x: {dtype}[N], z: inout {dtype}[N]):
    for n in parallel(range(0, N, 64)):
        z[n : n + 64] = x[n : n + 64] + x[n : n + 64]
"""


@needs_host
@pytest.mark.parametrize(("dtype", "count"), [("f32", 101), ("f16", 75), ("i8", 79)])
def test_no_vector_reaches_across_the_end_of_a_tensor(dtype: str, count: int) -> None:
    rng = np.random.default_rng(0)
    x, z = (values(rng, parse_dtype(dtype), (count,), "positive") for _ in range(2))
    emulation.execute(emulation.lower(one(ENDS.format(dtype=dtype))), {"x": x, "z": z})
    np.testing.assert_array_equal(z, x + x)


HEADS = """
kernel k(q: f16[M, 72], k: f16[N, 72], z: inout f32[M, N]):
    for m, n in parallel(range(0, M, 32), range(0, N, 16)):
        a = cast(exp(cast(q[m : m + 32, :], f32)), f16)
        b = cast(exp(cast(k[n : n + 16, :], f32)), f16)
        z[m : m + 32, n : n + 16] = dot(a, b, transposed="b")
"""


CUT = """
kernel k(q: f16[M, 96], k: f16[N, 96], z: inout f32[M, N]):
    for m, n in parallel(range(0, M, 32), range(0, N, 16)):
        z[m : m + 32, n : n + 16] = dot(q[m : m + 32, 0:75], k[n : n + 16, 0:75], transposed="b")
"""


@pytest.mark.parametrize("source", [HEADS, CUT], ids=["computed", "cut"])
def test_padding_of_operands_adds_nothing(source: str) -> None:
    """Each operand's padding is exp(0) = 1, or what follows it in memory, if nothing takes it away."""
    rng = np.random.default_rng(0)
    width = 72 if source == HEADS else 96
    q, k = (rng.integers(-8, 3, (n, width)).astype(np.float16) / 4 for n in (40, 24))
    found = np.zeros((40, 24), np.float32)
    wanted = found.copy()
    run(one(source), {"q": q, "k": k, "z": wanted}, Options())
    lowered = emulation.lower(one(source))
    run(lowered, {"q": q, "k": k, "z": found}, Options())
    np.testing.assert_allclose(found, wanted, 1e-5)
    if compiler() is not None:
        found[:] = 0
        emulation.execute(lowered, {"q": q, "k": k, "z": found})
        np.testing.assert_allclose(found, wanted, 1e-5)
