"""What each core wants for itself comes in rounds to the cores that share an operand."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.codegen.aie.planning.plan import Fifo
from dslc.codegen.aie.printing.descriptors import print_descriptors
from dslc.runtime.aie_simulator import simulate

from support.npu.kernels import Case, assert_close, case

_KERNEL = """
kernel product(a: bf16[M, K], b: bf16[K, N], c: {kind}, d: f32[N], y: out bf16[M, N]):
    for m, n in parallel(range(0, M, 32), range(0, N, 32)):
        {first}
        acc = zeros(f32, [32, 32])
        for k in range(0, K, 32):
            acc += dot(a[m : m + 32, k : k + 32], b[k : k + 32, n : n + 32])
        y[m : m + 32, n : n + 32] = cast({result}, bf16)
"""
_RESIDUAL = "acc + cast(c[m : m + 32, n : n + 32], f32)"
_THIRD = {
    "none": ("bf16[M, N]", "pass", "acc"),
    "late": ("bf16[M, N]", "pass", _RESIDUAL),
    "with a bias": ("bf16[M, N]", "pass", f"{_RESIDUAL} + d[n : n + 32]"),
    "early": ("bf16[M, N]", "r = c[m : m + 32, n : n + 32]", "acc * cast(r, f32)"),
    "in pieces": ("f32[M, N]", "pass", "acc + c[m : m + 32, n : n + 32]"),
}


def product(third: str, **sizes: int) -> Case:
    kind, first, result = _THIRD[third]
    first = "" if first == "pass" else first
    return case(_KERNEL.format(kind=kind, first=first, result=result), "product", **sizes)


def _in_rounds(made: Case) -> list[Fifo]:
    return [f for f in made.planned.plan.fifos if f.rounds]


_DEEP = [pytest.param(t, marks=pytest.mark.deep) for t in ("with a bias", "early")]


@pytest.mark.parametrize("third", ["late", "in pieces", *_DEEP])
def test_both_printers_give_the_numbers_of_the_interpreter(third: str) -> None:
    made = product(third, M=224, N=256, K=64)
    (name,) = {s.name for f in _in_rounds(made) for s in f.rounds}
    assert name == "c"
    first, second = made.padded, made.padded
    simulate(made.text, first)
    assert_close(made.written(first), made.expected())
    simulate(print_descriptors(made.planned, "npu2"), second)
    for x, y in zip(first, second, strict=True):
        np.testing.assert_array_equal(x, y)


def test_stages_of_a_cascade_let_pass_what_only_the_last_wants() -> None:
    made = product("late", M=96, N=64, K=256)
    assert made.planned.plan.cascade is not None
    assert any(s.late for s in made.planned.plan.streams)
    arrays = made.padded
    simulate(made.text, arrays)
    assert_close(made.written(arrays), made.expected())


def test_operands_stay_shared() -> None:
    made = product("late", M=256, N=256, K=64)
    operands = [f for f in made.planned.plan.fifos if f.producer[1] == 1]
    assert {len(f.consumers) for f in operands if f.streams[0].memory.name != "y"} == {4, 8}


def test_what_comes_after_a_loop_is_used_where_it_lies() -> None:
    late, early = product("late", M=256, N=256, K=64), product("early", M=256, N=256, K=64)
    buffers = [
        {b[0].split("_")[0] for p in m.planned.programs.values() for b in p.buffers}
        for m in (late, early)
    ]
    assert "c" not in buffers[0]
    assert "c" in buffers[1]


def test_a_residual_costs_less_than_a_third_where_k_is_long() -> None:
    plain, more = (product(t, M=256, N=256, K=512) for t in ("none", "late"))
    assert simulate(more.text, None).cycles <= 1.33 * simulate(plain.text, None).cycles
