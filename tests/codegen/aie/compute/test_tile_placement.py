"""Tiles are values: what a core's memory holds for one of them no other changes, on any path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dslc.codegen.aie.compute.tile_placement import find_placement
from dslc.codegen.aie.planning.plan_kernel import plan_kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import walk

from support.generated.random_sources import differs
from support.machines import call
from support.npu.kernels import EXAMPLES, TARGET, case, lowered

_HEAD = """
kernel k(x: i32[24, 8], n: i32, y: out i32[32, 8]):
    a = x[0:8, :]
    b = x[8:16, :]
    c = x[16:24, :]
    d = a - b
"""
_END = "".join(f"    y[{8 * i} : {8 * i + 8}, :] = {v}\n" for i, v in enumerate("abcd"))
_BODIES = {
    "loaded again": """
    c += dot(a, a)
    d = c
    c = x[16:24, :]
""",
    "loaded in each iteration of a loop": """
    for i in range(3):
        e = x[8:16, :]
        e += dot(a, a)
        d += e
""",
    "loaded in each iteration of a while loop": """
    i = 0
    while i < n:
        e = x[8:16, :]
        e += dot(a, a)
        d += e
        i += 1
""",
    "a part of one window": """
    e = x[4:12, :]
    e += dot(a, a)
    d = e + x[8:16, :]
""",
    "added to in each iteration": """
    f = dot(a, b)
    for i in range(3):
        g = f
        g += dot(a, c)
        d = d ^ g
""",
    "seen in another shape": """
    e = dot(a, b)
    f = reshape(reshape(e, [4, 16]), [8, 8])
    f += dot(b, b)
    d = e - f
""",
    "computed for a branch that is not taken": """
    d = a * 2 + 1
    if n > 2:
        a = a + 1
    else:
        a = dot(a, d)
""",
    "computed for a loop of no iterations": """
    d = a * 2 + 1
    for i in range(n - 3):
        a = dot(a, d) & 1023
""",
    "swapped after a branch": """
    for i in range(3):
        b = b & 1023
        if sum(d) > 0:
            c = a
        else:
            d += dot(a, b)
        c, d = d, b
""",
    "rotated": """
    for i in range(4):
        c += dot(a, b)
        a, b, c, d = b, c & 1023, d, transpose(a)
""",
    "filled with an element of what it replaces": """
    for i in range(2):
        c = full(i32, [8, 8], c[0, 0] + 1) + c
""",
    "what a while loop began its last iteration with": """
    i = 0
    while sum(dot(a, b) + c) > 40 and i < 9:
        c -= 3 * dot(a, a)
        i += 1
""",
}


@pytest.mark.parametrize("name", list(_BODIES))
def test_a_tile_keeps_its_value(name: str) -> None:
    source = _HEAD + _BODIES[name] + _END
    x = np.random.default_rng(1).integers(-4, 5, (24, 8), np.int32)
    for n in (0, 2, 3):
        results = []
        for target in ("interp", "aie:npu2"):
            y = np.zeros((32, 8), np.int32)
            call(target, source, {"x": x, "n": n, "y": y})
            results.append(y)
        np.testing.assert_array_equal(*results)


def _added_in_place(source: str | Path, kernel: str, **sizes: Any) -> list[bool]:
    """Of each product with an accumulator whether it takes its memory."""
    made = lowered(source, kernel, **sizes)
    planned = plan_kernel(made, TARGET)
    accesses = {a.stmt: (s, a) for s in planned.plan.streams for a in s.parts}
    body = planned.plan.kernel.body
    placement = find_placement(body, [s for s in walk(body) if isinstance(s, ins.Dot)], accesses)
    return [
        s in placement.in_place for s in walk(body) if isinstance(s, ins.Dot) and s.acc is not None
    ]


def test_what_a_loop_sums_is_summed_in_place() -> None:
    assert _added_in_place(EXAMPLES / "gemm.tile", "gemm", T="bf16", M=64, N=64, K=64, BN=64) == [
        True
    ]
    source = _HEAD + _BODIES["loaded again"] + _END
    assert _added_in_place(source, "k") == [False]
    alone = _HEAD + "    c += dot(a, a)\n" + _END
    assert _added_in_place(alone, "k") == [True]


def test_sums_that_are_scaled_need_no_second_buffer() -> None:
    """An accumulator that is scaled after the product of its iteration is scaled where it lies."""
    source = """
kernel k(a: bf16[16, 64], b: bf16[64, 32], y: out f32[16, 32]):
    acc = zeros(f32, [16, 32])
    for k in range(0, 64, 16):
        acc += dot(a[:, k : k + 16], b[k : k + 16, :])
        acc *= 0.5
    y[:, :] = acc
"""
    buffers = [n for n, _, _ in next(iter(case(source, "k").planned.programs.values())).buffers]
    assert not any("next" in name for name in buffers)


@pytest.mark.deep
@pytest.mark.parametrize("first", range(0, 10_000, 500))
def test_random_programs_mean_what_they_mean_in_numpy(first: int) -> None:
    assert [seed for seed in range(first, first + 500) if differs("aie:npu2", seed)] == []
