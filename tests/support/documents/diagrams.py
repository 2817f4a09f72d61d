"""Pictures of documents, drawn from their alternative texts: boxes with arrows, or lanes of cells.

parse: text to tree → check: tree to IR; run → done        rows of boxes, a title and a line below it
copy = 0 1 2 3 . .; multiply = . . 0 1 2 3                 lanes of cells, a dot for what is idle
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

FILLS = ("#e8f0fe", "#fdf3dc", "#e6f4ea", "#f6e9f7", "#fde7e7", "#e5f5f8")
STROKES = ("#4a6fb5", "#b58a2a", "#3f8a56", "#8a4f96", "#b04848", "#2f8394")
MARGIN, GAP, HEIGHT, CELL = 16, 36, 54, 44
LETTER = 7.6  # the width of a letter of 14 pixels, about


def draw(text: str) -> str:
    """The SVG of a picture's alternative text."""
    rows = [row.strip() for row in text.split(";")]
    if all(" = " in row for row in rows):
        body, width, height = _lanes([row.split(" = ") for row in rows])
    else:
        body, width, height = _boxes([row.split(" → ") for row in rows])
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            'font-family="Helvetica, Arial, sans-serif" font-size="14" role="img">',
            f"  <title>{escape(text)}</title>",
            f'  <rect width="{width}" height="{height}" fill="#ffffff"/>',
            *(f"  {line}" for line in body),
            "</svg>",
            "",
        )
    )


def _boxes(rows: list[list[str]]) -> tuple[list[str], int, int]:
    lines, right = [], 0
    for number, row in enumerate(rows):
        x, top = MARGIN, MARGIN + number * (HEIGHT + MARGIN)
        for place, box in enumerate(row):
            title, _, below = box.partition(": ")
            width = round(max(len(title) * LETTER, len(below) * LETTER * 0.86)) + 20
            if place:
                lines += _arrow(x - GAP, top + HEIGHT // 2)
            color = (place + number) % len(FILLS)
            lines.append(
                f'<rect x="{x}" y="{top}" width="{width}" height="{HEIGHT}" rx="6" '
                f'fill="{FILLS[color]}" stroke="{STROKES[color]}"/>'
            )
            middle = x + width // 2
            lines.append(_words(middle, top + (24 if below else 32), title))
            if below:
                lines.append(_words(middle, top + 42, below, ' font-size="12" fill="#555"'))
            x += width + GAP
        right = max(right, x - GAP)
    return lines, right + MARGIN, MARGIN + len(rows) * (HEIGHT + MARGIN)


def _arrow(x: int, y: int) -> Iterator[str]:
    tip, back = x + GAP - 2, x + GAP - 10
    yield f'<path d="M{x + 4} {y} H{back}" stroke="#555"/>'
    yield f'<path d="M{back} {y - 5} L{tip} {y} L{back} {y + 5} z" fill="#555"/>'


def _lanes(rows: list[list[str]]) -> tuple[list[str], int, int]:
    left = round(max(len(label) for label, _ in rows) * LETTER) + 2 * MARGIN
    lines, names = [], [name for _, cells in rows for name in cells.split() if name != "."]
    colors = {name: i % len(FILLS) for i, name in enumerate(dict.fromkeys(names))}
    for number, (label, cells) in enumerate(rows):
        top = MARGIN + number * 40
        lines.append(_words(left - MARGIN, top + 21, label, ' text-anchor="end"'))
        for place, name in enumerate(cells.split()):
            if name != ".":
                x, color = left + place * CELL, colors[name]
                lines.append(
                    f'<rect x="{x}" y="{top}" width="{CELL - 3}" height="32" rx="4" '
                    f'fill="{FILLS[color]}" stroke="{STROKES[color]}"/>'
                )
                lines.append(_words(x + CELL // 2 - 1, top + 21, name))
    widest = max(len(cells.split()) for _, cells in rows)
    return lines, left + widest * CELL + MARGIN, MARGIN + len(rows) * 40


def _words(x: int, y: int, text: str, style: str = "") -> str:
    anchor = "" if "text-anchor" in style else ' text-anchor="middle"'
    return f'<text x="{x}" y="{y}"{anchor}{style}>{escape(text)}</text>'
