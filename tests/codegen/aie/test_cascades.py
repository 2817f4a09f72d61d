"""Loops whose iterations are dealt to the cores of a column, results passing from one to the next."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from dslc.codegen.aie.planning.merging import find_cascade
from dslc.codegen.aie.planning.plan_kernel import Planned
from dslc.codegen.aie.printing.descriptors import print_descriptors
from dslc.codegen.aie.proving.legality import prove
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.aie_simulator import simulate

from support.npu.kernels import Case, assert_close, case, lowered

_ATTENTION = """
kernel attention(q: bf16[S, Q], k: bf16[L, E], v: bf16[L, E], past: i32[1], scale: f32,
                 o: out bf16[S, Q]):
    const D = 32
    for h, s in parallel(range(Q // D), range(0, S, 16)):
        start = past[0]
        assert start + S <= L, "the keys end before the last query"
        g = h // (Q // E) * D
        queries = q[s : s + 16, h * D : h * D + D]
        position = arange(16) + s + start
        f = scale * 1.4426950408889634
        top = full(f32, [16], -inf)
        total = zeros(f32, [16])
        acc = zeros(f32, [16, D])
        for l in range(0, start + min(s + 16, S), 16):
            scores = dot(queries, k[l : l + 16, g : g + D], transposed="b")
            scores = where(arange(16) + l <= position[:, None], scores, -inf)
            higher = maximum(top, max(scores, 1))
            shrink = exp2(fma(top, f, -(higher * f)))
            p = exp2(fma(scores, f, -(higher * f)[:, None]))
            total = total * shrink + sum(p, 1)
            acc = acc * shrink[:, None] + dot(cast(p, bf16), v[l : l + 16, g : g + D])
            top = higher
        o[s : s + 16, h * D : h * D + D] = cast(acc * (1 / total)[:, None], bf16)
"""
_SUMS = """
kernel sums(x: f32[M, K], s: f32[M], low: out f32[M], y: out i32[M]):
    for m in parallel(range(0, M, 8)):
        least = full(f32, [8], inf)
        total = zeros(i32, [8])
        for k in range(0, K, 32):
            t = x[m : m + 8, k : k + 32]
            least = minimum(least, min(t, 1))
            total += sum(cast(t * 8.0, i32), 1)
        low[m : m + 8] = least * s[m : m + 8]
        y[m : m + 8] = total
"""


def _attention(**sizes: int) -> Case:
    """The kernel whose position is an argument; `past` keys stand before the first query."""
    past = sizes.pop("past")
    source = _ATTENTION.replace("past: i32[1], scale: f32,", "past: i32[1],").replace(
        "scale * 1.4426950408889634", "0.25 * 1.4426950408889634"
    )
    made = case(source, "attention", **sizes)
    made.arrays["past"] = np.array([past], np.int32)
    return made


_CASES: dict[str, tuple[dict[str, int], tuple[int, int]]] = {
    "decode": ({"S": 1, "L": 200, "Q": 128, "E": 64, "past": 140}, (4, 4)),
    "decode_at_the_beginning": ({"S": 1, "L": 64, "Q": 64, "E": 32, "past": 0}, (4, 2)),
    "causal": ({"S": 40, "L": 70, "Q": 64, "E": 32, "past": 30}, (4, 3)),
}


@pytest.mark.parametrize("name", sorted(_CASES))
def test_attention_is_a_cascade_where_heads_are_few(name: str) -> None:
    sizes, herd = _CASES[name]
    made = _attention(**sizes)
    plan = made.planned.plan
    assert plan.cascade is not None
    assert (plan.herd.stages, plan.herd.columns) == herd
    a, b = made.padded, made.padded
    simulate(made.text, a)
    simulate(print_descriptors(made.planned, "npu2"), b)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x.view(np.uint8), y.view(np.uint8))
    assert_close(made.written(a), made.expected())


def test_shared_key_heads_are_read_once_for_the_columns_of_their_group() -> None:
    plan = _attention(S=1, L=256, Q=128, E=32, past=99).planned.plan
    assert (plan.herd.stages, plan.herd.columns) == (4, 4)
    values = [f for f in plan.fifos if f.ends(2) or f.ends(5)]
    wide = [f for f in values if any(s.memory.name == "v" for s in f.streams)]
    assert [len(f.consumers) for f in wide] == [4] * len(wide), "one of each stage for all heads"


def test_a_herd_of_heads_shares_their_keys_down_its_columns() -> None:
    """32 query heads of 8 key heads: four cores of a column take the same keys and values."""
    plan = _attention(S=128, L=128, Q=1024, E=256, past=0).planned.plan
    assert (plan.herd.rows * plan.herd.columns, plan.cascade) == (32, None)
    assert any(len(f.consumers) == 4 for f in plan.fifos)


def test_sums_and_extremes_pass_on_in_columns_with_what_only_the_last_reads() -> None:
    made = case(_SUMS, "sums", M=20, K=200)
    plan = made.planned.plan
    assert plan.herd.stages == 4
    late = next(f for f in plan.fifos if f.streams[0].memory.name == "s")
    assert {t[1] for t in late.consumers} == {2}, "the last stage alone scales"
    padded = made.padded
    simulate(made.text, padded)
    found, wanted = made.written(padded), made.expected()
    np.testing.assert_array_equal(found["y"], wanted["y"])
    assert_close(found, wanted)


_NOT_MERGED = {
    "a decaying sum": ("shrink = exp2(fma(top, f, -(higher * f)))", "shrink = full(f32, [16], 0.5)"),
    "another rate": ("p = exp2(fma(scores, f, ", "p = exp2(fma(scores, f * 0.5, 0.5 * "),
    "another function": ("p = exp2(", "p = exp("),
    "squares of weights": ("sum(p, 1)", "sum(p * p, 1)"),
    "a factor of the iteration": ("shrink = exp2(fma(top, f, -(higher * f)))",
                             "shrink = exp2((top - higher) * cast(l, f32))"),
    "what is older": ("sum(p, 1)", "sum(p, 1) + top"),
    "the maximum along the other axis": ("-(higher * f)[:, None]", "-(higher * f)[None, :]"),
}  # fmt: skip


@pytest.mark.parametrize("title", sorted(_NOT_MERGED))
def test_other_loops_stay_whole(title: str) -> None:
    old, new = _NOT_MERGED[title]
    assert old in _ATTENTION
    sizes = {"S": 16, "L": 64, "Q": 64, "E": 32}
    assert find_cascade(lowered(_ATTENTION, "attention", **sizes)) is not None
    assert find_cascade(lowered(_ATTENTION.replace(old, new), "attention", **sizes)) is None


@pytest.mark.parametrize(
    ("passed", "message"),
    [((1, 2), "takes|gives"), ((0, 0), "each goes to, or comes from"), ((9, 9), "gives")],
)
def test_cores_that_disagree_are_refused(passed: tuple[int, int], message: str) -> None:
    made = case(_SUMS, "sums", M=20, K=200)
    programs: dict[Any, Any] = dict(made.planned.programs)
    tile = made.planned.plan.tile(2, 0)
    programs[tile] = dataclasses.replace(programs[tile], passed=passed)
    planned = Planned(made.planned.plan, programs, made.planned.blocking)
    with pytest.raises(DiagnosticError, match=message) as found:
        prove(planned.plan, planned.programs)
    assert found.value.diagnostics[0].code == "DSL0554"
    assert "tensor x" in str(found.value)


def test_the_order_of_what_is_passed_matters() -> None:
    """Two tiles of one size taken the wrong way round are wrong numbers: the comparison sees it."""
    made = case(
        _SUMS.replace("i32[M]", "f32[M]")
        .replace("zeros(i32", "zeros(f32")
        .replace("cast(t * 8.0, i32)", "t * 8.0"),
        "sums",
        M=8,
        K=128,
    )
    lines = made.text.splitlines()
    stores = [n for n, line in enumerate(lines) if "get_cascade" in line]
    first, second = stores[-2], stores[-1]
    names = [lines[n + 1].split("%")[2].split("[")[0] for n in (first, second)]
    assert names[0] != names[1]
    lines[first + 1] = lines[first + 1].replace(names[0], names[1])
    lines[second + 1] = lines[second + 1].replace(names[1], names[0])
    padded = made.padded
    simulate("\n".join(lines) + "\n", padded)
    with pytest.raises(AssertionError):
        assert_close(made.written(padded), made.expected())


@pytest.mark.parametrize("taps", [3, 5, 8])
def test_loops_inside_a_shared_loop_leave_no_object_behind(taps: int) -> None:
    """Of 5 iterations a third stage would pass over one, and over the loop in it that takes objects."""
    source = f"""
kernel blur(x: f32[H, W, C], y: out f32[H, W, C]):
    for i, j in parallel(range(H), range(0, W, 8)):
        acc = zeros(f32, [8, C])
        for d in range({taps}):
            for e in range({taps}):
                acc += x[i + d, j + e : j + e + 8, :]
        y[i, j : j + 8, :] = acc
"""
    made = case(source, "blur", H=2, W=9, C=8)
    padded = made.padded
    simulate(made.text, padded)
    assert_close(made.written(padded), made.expected(), rtol=1e-5)
