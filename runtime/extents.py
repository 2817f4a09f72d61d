"""Dims from the extents of arrays: `K // 2` is 64 where K is 128.

dim_of("K // 2", "K", 64)   ->   128
"""

from __future__ import annotations

from collections.abc import Callable

from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.expression import compile_expression

_GREATEST = 1 << 48


def dim_of(extent: str, dim: str, size: int) -> int | None:
    """The dim for which an extent, which grows with it, has a size; None where it has for none.

    Of several (129 // 2 is 64 as well) it is the one that the greatest power of two divides.
    """
    try:
        value = compile_expression(extent)
        first = _first(lambda n: value({dim: n}) >= size)
        if first is None or value({dim: first}) != size:
            return None
        past = _first(lambda n: value({dim: n}) > size)
    except (DiagnosticError, KeyError, ArithmeticError, ValueError):
        return None  # made of other names as well, or no number for some
    return None if past is None else _roundest(first, past - 1)


def _first(reached: Callable[[int], bool]) -> int | None:
    """The least whole number that is far enough."""
    high = 1
    while not reached(high):
        high *= 2
        if high > _GREATEST:
            return None
    low = 0  # bisection: `high` is far enough
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle + 1, high)
    return high


def _roundest(low: int, high: int) -> int:
    """The number of a range that the greatest power of two divides."""
    unit = 1
    while -(-low // (2 * unit)) * 2 * unit <= high:
        unit *= 2
        if unit > high:
            break
    return -(-low // unit) * unit
