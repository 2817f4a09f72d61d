"""A layout as text that parses back to it.

The text is a chain of primitives where one exists: factors are taken from the right, each of those
modes whose steps begin where the factors already taken end. What no chain gives is `modes(...)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from dslc.compiler.layout.division import split_tile
from dslc.compiler.layout.layout import Layout
from dslc.compiler.layout.mode import Mode
from dslc.compiler.layout.parsing import parse_layout
from dslc.compiler.layout.swizzles import Swizzle


def format_layout(layout: Layout) -> str:
    """`local(2, 1).spatial(8, 4).local(1, 2)`, or `modes(...)` where no chain exists."""
    if layout.rank == 0:
        return format_modes(layout)
    if layout.swizzles:
        return _swizzled_chain(layout) or format_modes(layout)
    return _chain(layout) or format_modes(layout)


def format_modes(layout: Layout) -> str:
    """The raw form, which every layout has."""
    parts = [str(list(layout.shape))]
    for name, side in (("spatial", layout.spatial_modes), ("local", layout.local_modes)):
        if side:
            listed = [[m.size] if m.is_replicated else [m.size, m.axis, m.stride] for m in side]
            parts.append(f"{name}={listed}")
    if layout.swizzles:
        listed = [
            [s.dim, s.unit, s.size, s.source, s.source_unit, s.source_size] for s in layout.swizzles
        ]
        parts.append(f"swizzles={listed}")
    return f"modes({', '.join(parts)})"


def _chain(layout: Layout) -> str | None:
    """The factors as text, or None where some mode never comes within reach."""
    spatial, local = list(layout.spatial_modes), list(layout.local_modes)
    done = [1] * layout.rank
    factors: list[str] = []
    while spatial or local:
        name, taken = "local", _take(local, done)
        if not taken:
            name, taken = "spatial", _take(spatial, done)
        if not taken:
            return None
        factors.append(_primitive(name, taken, layout.rank))
        for mode in taken:
            if not mode.is_replicated:
                done[mode.axis] *= mode.size
    if not factors:
        return f"local({', '.join(['1'] * layout.rank)})"
    if factors[-1].startswith("replicate(") and layout.rank > 1 and len(factors) == 1:
        factors[-1] = f"{factors[-1][:-1]}, rank={layout.rank})"
    return ".".join(reversed(factors))


def _take(side: list[Mode], done: list[int]) -> list[Mode]:
    """Remove from the end of the side the modes of one primitive: in row-major or column order."""
    taken: list[Mode] = []
    while side:
        mode = side[-1]
        if mode.is_replicated:
            return taken or [side.pop()]
        if mode.stride != done[mode.axis] or any(mode.axis == m.axis for m in taken):
            return taken
        if len(taken) > 1 and (taken[0].axis < taken[1].axis) != (taken[-1].axis < mode.axis):
            return taken
        taken.append(side.pop())
    return taken


def _primitive(name: str, taken: list[Mode], rank: int) -> str:
    if taken[0].is_replicated:
        return f"replicate({taken[0].size})"
    extents = [1] * rank
    for mode in taken:
        extents[mode.axis] = mode.size
    if len(taken) > 1 and taken[0].axis < taken[1].axis:
        name = f"column_{name}"
    return f"{name}({', '.join(map(str, extents))})"


def _swizzled_chain(layout: Layout) -> str | None:
    """`f.swizzle(g, dim=d).k` for one swizzle whose digits are a level of the layout."""
    if len(layout.swizzles) != 1:
        return None
    (swizzle,) = layout.swizzles
    for unit, extent, step in _levels(layout, swizzle):
        low = split_tile(replace(layout, swizzles=()), unit)
        middle = split_tile(low[0], extent) if low else None
        if low is None or middle is None:
            continue
        text = _joined(middle[0], middle[1], low[1], swizzle, step)
        if text and _means(text, layout):
            return text
    return None


def _levels(layout: Layout, s: Swizzle) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], int]]:
    """Candidates (tile below, tile of the swizzled level, log_step), the largest levels first."""
    steps = [k for k in range(s.source_unit.bit_length()) if s.source_unit % (1 << k) == 0]
    rest, source_rest = layout.shape[s.dim] // s.unit, layout.shape[s.source]
    for step, wide, deep in product(steps, (rest, s.size), (True, False)):
        below, extent = [1] * layout.rank, [1] * layout.rank
        below[s.dim], extent[s.dim] = s.unit, wide
        if s.source != s.dim:
            below[s.source] = s.source_unit >> step
            whole = source_rest // below[s.source]
            extent[s.source] = whole if deep else s.source_size << step
            yield tuple(below), tuple(extent), step


def _joined(high: Layout, middle: Layout, low: Layout, s: Swizzle, step: int) -> str | None:
    inner = _chain(middle)
    if inner is None:
        return None
    options = [f"dim={s.dim}"]
    if step:
        options.append(f"log_step={step}")
    if s.source != (s.dim - 1 if s.dim else 1):
        options.append(f"source={s.source}")
    text = f"swizzle({inner}, {', '.join(options)})"
    for part, before in ((high, True), (low, False)):
        if part.elements * part.threads > 1:
            chain = _chain(part)
            if chain is None:
                return None
            text = f"{chain}.{text}" if before else f"{text}.{chain}"
    return text


def _means(text: str, layout: Layout) -> bool:
    return parse_layout(text) == layout


Layout.text = format_layout
