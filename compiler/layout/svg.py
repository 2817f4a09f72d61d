"""Layouts as pictures: SVG with a cell for each element, coloured by thread or by bank."""

from __future__ import annotations

from html import escape
from itertools import product

from dslc.compiler.diagnostics import error
from dslc.compiler.layout.banks import BankModel
from dslc.compiler.layout.drawing import holder, panels
from dslc.compiler.layout.inversion import locate
from dslc.compiler.layout.layout import Layout

MAX_CELLS = 1 << 16
_CELL_HEIGHT = 22
_MARGIN = 30
_HEAD = 40
_GOLDEN_ANGLE = 137.508  # neighbouring threads get colours far apart


def render_svg(
    layout: Layout,
    *,
    title: str | None = None,
    banks: BankModel | None = None,
    bits: int = 16,
) -> str:
    """The layout as an SVG document: cells labelled `t:i`, as in `render_text`.

    Colours are the threads'; for a memory layout with `banks`, those of the banks that hold elements
    of `bits` bits. A rank above two gives panels side by side. DSL0315 above 65,536 elements.
    """
    if layout.elements > MAX_CELLS:
        raise error("DSL0315", f"a picture of {layout.elements} elements is too large to read")
    leading, rows, columns = panels(layout)
    leads = list(product(*(range(n) for n in leading)))
    longest = max(len(holder(layout, index)[1]) for index in _corners(layout))
    cell_width = max(26, 8 * longest + 10)
    panel_width = _MARGIN + columns * cell_width + 10
    heading = title if title is not None else str(layout)
    width = max(panel_width * len(leads) + 4, 8 * len(heading) + 16)
    height = _HEAD + 18 + rows * _CELL_HEIGHT + 8
    text = escape(heading)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img">',
        f"<title>{text}</title>",
        "<style>text{font:11px ui-monospace,monospace;fill:#1a1a1a}"
        "text.h{fill:#777}text.n{font-size:13px}text.c{text-anchor:middle}"
        "rect.c{stroke:#fff;stroke-width:1}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text class="n" x="8" y="18">{text}</text>',
    ]
    for number, lead in enumerate(leads):
        left = number * panel_width
        if lead:
            name = ", ".join([*map(str, lead), ":", ":"])
            out.append(f'<text class="h" x="{left + _MARGIN}" y="{_HEAD - 6}">[{name}]</text>')
        out += _panel(layout, lead, left, (rows, columns, cell_width), (banks, bits))
    out.append("</svg>")
    return "\n".join(out) + "\n"


def _panel(
    layout: Layout,
    lead: tuple[int, ...],
    left: int,
    size: tuple[int, int, int],
    bank: tuple[BankModel | None, int],
) -> list[str]:
    rows, columns, width = size
    top = _HEAD + 18
    out: list[str] = []
    for c in range(columns):
        x = left + _MARGIN + c * width + width // 2
        out.append(f'<text class="h c" x="{x}" y="{top - 6}">{c}</text>')
    for r in range(rows):
        y = top + r * _CELL_HEIGHT
        out.append(f'<text class="h" x="{left + 6}" y="{y + 15}">{r}</text>')
        for c in range(columns):
            index = (*lead, r, c)[-layout.rank :]
            x = left + _MARGIN + c * width
            out.append(
                f'<rect class="c" x="{x}" y="{y}" width="{width}" height="{_CELL_HEIGHT}" '
                f'fill="{_fill(layout, index, *bank)}"/>'
                f'<text class="c" x="{x + width // 2}" y="{y + 15}">{holder(layout, index)[1]}</text>'
            )
    return out


def _fill(layout: Layout, index: tuple[int, ...], banks: BankModel | None, bits: int) -> str:
    threads, number = locate(layout, index)
    if layout.threads > 1 or banks is None:
        return _color(threads[0])
    row = banks.loads[-1]
    bank = number * bits // 8 // banks.word_bytes % row.banks
    return f"hsl({bank * 360 // row.banks} 65% 82%)"


def _color(thread: int) -> str:
    hue = round(thread * _GOLDEN_ANGLE) % 360
    return f"hsl({hue} 65% {86 if thread % 2 == 0 else 78}%)"


def _corners(layout: Layout) -> list[tuple[int, ...]]:
    """Indices among which the longest label is: the last element of every thread's numbering."""
    return [layout.index(layout.threads - 1, layout.locals - 1), tuple(n - 1 for n in layout.shape)]


def _picture(layout: Layout) -> str | None:
    return render_svg(layout) if layout.elements <= MAX_CELLS else None


Layout.picture = _picture
