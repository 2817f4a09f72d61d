"""Where the bits of an element lie: the numbers of threads and of elements within them, by layout."""

from __future__ import annotations

from dslc.compiler.ir.arithmetic.affine import Linear
from dslc.compiler.layout import Layout
from dslc.compiler.layout.mode import Modes


def digits(modes: Modes, shape: tuple[int, ...], where: tuple[Linear, ...]) -> Linear:
    """The number whose digits are those of an element's coordinates; of a copy, the first one's."""
    total = Linear()
    for mode in modes:
        total = total.scale(mode.size)
        if mode.is_replicated:
            continue
        x = where[mode.axis].divide(Linear(constant=mode.stride))
        if shape[mode.axis] > mode.stride * mode.size:
            x = x.modulo(Linear(constant=mode.size))
        total = total + x
    return total


def coordinates(layout: Layout, thread: Linear, local: Linear) -> tuple[Linear, ...]:
    """The element that a thread holds at a place."""
    where = [Linear() for _ in layout.shape]
    for modes, number in ((layout.spatial_modes, thread), (layout.local_modes, local)):
        rest = number
        for k, mode in reversed(list(enumerate(modes))):
            digit = rest if k == 0 else rest.modulo(Linear(constant=mode.size))
            rest = rest.divide(Linear(constant=mode.size))
            if not mode.is_replicated:
                where[mode.axis] = where[mode.axis] + digit.scale(mode.stride)
    return tuple(where)


def byte_and_bit(bit: Linear) -> tuple[Linear, int] | None:
    """The byte that a bit is in, and its number there; None where that is known at run time only."""
    byte = bit.divide(Linear(constant=8))
    rest = bit + byte.scale(-8)
    return (byte, rest.constant) if rest.is_constant else None
