"""Limits of descriptors: the largest numbers that registers hold are taken, the next are refused."""

from __future__ import annotations

import pytest
from dslc.runtime.aie_simulator.descriptors import _check_iteration
from dslc.runtime.aie_simulator.machine import ITERATIONS, REPEATS


@pytest.mark.parametrize(("most", "step"), [(ITERATIONS, 4), (REPEATS, 0)])
def test_a_task_is_repeated_as_often_as_its_register_says(most: int, step: int) -> None:
    refused: list[str] = []

    def refuse(rule: str, _: str) -> None:
        refused.append(rule)

    for count, rules in ((1, []), (most, []), (most + 1, ["iteration"]), (0, ["iteration"])):
        refused.clear()
        _check_iteration(count, step, 4, 1 << 20, refuse)
        assert refused == rules
