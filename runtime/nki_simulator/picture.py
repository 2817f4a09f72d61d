"""A run's timeline as an SVG: one lane for each engine and DMA queue, time to the right. *Modelled*."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from dslc.runtime.nki_simulator.running import Run
from dslc.runtime.nki_simulator.timeline import Timeline
from dslc.runtime.nki_simulator.trace import COMPUTE, DMA_QUEUES

_WIDTH, _LEFT, _LANE, _TOP, _GAP = 1100, 120, 26, 46, 8
_NAMES = {
    "PE": "PE (tensor)",
    "ACT": "ACT (scalar)",
    "DVE": "DVE (vector)",
    "Pool": "Pool (GpSimd)",
}
_NAMES |= {"load": "DMA loads", "store": "DMA stores", "move": "DMA moves"}
_COLORS = {"PE": "#3b6fb6", "ACT": "#c8553d", "DVE": "#4f9d69", "Pool": "#8e6bb0"}
_COLORS |= {"load": "#6b8ba4", "store": "#a4876b", "move": "#888888"}
_MOST = 4000  # instructions that are drawn one by one; of more a pixel's shade is its busy share
_STYLE = (
    "text{font:12px ui-monospace,monospace;fill:#1a1a1a}text.h{fill:#777}text.e{text-anchor:end}"
    "line{stroke:#ddd}"
)


def timeline_svg(run: Run, title: str = "") -> str:
    """The picture. A bar's tip names the instruction and its line in the source."""
    timeline = run.timeline
    used = {step.queue for step in timeline.steps}
    lanes = [queue for queue in (*COMPUTE, *DMA_QUEUES) if queue in used]
    height = _TOP + len(lanes) * (_LANE + _GAP) + 30
    scale = (_WIDTH - _LEFT - 20) / (timeline.total or 1.0)
    label = f"{title}: " if title else ""
    head = f"{label}{run.core.name}, {_time(timeline.total)} modelled"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" role="img">',
        f"<title>{escape(head)}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="8" y="18">{escape(head)}</text>',
        *_axis(timeline.total, scale, height),
    ]
    for row, queue in enumerate(lanes):
        y = _TOP + row * (_LANE + _GAP)
        share = f" {timeline.active(queue):.0%}" if queue in COMPUTE else ""
        parts.append(f'<text class="e" x="{_LEFT - 8}" y="{y + 17}">{_NAMES[queue]}</text>')
        parts += _lane(timeline, queue, y, scale)
        if share:
            parts.append(f'<text class="h e" x="{_LEFT - 8}" y="{y + 30}">{share}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _axis(total: float, scale: float, height: int) -> Iterator[str]:
    """Lines at round times, about eight of them."""
    step = 1.0
    while total / step > 8:
        step *= 2.5 if f"{step:g}"[0] == "2" else 2
    time = 0.0
    while time <= total:
        x = _LEFT + time * scale
        yield f'<line x1="{x:.1f}" y1="28" x2="{x:.1f}" y2="{height - 22}"/>'
        yield f'<text class="h" x="{x + 3:.1f}" y="38">{_time(time)}</text>'
        time += step


def _lane(timeline: Timeline, queue: str, y: int, scale: float) -> Iterator[str]:
    numbers = [i for i, step in enumerate(timeline.steps) if step.queue == queue]
    color = _COLORS[queue]
    if len(numbers) > _MOST:
        yield from _shades(timeline, numbers, y, scale, color)
        return
    for i in numbers:
        begin, end = timeline.begins[i], _end(timeline, i)
        step = timeline.steps[i]
        x, width = _LEFT + begin * scale, max(0.3, (end - begin) * scale)
        tip = f"{step.name}, line {step.line}: {_time(end - begin)} from {_time(begin)}"
        yield (
            f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{_LANE}" fill="{color}" '
            f'fill-opacity="0.8"><title>{escape(tip)}</title></rect>'
        )


def _end(timeline: Timeline, i: int) -> float:
    """Of an engine's instruction when the engine is free, of a transfer when it is seen."""
    return timeline.ends[i] if timeline.steps[i].rows is None else timeline.done[i]


def _shades(
    timeline: Timeline, numbers: list[int], y: int, scale: float, color: str
) -> Iterator[str]:
    """The busy share of each pixel."""
    busy = [0.0] * (_WIDTH - _LEFT)
    for i in numbers:
        at, end = timeline.begins[i] * scale, _end(timeline, i) * scale
        while at < end:
            pixel = int(at)
            upto = min(end, pixel + 1.0)
            busy[min(pixel, len(busy) - 1)] += upto - at
            at = upto
    for pixel, share in enumerate(busy):
        if share > 0.01:
            shade = 0.15 + 0.75 * min(1.0, share)
            yield (
                f'<rect x="{_LEFT + pixel}" y="{y}" width="1" height="{_LANE}" fill="{color}" '
                f'fill-opacity="{shade:.2f}"/>'
            )


def _time(ns: float) -> str:
    if ns < 1e3:
        return f"{ns:.0f} ns"
    return f"{ns / 1e3:.4g} us" if ns < 1e6 else f"{ns / 1e6:.4g} ms"
