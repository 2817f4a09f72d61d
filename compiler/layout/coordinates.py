"""Swizzles seen through a change of coordinates, such as a reshape or an inverse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dslc.compiler.layout.swizzles import Swizzle


@dataclass(frozen=True, slots=True)
class Cell:
    """A range of one coordinate that is a range of a new one.

    `x // stride % size` along `axis` becomes `y // new_stride % size` along `new_axis`.
    """

    axis: int
    stride: int
    size: int
    new_axis: int
    new_stride: int

    def place(self, axis: int, unit: int, size: int) -> tuple[int, int] | None:
        """The (new axis, new unit) of the digit (unit, size) of `axis`, or None if not inside."""
        if axis != self.axis or unit % self.stride or self.stride * self.size % (unit * size):
            return None
        return self.new_axis, unit // self.stride * self.new_stride


def through_cells(swizzle: Swizzle, cells: Sequence[Cell]) -> list[Swizzle] | None:
    """The swizzle in the new coordinates, in as few parts as the cells allow.

    None where a digit that is not a power of two lies in several cells.
    """
    s = swizzle.normal()
    whole = _moved(s, cells)
    if whole is not None:
        return [whole]
    if s.source_size != s.size:
        return None
    parts: list[Swizzle] = []
    low = 1
    while low < s.size:
        part = _longest(s, low, cells)
        if part is None:
            return None
        parts.append(part)
        low *= part.size
    return parts


def all_through_cells(
    swizzles: Iterable[Swizzle], cells: Sequence[Cell]
) -> tuple[Swizzle, ...] | None:
    """`through_cells` of each, in order."""
    out: list[Swizzle] = []
    for swizzle in swizzles:
        parts = through_cells(swizzle, cells)
        if parts is None:
            return None
        out.extend(parts)
    return tuple(out)


def _longest(s: Swizzle, low: int, cells: Sequence[Cell]) -> Swizzle | None:
    """The part that begins at bit value `low` and takes as many bits as lie in one cell."""
    size = s.size // low
    while size > 1:
        part = Swizzle(s.dim, s.unit * low, size, s.source, s.source_unit * low, size)
        moved = _moved(part, cells)
        if moved is not None:
            return moved
        size //= 2
    return None


def _moved(s: Swizzle, cells: Sequence[Cell]) -> Swizzle | None:
    target = _place(cells, s.dim, s.unit, s.size)
    source = _place(cells, s.source, s.source_unit, s.source_size)
    if target is None or source is None:
        return None
    return Swizzle(*target, s.size, *source, s.source_size)


def _place(cells: Sequence[Cell], axis: int, unit: int, size: int) -> tuple[int, int] | None:
    for cell in cells:
        placed = cell.place(axis, unit, size)
        if placed is not None:
            return placed
    return None
