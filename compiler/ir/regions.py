"""Regions of memories: all of one, one place of it, a part of another region."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dslc.compiler.ir.affine import simplify
from dslc.compiler.ir.expr import Expr, index
from dslc.compiler.ir.index_arithmetic import add, mul
from dslc.compiler.ir.values import AxisSlice, Memory, Region


def whole(memory: Memory, shape: Iterable[int], *at: Expr) -> Region:
    """All of a memory of that shape, in bounds; `at` are subscripts of axes before these."""
    inside = (AxisSlice(index(0), n, checked=False) for n in shape)
    return Region(memory, (*(_place(e) for e in at), *inside))


def element(memory: Memory, *at: Expr) -> Region:
    """The one element at these subscripts, in bounds."""
    return whole(memory, (), *at)


def part(region: Region, axis: int, start: Expr | int, size: int) -> Region:
    """What a region has of an axis of its tile from `start` on, `size` elements; checked as before."""
    number = [i for i, a in enumerate(region.axes) if not a.dropped][axis]
    old = region.axes[number]
    first = simplify(add(old.start, mul(start, old.step)))
    axes = (*region.axes[:number], replace(old, start=first, size=size), *region.axes[number + 1 :])
    return replace(region, axes=axes)


def _place(at: Expr) -> AxisSlice:
    return AxisSlice(at, 1, dropped=True, checked=False)
