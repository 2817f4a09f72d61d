"""Outputs that are said to be written whole are, element by element."""

from __future__ import annotations

import random

import pytest
from dslc.codegen.nki.outputs import written_whole
from dslc.compiler.ir.text.parser import parse_program

_ROWS, _COLUMNS = 2, 16


def is_claimed(stores: list[tuple[int, int, int]]) -> bool:
    """Whether these stores, each a first column, a width and a step, are said to write all of y."""
    lines = "".join(
        f"  %v{i} = full f32(1.0) : f32[{_ROWS}, {width}]\n"
        f"  store @y[0 : +{_ROWS}, {first} : +{width}{f' : {step}' if step > 1 else ''}], %v{i}\n"
        for i, (first, width, step) in enumerate(stores)
    )
    kernel = parse_program(f"kernel f[](@y: out f32[{_ROWS}, {_COLUMNS}]) {{\n{lines}}}\n")
    return bool(written_whole(kernel))


@pytest.mark.parametrize("seed", range(200))
def test_what_is_said_to_be_whole_has_every_column(seed: int) -> None:
    draw = random.Random(seed)
    sizes = (4, 8, 12, 16)
    count = draw.randint(1, 3)
    stores = [
        (draw.choice((0, 4, 8, 12)), draw.choice(sizes), draw.choice((1, 1, 2)))
        for _ in range(count)
    ]
    written = {c for first, width, step in stores for c in range(first, first + width * step, step)}
    if is_claimed(stores):
        assert written >= set(range(_COLUMNS))


def test_a_store_and_what_continues_it_are_one() -> None:
    assert is_claimed([(0, 16, 1)])
    assert is_claimed([(0, 8, 1), (8, 8, 1)])
    assert is_claimed([(0, 4, 1), (4, 8, 1), (12, 4, 1)])
    assert not is_claimed([(0, 8, 1)])
