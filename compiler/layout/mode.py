"""Modes: the digits of a mixed-radix number, each with the step it makes along an axis of the tile.

A side of a layout (spatial or local) is a tuple of modes, the most significant first. The number
that it reads (a thread, or the position of an element within a thread) has one digit a mode.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from dslc.compiler.interned import Interned

REPLICATED = -1


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Mode(Interned):
    """A digit below `size` that moves the index by `stride` elements along `axis`.

    A replicated mode has axis REPLICATED and stride 0: its digit moves nothing.
    """

    size: int
    axis: int
    stride: int

    @property
    def is_replicated(self) -> bool:
        """Whether threads that differ in this digit hold the same elements."""
        return self.axis == REPLICATED


Modes: TypeAlias = tuple[Mode, ...]


def replicated(size: int) -> Mode:
    """A digit that moves nothing."""
    return Mode(size, REPLICATED, 0)


def size_of(modes: Iterable[Mode]) -> int:
    """How many numbers the digits count."""
    return prod(m.size for m in modes)


def coalesce_modes(modes: Iterable[Mode]) -> Modes:
    """The same function with the fewest modes.

    Modes of size 1 are dropped, and two neighbours become one where the upper digit's step is the
    lower digit's whole range.
    """
    out: list[Mode] = []
    for mode in modes:
        if mode.size == 1:
            continue
        if out and out[-1].axis == mode.axis and out[-1].stride == mode.stride * mode.size:
            mode = Mode(out.pop().size * mode.size, mode.axis, mode.stride)  # noqa: PLW2901
        out.append(mode)
    return tuple(out)


def split_mode(mode: Mode, low: int) -> tuple[Mode, Mode]:
    """The mode as two digits, the lower below `low`, which divides the size."""
    return Mode(mode.size // low, mode.axis, mode.stride * low), Mode(low, mode.axis, mode.stride)


def split_modes(modes: Modes, low: int) -> tuple[Modes, Modes] | None:
    """The digits above and below the weight `low`, or None where no digit begins there."""
    weight = 1
    for position in reversed(range(len(modes))):
        if weight == low:
            return modes[: position + 1], modes[position + 1 :]
        mode = modes[position]
        if weight * mode.size > low:
            rest, left_over = divmod(low, weight)
            if left_over or mode.size % rest:
                return None
            upper, lower = split_mode(mode, rest)
            return (*modes[:position], upper), (lower, *modes[position + 1 :])
        weight *= mode.size
    return ((), modes) if weight == low else None


def scale_modes(modes: Modes, shape: Sequence[int]) -> Modes:
    """The modes over a tile each of whose elements is a tile of that shape."""
    return tuple(
        m if m.is_replicated else Mode(m.size, m.axis, m.stride * shape[m.axis]) for m in modes
    )


def with_weights(modes: Modes) -> list[tuple[Mode, int]]:
    """Each mode with the weight of its digit in the number that the side reads."""
    out: list[tuple[Mode, int]] = []
    weight = 1
    for mode in reversed(modes):
        out.append((mode, weight))
        weight *= mode.size
    return out[::-1]


def factors_axis(modes: Iterable[Mode], axis: int, extent: int) -> bool:
    """Whether the modes of one axis count its elements exactly once."""
    reached = 1
    for mode in sorted((m for m in modes if m.axis == axis), key=lambda m: m.stride):
        if mode.stride != reached:
            return False
        reached *= mode.size
    return reached == extent
