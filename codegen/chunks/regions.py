"""Chunks of regions: their coordinates in memory, and the axes on which they may be out of bounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dslc.codegen.chunks.at import At, linear_of
from dslc.compiler.ir import Memory, Region
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import Linear, linear


@dataclass(frozen=True, slots=True)
class Inside:
    """A fact of the current loops: `form` and the `count` - 1 numbers after it are below `extent`."""

    form: Linear
    count: int
    extent: ex.Expr


def strides_of(memory: Memory) -> tuple[Linear, ...]:
    """The strides of a tensor in elements: its own, or row-major."""
    if memory.strides is not None:
        return tuple(linear(x) for x in memory.strides)
    return row_major([linear(x) for x in memory.shape])


def row_major(shape: Sequence[Linear]) -> tuple[Linear, ...]:
    """The strides of elements that lie one after another, the last axis fastest."""
    strides: list[Linear] = []
    step = Linear(constant=1)
    for extent in reversed(shape):
        strides.insert(0, step)
        step = step * extent
    return tuple(strides)


def region_at(region: Region, at: At) -> At:
    """A chunk of a region's tile as a chunk of its memory."""
    base: list[Linear] = []
    lanes: list[list[int]] = [[] for _ in at.lanes]
    k = 0
    for axis in region.axes:
        start = linear_of(axis.start)
        if axis.dropped:
            base.append(start)
            for lane in lanes:
                lane.append(0)
            continue
        base.append(start + at.base[k].scale(axis.step))
        for mine, theirs in zip(lanes, at.lanes, strict=True):
            mine.append(theirs[k] * axis.step)
        k += 1
    return At(tuple(base), tuple(tuple(lane) for lane in lanes), at.live)


def unproved(region: Region, where: At, facts: Iterable[Inside]) -> list[int]:
    """The axes on which a chunk may be out of bounds."""
    known = list(facts)
    return [
        k
        for k, axis in enumerate(region.axes)
        if axis.checked and not _is_inside(where, k, region.extent(k), known)
    ]


def _is_inside(where: At, axis: int, extent: ex.Expr, facts: list[Inside]) -> bool:
    least = min(lane[axis] for lane in where.lanes)
    most = max(lane[axis] for lane in where.lanes)
    for fact in facts:
        if fact.extent != extent:
            continue
        distance = where.base[axis] - fact.form
        low = distance.constant
        if distance.is_constant and low + least >= 0 and low + most < fact.count:
            return True
    return False
