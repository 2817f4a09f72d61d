"""Loads that leave their loops, or are carried for a run of iterations."""

import meaning
import numpy as np
import pytest
import random_ir
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.verify import verify
from dslc.compiler.passes.simplification.bounds import Bounds
from dslc.compiler.passes.simplification.loop_invariant_loads import LoopInvariantLoads
from dslc.compiler.passes.simplification.simplify import Simplify
from hypothesis import given, settings
from hypothesis import strategies as st

from support.kernels import every, one

TEXT = """
kernel f(x: f32[N], s: f32[G, 4], y: out f32[4]):
    acc = zeros(f32, [4])
    for i in range(0, N, 4):
        acc += x[i : i + 4] * s[{row}, :]
    y[:] = acc
"""


def hoisted(row: str, old: str = "", new: str = ""):
    before = Bounds()(Simplify()(one(TEXT.format(row=row).replace(old, new))))
    after = LoopInvariantLoads()(before)
    verify(after)
    for n, g in ((0, 1), (4, 3), (40, 4), (41, 1)):
        args = {
            "x": np.arange(n, dtype=np.float32),
            "s": np.arange(4 * g, dtype=np.float32).reshape(g, 4) + 1,
            "y": np.zeros(4, np.float32),
        }
        meaning.assert_same_meaning(before, after, args)
    return before, after


def scales(body):
    return [s for s in body if isinstance(s, ins.Load) and s.region.memory.name == "s"]


def test_a_load_that_the_loop_does_not_change_moves_before_it():
    _, after = hoisted("2")
    assert len(scales(after.body)) == 1
    (loop,) = every(after, ins.For)
    assert not scales(loop.body)
    assert all(a.checked for a in scales(after.body)[0].region.axes)


def test_a_load_that_changes_every_few_turns_is_carried():
    _, after = hoisted("i // 16")
    (loop,) = every(after, ins.For)
    assert not scales(loop.body)
    assert len(loop.carried) == 2
    (branch,) = every(after, ins.If)
    assert len(scales(branch.then)) == 1


@pytest.mark.parametrize("row", ["i // 4", "i // 6", "(i + 4) // 16", "i % 8", "i // 16 + i"])
def test_other_loads_stay(row):
    before, after = hoisted(row)
    assert after is before


@given(random_ir.kernels(statements=10), st.integers(0, 9))
@settings(max_examples=80)
def test_hoisting_keeps_the_meaning(kernel, seed):
    changed = LoopInvariantLoads()(kernel)
    verify(changed)
    meaning.assert_same_meaning(kernel, changed, random_ir.inputs(kernel, seed))
