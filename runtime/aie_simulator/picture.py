"""A run as a picture: when each core and each channel is busy, in modelled time."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from dslc.runtime.aie_simulator.machine import RATES
from dslc.runtime.aie_simulator.running import Run

_WIDTH, _LEFT, _TOP, _LANE, _GAP = 1000, 170, 46, 12, 3
_MOST = 400  # bars of a lane: neighbours closer than a pixel are one
_COLOURS = {"core": "#4878a8", "MM2S": "#6aa36f", "S2MM": "#c58b4e", "the ": "#777"}


def timeline_svg(run: Run, title: str = "") -> str:
    """The picture: a lane for each process that was busy, cores first."""
    names = sorted((n for n, spans in run.spans.items() if spans), key=_order)
    height = _TOP + len(names) * (_LANE + _GAP) + 12
    scale = (_WIDTH - _LEFT - 20) / (run.cycles or 1.0)
    head = f"{title}: {run.microseconds:.4g} us modelled" if title else "modelled"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" role="img" font-family="sans-serif" font-size="11">',
        f"<title>{escape(head)}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="8" y="18" font-size="13">{escape(head)}</text>',
        *_axis(run.cycles, scale, height),
    ]
    for number, name in enumerate(names):
        y = _TOP + number * (_LANE + _GAP)
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 10}" text-anchor="end">{escape(name)}</text>')
        parts += _lane(run.spans[name], name, y, scale)
    return "\n".join([*parts, "</svg>", ""])


def _order(name: str) -> tuple[bool, str]:
    return not name.startswith("core"), name


def _axis(cycles: float, scale: float, height: int) -> Iterator[str]:
    """Ten lines, in microseconds."""
    for step in range(11):
        at = cycles * step / 10
        x = _LEFT + at * scale
        yield f'<line x1="{x:.1f}" y1="28" x2="{x:.1f}" y2="{height - 8}" stroke="#ddd"/>'
        yield f'<text x="{x + 2:.1f}" y="38" fill="#777">{at / RATES.clock * 1e6:.4g}</text>'


def _lane(spans: list[tuple[float, float]], name: str, y: int, scale: float) -> Iterator[str]:
    """Bars; those that touch within a pixel are drawn as one."""
    colour = _COLOURS.get(name[:4], "#999")
    gap = max(1 / scale, (spans[-1][1] - spans[0][0]) / _MOST)
    start, end = spans[0]
    for first, last in (*spans[1:], (float("inf"), float("inf"))):
        if first - end <= gap:
            end = max(end, last)
            continue
        x, width = _LEFT + start * scale, max(0.5, (end - start) * scale)
        yield (f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_LANE}" fill="{colour}"/>')
        start, end = first, last
