"""Divisions by run-time numbers: named once, outside of loops, and never by 0."""

from __future__ import annotations

import meaning
import numpy as np
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.text.printer import print_expr
from dslc.compiler.ir.traverse import walk
from dslc.compiler.ir.verify import verify
from dslc.compiler.passes.simplification.named_divisions import NameDivisions
from dslc.compiler.passes.simplification.simplify import Simplify

from support.kernels import every, one

HEADS = """
kernel heads(x: f32[HK, L], y: out f32[HQ, L]):
    require HQ % HK == 0
    for h in parallel(range(HQ)):
        for l in range(0, L, 8):
            y[h, l : l + 8] = x[h // (HQ // HK), l : l + 8] + x[h // (HQ // HK), l : l + 8]
"""


def named(text: str) -> tuple[Kernel, Kernel]:
    before = Simplify()(one(text))
    after = NameDivisions()(before)
    assert isinstance(before, Kernel)
    assert isinstance(after, Kernel)
    verify(after)
    assert NameDivisions()(after) is after
    return before, after


def lets(kernel: Kernel) -> list[str]:
    return [print_expr(s.value) for s in every(kernel, ins.Let)]


def test_a_quotient_is_computed_once_before_the_loop() -> None:
    before, after = named(HEADS)
    assert lets(after) == ["HQ // max(HK, 1)", "h // max(quotient, 1)"]
    (loop,) = every(after, ins.For)
    assert not [s for s in walk(loop.body) if isinstance(s, ins.Let)]
    x = np.arange(48, dtype=np.float32).reshape(2, 24)
    meaning.assert_same_meaning(before, after, {"x": x, "y": np.zeros((4, 24), np.float32)})


def test_a_loop_that_never_turns_divides_by_nothing() -> None:
    before, after = named(
        "kernel k(x: f32[M], y: out f32[N]):\n"
        "    for i in range(0, M):\n"
        "        y[N // M : N // M + 4] = x[0:4]\n"
    )
    assert lets(after) == ["N // max(M, 1)"]
    args = {"x": np.zeros(0, np.float32), "y": np.ones(8, np.float32)}
    meaning.assert_same_meaning(before, after, args)


def test_what_may_be_negative_stays() -> None:
    before, after = named(
        "kernel k(x: f32[M, N], y: out f32[N], s: i32):\n"
        "    for i in range(0, M):\n"
        "        y[0:4] = x[i, (s - 5) // M : (s - 5) // M + 4]\n"
    )
    assert after is before


def test_what_a_loop_changes_is_named_in_it() -> None:
    before, after = named(
        "kernel k(x: f32[M, N], y: out f32[N]):\n"
        "    for i in range(0, M):\n"
        "        y[0:4] = x[i, i % N : i % N + 4] + x[i, i % N : i % N + 4]\n"
    )
    (loop,) = every(after, ins.For)
    assert [print_expr(s.value) for s in loop.body if isinstance(s, ins.Let)] == ["i % max(N, 1)"]
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    meaning.assert_same_meaning(before, after, {"x": x, "y": np.zeros(6, np.float32)})
