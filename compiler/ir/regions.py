"""Regions of memories: all of one, one place of it, a part of another region."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dslc.compiler.ir.arithmetic.affine import constant, simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import add, mul
from dslc.compiler.ir.expr import Expr, index
from dslc.compiler.ir.values import AxisSlice, Memory, Region


def whole(memory: Memory, shape: Iterable[int], *at: Expr) -> Region:
    """All of a memory of that shape, in bounds; `at` are subscripts of axes before these."""
    inside = (AxisSlice(index(0), n, checked=False) for n in shape)
    return Region(memory, (*(_place(e) for e in at), *inside))


def element(memory: Memory, *at: Expr) -> Region:
    """The one element at these subscripts, in bounds."""
    return whole(memory, (), *at)


def part(region: Region, axis: int, start: Expr | int, size: int) -> Region:
    """What a region has of an axis of its tile from `start` on, `size` elements; checked as before.

    Of an axis with padding `start` is a number.
    """
    number = [i for i, a in enumerate(region.axes) if not a.dropped][axis]
    old = region.axes[number]
    first = simplify(add(old.start, mul(start, old.step)))
    limit = old.limit
    if limit is not None:
        at = constant(start) if isinstance(start, Expr) else start
        assert at is not None, "a part of padding at a place that is not known"
        limit = min(size, max(0, limit - int(at)))
    new = replace(old, start=first, size=size, limit=None if limit == size else limit)
    axes = (*region.axes[:number], new, *region.axes[number + 1 :])
    return replace(region, axes=axes)


def _place(at: Expr) -> AxisSlice:
    return AxisSlice(at, 1, dropped=True, checked=False)
