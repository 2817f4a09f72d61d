"""Costs of lines: they add up to what the launch does, and units are those of the machine."""

from __future__ import annotations

import dslc
import pytest
from dslc.compiler.cost.by_line import costs_by_line
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.workload import workload
from dslc.compiler.targets import find_target

CAUSAL = """\
kernel causal(x: f16[S, 64], k: f16[L, 64], y: out f32[S, 64]):
    for s in parallel(range(0, S, 32)):
        rows = x[s : s + 32, :]
        acc = zeros(f32, [32, 64])
        for l in range(0, min(s + 32, L), 32):
            p = dot(rows, k[l : l + 32, :], transposed="b")
            acc += dot(cast(p, f16), k[l : l + 32, :])
        y[s : s + 32, :] = acc
"""


def lowered(target: str, **sizes: int) -> Kernel:
    made = dslc.compile(CAUSAL, target, cache=False).causal.specialize_for(sizes)
    program = made.lowered()
    assert isinstance(program, Kernel)
    return program


@pytest.mark.parametrize("target", ["cuda:sm_90a", "interp", "cpu:x86-64-v3"])
def test_lines_add_up_to_the_launch(target: str) -> None:
    sizes = {"S": 256, "L": 256}
    program = lowered(target, **sizes)
    costs = costs_by_line(program, find_target(target), sizes)
    work = workload(program, sizes)
    assert sum(c.operations for c in costs.values()) == pytest.approx(
        work.dot_operations + work.other_operations, rel=0.15
    )
    assert sum(c.stored for c in costs.values()) == sum(work.stored.values())


def test_turns_that_differ_are_not_met_in_step() -> None:
    """With 2,048 turns of 32 to a row, samples by equal steps would see the first alone."""
    source = CAUSAL.replace("for s in parallel(range(0, S, 32)):", "").replace(
        "        rows", "    for h, s in parallel(range(64), range(0, S, 32)):\n        rows"
    )
    sizes = {"S": 1024, "L": 1024}
    program = dslc.compile(source, "interp", cache=False).causal.specialize_for(sizes).lowered()
    costs = costs_by_line(program, find_target("interp"), sizes)
    products = sum(c.operations for (_, line), c in costs.items() if line in (7, 8))
    every = 64 * sum(2 * 2 * 32 * 64 * (s + 32) for s in range(0, 1024, 32))
    assert products == pytest.approx(every, rel=0.2)


def test_units_are_those_of_the_machine() -> None:
    sizes = {"S": 256, "L": 256}
    costs = costs_by_line(lowered("cuda:sm_90a", **sizes), find_target("cuda:sm_90a"), sizes)
    (dot,) = (c for (_, line), c in costs.items() if line == 6)
    assert dot.units["matrix units"] > 0
    assert dot.seconds == max(dot.units.values())
    assert 32 < max(c.registers for c in costs.values()) < 256
    assert not any(
        c.units
        for c in costs_by_line(lowered("interp", **sizes), find_target("interp"), sizes).values()
    )
