"""Chunks of reshaped tiles against enumeration: the coordinates are those of the same elements."""

from __future__ import annotations

import random
from math import prod

import numpy as np
import pytest
from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.remapping import reshaped
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir.arithmetic.affine import Linear, constant, to_expr
from dslc.compiler.ir.expr import Expr, Var, index, substitute

ROW, TURN = Var("row", INDEX), Var("turn", INDEX)
SHAPES = [
    (6, 16),
    (16, 6),
    (96,),
    (4, 24),
    (24, 4),
    (2, 3, 16),
    (3, 4, 8),
    (8, 12),
    (12, 8),
    (2, 48),
]


def number(form: Linear, turn: dict[Expr, Expr]) -> int:
    found = constant(substitute(to_expr(form), turn))
    assert found is not None
    return int(found)


@pytest.mark.parametrize("seed", range(60))
def test_reshaped_chunks_hold_the_same_elements(seed: int) -> None:
    """A chunk of some lanes lies anywhere in a wider step of a loop along the last of two axes."""
    draw = random.Random(seed)
    rows, columns = draw.choice([s for s in SHAPES if len(s) == 2])
    source = draw.choice(SHAPES)
    step = draw.choice([n for n in (2, 3, 4, 6, 8, 12, 16) if columns % n == 0])
    count = draw.choice([n for n in (1, 2, 3, 4) if step % n == 0])
    first = draw.randrange(0, step, count)
    along = Linear({TURN: step}, first)
    at = At((Linear({ROW: 1}), along), tuple((0, lane) for lane in range(count)))
    found = reshaped(at, (rows, columns), source)
    if found is None:  # lanes part: they are taken one by one
        assert count > 1
        return
    for row in range(rows):
        for turn in range(columns // step):
            here: dict[Expr, Expr] = {ROW: index(row), TURN: index(turn)}
            base = [number(b, here) for b in found.base]
            flat = row * columns + turn * step + first
            for lane, distances in enumerate(found.lanes):
                place = np.unravel_index(flat + lane, source)
                assert [b + d for b, d in zip(base, distances, strict=True)] == list(place)
    assert prod(source) == rows * columns
