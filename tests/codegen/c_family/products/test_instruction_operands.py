"""Rows of operands: one number for each row of each matrix of a batch."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.codegen.c_family.products.instruction_operands import sides
from dslc.compiler.layout import parse_layout


@pytest.mark.parametrize(
    "text",
    [
        "spatial(8, 4).local(1, 2)",
        "local(3, 1, 1).spatial(1, 8, 4).local(1, 1, 2)",
        "local(2, 3, 1, 1).spatial(1, 1, 8, 4).local(1, 1, 1, 2)",
        "spatial(2, 2, 4, 2).local(2, 1, 1, 4)",
    ],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_a_row_is_of_one_matrix(text: str, swapped: bool) -> None:
    layout = parse_layout(text)
    rank = layout.rank
    row_axis, depth_axis = (rank - 1, rank - 2) if swapped else (rank - 2, rank - 1)
    found = sides(layout, row_axis, depth_axis)
    table = np.moveaxis(layout.table(), 1, 0).reshape(-1, rank)
    rows = {tuple(np.delete(place, depth_axis)) for place in table.tolist()}
    numbered = zip(found.rows.flat, table.tolist(), strict=True)
    pairs = {(n, tuple(np.delete(place, depth_axis))) for n, place in numbered}
    assert len({n for n, _ in pairs}) == len(pairs) == len(rows)
