"""A few lines that ask for very much are refused at their place, or checked, within a second."""

from __future__ import annotations

import time

import pytest
from dslc.checker.source import check_source

from support.generated.bombs import BOMBS

REFUSED = {
    "calls": "DSL0232", "calls in an expression": "DSL0232", "calls of scalars": "DSL0232",
    "layouts": "DSL0300", "axes of layouts": "DSL0300", "copies of layouts": "DSL0300",
    "axes of copies": "DSL0300",
    "powers": "DSL0224", "squares": "DSL0224", "shifts": "DSL0224", "parts": "DSL0224",
    "unrolled iterations": "DSL0224", "stages": "DSL0224", "repeats": "DSL0204", "pairs": "DSL0204",
    "outer products": "DSL0204", "zeros": "DSL0204", "choices": "DSL0217",
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize("size", [3, 9, 30])
def test_it_ends_within_a_second(name: str, size: int) -> None:
    begin = time.process_time()
    found = check_source(BOMBS[name](size), "bomb.tile")
    assert time.process_time() - begin < 1
    assert all(d.loc is not None for d in found)
    if size == 30 and name in REFUSED:
        assert found[0].code == REFUSED[name]
