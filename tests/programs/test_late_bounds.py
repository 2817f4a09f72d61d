"""Turns of the parallel nest, of loops and of branches that only a call knows, on an NPU."""

from __future__ import annotations

from typing import Any

import dslc
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError

from support.machines import call

_ROWS = """
kernel k(x: f32[M, L], n: i32, y: out f32[M, L]):
    for m, l in parallel(range(0, n, 8), range(0, L, 16)):
        y[m : m + 8, l : l + 16] = x[m : m + 8, l : l + 16] * 2.0
"""
_TURNS = """
kernel k(x: f32[M, L], n: i32, y: out f32[M, L]):
    for m in parallel(range((n + 3) // 4)):
        for l in range(0, L, 32):
            y[m * 4 : m * 4 + 4, l : l + 32] = x[m * 4 : m * 4 + 4, l : l + 32] + cast(n, f32)
"""
_ASSERTED = """
kernel k(x: f32[M, L], n: i32, y: out f32[M, L]):
    for m in parallel(range(0, n, 4)):
        assert n <= 24
        y[m % 24 : m % 24 + 4, :] = x[m : m + 4, :]
"""
_ATTENTION = """
kernel k(x: f32[M, L], n: i32, y: out f32[M, L]):
    for m in parallel(range(0, n, 8)):
        q = x[m : m + 8, :]
        top = full(f32, [8], -1e30)
        total = zeros(f32, [8])
        acc = zeros(f32, [8, L])
        for l in range(0, n, 8):
            scores = dot(q, x[l : l + 8, :], transposed="b") * 0.01
            scores = where((arange(8) + l)[None, :] < n, scores, -1e30)
            higher = maximum(top, max(scores, 1))
            shrink = exp(top - higher)
            p = exp(scores - higher[:, None])
            total = total * shrink + sum(p, 1)
            acc = acc * shrink[:, None] + dot(p, x[l : l + 8, :])
            top = higher
        y[m : m + 8, :] = acc / total[:, None]
"""


@pytest.mark.parametrize("source", [_ROWS, _TURNS, _ASSERTED, _ATTENTION])
@pytest.mark.parametrize("n", [0, 5, 24])
def test_a_grid_ends_where_the_call_says(source: str, n: int) -> None:
    x = np.random.default_rng(0).integers(-4, 5, (24, 64)).astype(np.float32)
    found = []
    for target in ("interp", "aie:npu2"):
        y = np.zeros_like(x)
        call(target, source, {"x": x, "n": n, "y": y})
        found.append(y[:n])
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-5)


_BRANCHES = {
    "one of two": """
        if n > 4:
            t = sum(x[m : m + 4, 0:8], 1)
            for k in range(0, L, 64):
                acc += sum(x[m : m + 4, k : k + 64], 1) + t
            u = acc * 2.0
            for k in range(lo, L, 64):
                if k % 128 == 0:
                    acc += max(x[m : m + 4, k : k + 64], 1)
            acc += u
        else:
            for k in range(0, L, 128):
                acc -= sum(x[m : m + 4, k : k + 128], 1)
""",
    "branches in a branch": """
        if n > 4:
            if sum(acc) > 100:
                for k in range(0, L, 64):
                    acc += x[m : m + 4, k]
            elif n < 9:
                for k in range(0, L, 128):
                    if k != 256:
                        for j in range(0, 128, 64):
                            acc += x[m : m + 4, k + j]
            acc *= 2.0
""",
    "what a branch made, and a buffer": """
        if n > 4:
            b = buffer(f32, [4])
            b[:] = acc * 3.0
            start = floor(max(acc)) - 5.0
            for k in range(0, L, 64):
                b[:] = b[:] + x[m : m + 4, k] * start
            acc = b[:] - start
""",
}


@pytest.mark.parametrize("name", sorted(_BRANCHES))
@pytest.mark.parametrize("n", [3, 7, 9])
def test_loops_in_branches_read_tensors(name: str, n: int) -> None:
    source = f"""
kernel k(x: f32[M, L], n: i32, y: out f32[M]):
    for m in parallel(range(0, M, 4)):
        acc = x[m : m + 4, 1] + 7.0
        lo = m * 16
{_BRANCHES[name]}
        y[m : m + 4] = acc
"""
    x = np.random.default_rng(0).integers(-4, 5, (8, 2048)).astype(np.float32)
    found = []
    for target in ("interp", "aie:npu2"):
        y = np.zeros(8, np.float32)
        call(target, source, {"x": x, "n": n, "y": y})
        found.append(y)
    np.testing.assert_array_equal(*found)


def test_an_adapter_for_each_row_or_none() -> None:
    source = """
kernel bgmv(x: f32[B, K], w: f32[E, K, N], ids: i32[B], y: inout f32[B, N]):
    for b, n in parallel(range(B), range(0, N, 16)):
        e = ids[b]
        if e >= 0:
            acc = zeros(f32, [16])
            for k in range(0, K, 16):
                acc += sum(x[b, k : k + 16][:, None] * w[e, k : k + 16, n : n + 16], 0)
            y[b, n : n + 16] += acc
"""
    rng = np.random.default_rng(0)
    x, w = rng.integers(-4, 5, (5, 64)), rng.integers(-4, 5, (3, 64, 32))
    ids = np.array([0, 2, -1, 1, -1], np.int32)
    y = np.ones((5, 32), np.float32)
    given = {"x": x.astype(np.float32), "w": w.astype(np.float32), "ids": ids, "y": y}
    call("aie:npu2", source, given)
    np.testing.assert_array_equal(y, 1 + (ids >= 0)[:, None] * np.einsum("bk,bkn->bn", x, w[ids]))


_REFUSED = {
    "range(0, n, 4)": "assert the most",
    "range(n, 24, 4)": "begin at 0",
}


@pytest.mark.parametrize("turns", sorted(_REFUSED))
def test_a_grid_that_nothing_bounds_is_refused(turns: str) -> None:
    source = f"""
kernel k(x: f32[M], n: i32, y: inout f32[M]):
    for m in parallel({turns}):
        y[m % 8 : m % 8 + 4] = x[m % 8 : m % 8 + 4]
"""
    with pytest.raises(DiagnosticError) as caught:
        dslc.compile(source, target="aie:npu2", cache=False)["k"].specialize(M=24)
    (first, *_) = caught.value.diagnostics
    assert first.code == "DSL0590"
    assert first.loc is not None
    assert _REFUSED[turns] in str(first.hint)


def test_a_loop_whose_beginning_only_the_call_knows() -> None:
    """A small tensor stays on the core; of a large one it is said."""
    source = """
kernel k(x: f32[M, L], n: i32, y: out f32[M]):
    for m in parallel(range(0, M, 4)):
        acc = zeros(f32, [4])
        for l in range(n, L, 8):
            acc += sum(x[m : m + 4, l : l + 8], 1)
        y[m : m + 4] = acc
"""
    x = np.random.default_rng(0).integers(-4, 5, (8, 64)).astype(np.float32)
    y: Any = np.zeros(8, np.float32)
    call("aie:npu2", source, {"x": x, "n": 16, "y": y})
    np.testing.assert_array_equal(y, x[:, 16:].sum(1))
    with pytest.raises(DiagnosticError, match="DSL0590"):
        dslc.compile(source, target="aie:npu2", cache=False)["k"].specialize(M=8, L=4096)


@pytest.mark.parametrize("n", [0, 9, 64])
def test_a_loop_whose_end_is_asserted_holds_another(n: int) -> None:
    source = """
kernel k(x: f32[M, L], n: i32, y: out f32[M]):
    for m in parallel(range(0, M, 4)):
        acc = zeros(f32, [4])
        assert n <= 64
        for l in range(0, n, 8):
            for j in range(0, L, 512):
                acc += x[m : m + 4, l + j]
            acc *= 2.0
        y[m : m + 4] = acc
"""
    x = np.random.default_rng(0).integers(-4, 5, (8, 2048)).astype(np.float32)
    found = []
    for target in ("interp", "aie:npu2"):
        y = np.zeros(8, np.float32)
        call(target, source, {"x": x, "n": n, "y": y})
        found.append(y)
    np.testing.assert_array_equal(*found)


def test_an_extent_of_a_scalar_is_refused() -> None:
    source = """
kernel k(x: f32[H * W], y: out f32[16], H: i32, W: i32):
    y[:] = x[0:16]
"""
    x, y = np.arange(12, dtype=np.float32), np.zeros(16, np.float32)
    call("interp", source, {"x": x, "y": y, "H": 3, "W": 4})
    np.testing.assert_array_equal(y, [*range(12), 0, 0, 0, 0])
    with pytest.raises(
        DiagnosticError, match=r"(?s)DSL0590.*: H is in an extent.*:2:10"
    ) as failure:
        call("aie:npu2", source, {"x": x, "y": y, "H": 3, "W": 4})
    assert failure.value.diagnostics[0].hint
