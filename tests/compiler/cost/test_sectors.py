"""Sectors that a warp moves, against counting them."""

from __future__ import annotations

import pytest
from dslc.compiler.analysis.statement_work import _sectors
from dslc.compiler.layout import Layout, parse_layout

_WARP = 32
LAYOUTS = [
    "spatial(4, 8).local(1, 2)", "spatial(8, 4).local(1, 2)", "spatial(1, 32).local(1, 4)",
    "column_spatial(8, 4).local(1, 2)", "spatial(2, 16).local(1, 8)", "local(1, 2).spatial(4, 8)",
    "local(2, 1).spatial(4, 8).local(1, 2)", "spatial(32, 1).local(1, 8)",
    "spatial(32, 1).local(1, 16)", "column_spatial(2, 16).local(1, 2)",
    "spatial(16, 2).local(1, 1)", "column_spatial(16, 2).local(2, 1)",
]  # fmt: skip


def counted(layout: Layout, bits: int, pitch: int) -> float:
    """Bytes of the sectors that the first warp's first access touches, by its own bytes."""
    found = layout.table()[:_WARP]
    run = 1
    while run < layout.locals and (found[:, run] - found[:, 0] == [0, run]).all():
        run += 1
    elements = {(int(row), int(column)) for row, column in found[:, :run].reshape(-1, 2)}
    sectors = {(row * pitch + column) * bits // 8 // 32 for row, column in elements}
    return len(sectors) * 32 / (len(elements) * bits / 8)


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("text", LAYOUTS)
def test_sectors_lie_between_rows_that_follow_each_other_and_rows_far_apart(
    text: str, bits: int
) -> None:
    layout = parse_layout(text)
    found = _sectors(layout, bits, _WARP)
    assert counted(layout, bits, layout.shape[-1]) <= found <= counted(layout, bits, 1 << 20)
