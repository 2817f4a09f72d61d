"""Where the bits of an element lie: the numbers of threads and of elements within them, by layout."""

from __future__ import annotations

from dslc.compiler.ir.arithmetic.affine import Linear
from dslc.compiler.layout import Layout
from dslc.compiler.layout.mode import Modes


def digits(modes: Modes, shape: tuple[int, ...], where: tuple[Linear, ...]) -> Linear:
    """The number whose digits are those of an element's coordinates; of a copy, the first one's."""
    total = Linear()
    for axis, x in enumerate(where):
        total = total + digits_along(modes, shape, axis, x)
    return total


def digits_along(modes: Modes, shape: tuple[int, ...], axis: int, x: Linear) -> Linear:
    """What one coordinate adds to that number: coordinates give it independently."""
    total, weight = Linear(), 1
    for mode in reversed(modes):
        if mode.axis == axis and not mode.is_replicated:
            digit = x.divide(Linear(constant=mode.stride))
            if shape[axis] > mode.stride * mode.size:
                digit = digit.modulo(Linear(constant=mode.size))
            total = total + digit.scale(weight)
        weight *= mode.size
    return total


def coordinates(layout: Layout, thread: Linear, local: Linear) -> tuple[Linear, ...]:
    """The element that a thread holds at a place."""
    if _is_in_order(layout):
        return (local,)
    where = [Linear() for _ in layout.shape]
    for modes, number in ((layout.spatial_modes, thread), (layout.local_modes, local)):
        rest = number
        for k, mode in reversed(list(enumerate(modes))):
            digit = rest if k == 0 else rest.modulo(Linear(constant=mode.size))
            rest = rest.divide(Linear(constant=mode.size))
            if not mode.is_replicated:
                where[mode.axis] = where[mode.axis] + digit.scale(mode.stride)
    return tuple(where)


def _is_in_order(layout: Layout) -> bool:
    """Whether one thread has one axis as it is."""
    if layout.rank != 1 or layout.spatial_modes:
        return False
    step = 1
    for mode in reversed(layout.local_modes):
        if mode.is_replicated or mode.stride != step:
            return False
        step *= mode.size
    return True


def byte_and_bit(bit: Linear) -> tuple[Linear, int] | None:
    """The byte that a bit is in, and its number there; None where that is known at run time only."""
    byte = bit.divide(Linear(constant=8))
    rest = bit + byte.scale(-8)
    return (byte, rest.constant) if rest.is_constant else None
