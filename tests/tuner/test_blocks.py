"""Blocks by a machine's model: one choice after another, or all products where choices seldom fit."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dslc.tuner import blocks

# What fits lies between what does not: no single choice leads from the first to the best.
TIMES = {(1, 1): 10.0, (2, 2): 5.0}


@pytest.mark.parametrize(("seldom", "best"), [(True, 2), (False, 1)])
def test_choices_that_seldom_fit_are_tried_together(
    monkeypatch: pytest.MonkeyPatch, seldom: bool, best: int
) -> None:
    def time(origin: Any, sizes: Any, config: Any) -> float:
        return TIMES.get(tuple(config.values()), float("inf"))

    monkeypatch.setattr(blocks, "_time", time)
    facts = SimpleNamespace(choices_seldom_fit=seldom)
    origin: Any = SimpleNamespace(
        open_tunes={"A": (1, 2), "B": (1, 2)},
        defaults={"A": 1, "B": 1},
        machine=SimpleNamespace(facts=facts),
    )
    assert blocks.choose_blocks(origin, {}) == {"A": best, "B": best}
