"""Layouts as text: a table of the tile that says who holds each element."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from dslc.compiler.layout.inversion import locate
from dslc.compiler.layout.layout import Layout

# Coloured backgrounds of the 256-colour terminal that black letters are read on.
_BACKGROUNDS = (
    217, 223, 229, 194, 159, 153, 189, 225, 216, 222, 228, 193, 158, 117, 147, 219,
)  # fmt: skip


def render_text(layout: Layout, color: bool = False, limit: int = 64) -> str:
    """The tile as a table with `t:i` in each cell: element number i of thread t.

    Copies are listed `0,4:i`; a layout with one thread shows i alone. A rank above two gives a table
    for each index of the leading axes. Rows, columns and tables after the first `limit` are left out,
    which a last line says. `color` gives each thread a background by ANSI codes.
    """
    parts: list[str] = []
    for lead in _leads(layout, limit):
        title = f"[{', '.join([*map(str, lead), ':', ':'])}]\n" if lead else ""
        parts.append(title + _table(layout, lead, color, limit))
    left_out = [
        f"{limit} of {extent} along axis {axis}"
        for axis, extent in enumerate(layout.shape)
        if extent > limit
    ]
    if left_out:
        parts.append(f"(the first {', '.join(left_out)})")
    return "\n\n".join(parts) + "\n"


def holder(layout: Layout, index: tuple[int, ...]) -> tuple[int, str]:
    """The first thread that holds an element, and the label of its cell."""
    threads, number = locate(layout, index)
    if layout.threads == 1:
        return 0, str(number)
    named = ",".join(map(str, threads[:4])) + (",.." if len(threads) > 4 else "")
    return threads[0], f"{named}:{number}"


def panels(layout: Layout) -> tuple[tuple[int, ...], int, int]:
    """The extents of the leading axes, the rows and the columns of the pictures of a layout."""
    shape = (1,) * (2 - layout.rank) + layout.shape
    return shape[:-2], shape[-2], shape[-1]


def _leads(layout: Layout, limit: int) -> Iterator[tuple[int, ...]]:
    leading, _, _ = panels(layout)
    return product(*(range(min(n, limit)) for n in leading))


def _table(layout: Layout, lead: tuple[int, ...], color: bool, limit: int) -> str:
    _, rows, columns = panels(layout)
    rows, columns = min(rows, limit), min(columns, limit)
    cells = [
        [holder(layout, (*lead, r, c)[-layout.rank :]) for c in range(columns)] for r in range(rows)
    ]
    width = max(len(label) for row in cells for _, label in row)
    width = max(width, len(str(columns - 1)))
    margin = len(str(rows - 1))
    lines = [" " * margin + "".join(f" {c:>{width}}" for c in range(columns))]
    for r, row in enumerate(cells):
        line = "".join(" " + _painted(t, f"{label:>{width}}", color) for t, label in row)
        lines.append(f"{r:>{margin}}{line}")
    return "\n".join(lines)


def _painted(thread: int, label: str, color: bool) -> str:
    if not color:
        return label
    background = _BACKGROUNDS[thread % len(_BACKGROUNDS)]
    return f"\x1b[48;5;{background};38;5;16m{label}\x1b[0m"
