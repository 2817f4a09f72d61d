"""The layouts of a kernel's tiles, and who holds each element: what the page draws."""

from __future__ import annotations

from itertools import product
from typing import Any

from dslc.compiler.ir import TileProgram, Value
from dslc.compiler.ir.rewrite import kernels
from dslc.compiler.ir.traverse import inner_names, results, walk
from dslc.compiler.layout import Layout
from dslc.compiler.layout.drawing import panels
from dslc.compiler.layout.inversion import locate

_ROWS, _COLUMNS = 32, 64  # that are drawn of a tile
_MOST = 24  # layouts of a kernel
_NAMES = 12  # tiles that are named


def layouts_of(program: TileProgram) -> list[dict[str, Any]]:
    """Each layout once, those of most tiles first: its text, its tiles with lines, its cells.

    `cells` are rows of pairs, the first thread that holds an element and the element's number there,
    of at most 32 rows and 64 columns; of a rank above two those of the first panel.
    """
    tiles: dict[Layout, dict[str, int]] = {}
    for kernel in kernels(program):
        for stmt in walk(kernel.body):
            for name in (*results(stmt), *inner_names(stmt)):
                if isinstance(name, Value) and (layout := name.type.layout) is not None:
                    line = stmt.loc.line if stmt.loc else 0
                    tiles.setdefault(layout, {}).setdefault(f"{name.name} {name.type.dtype}", line)
    ranked = sorted(tiles, key=lambda x: -len(tiles[x]))[:_MOST]
    return [
        {
            "text": str(layout),
            "shape": list(layout.shape),
            "threads": layout.threads,
            "locals": layout.locals,
            "tiles": [[n, line] for n, line in list(tiles[layout].items())[:_NAMES]],
            "cells": cells_of(layout),
        }
        for layout in ranked
    ]


def cells_of(layout: Layout) -> list[list[list[int]]]:
    """Who holds each element of the first rows and columns."""
    leading, rows, columns = panels(layout)
    first = (0,) * len(leading)
    shown = product(range(min(rows, _ROWS)), range(min(columns, _COLUMNS)))
    cells: list[list[list[int]]] = [[] for _ in range(min(rows, _ROWS))]
    for row, column in shown:
        index = (*first, row, column)[-layout.rank :] if layout.rank else ()
        threads, number = locate(layout, index)
        cells[row].append([threads[0], number])
    return cells
