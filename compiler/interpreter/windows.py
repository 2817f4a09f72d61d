"""Regions at run time: which elements of a memory an access touches, clipped to its bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.interpreter.scalars import compile_scalars
from dslc.compiler.interpreter.scope import Frame, Scope, Site
from dslc.compiler.ir import AxisSlice, Region, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.indexed import (
    Indexed,
    first_id_axis,
    ids_shape,
    indexed_shape,
    kept_axes,
    numbered,
)

Index: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a memory that an access touches: `index` serves on any array of its shape.

    `inner` is where that part lies in the tile, None where it is the whole tile. `shape` is the tile's.
    Nothing is touched where `empty`.
    """

    index: Index
    inner: Index | None
    shape: tuple[int, ...]
    empty: bool = False

    def part(self, tile: Array) -> Array:
        """The elements of a tile that lie in bounds, in the shape of memory[index]."""
        return tile if self.inner is None else tile[self.inner]

    def fill(self, part: Array, other: Any) -> Array:
        """A tile around what was read, `other` out of bounds."""
        if self.inner is None:
            return part
        tile = np.full(self.shape, other, part.dtype)
        tile[self.inner] = part
        return tile

    @property
    def only(self) -> tuple[int, ...] | None:
        """The index of the one element that is touched, None where there are several."""
        numbers: list[int] = []
        for i in self.index:
            if isinstance(i, slice) and i.stop - i.start > i.step:
                return None
            if isinstance(i, np.ndarray) and i.size != 1:
                return None
            numbers.append(i.start if isinstance(i, slice) else np.asarray(i).item())
        return None if self.empty else tuple(numbers)

    def element(self, bad: Array) -> tuple[int, ...]:
        """The index in the memory of the first element that `bad` (bool, as memory[index]) marks."""
        at = np.unravel_index(int(np.argmax(bad)), bad.shape) if bad.ndim else ()
        if any(isinstance(i, np.ndarray) for i in self.index):
            return tuple(int(np.broadcast_to(i, bad.shape)[at]) for i in self.index)
        rest = iter(at)
        return tuple(
            i if isinstance(i, int) else i.start + i.step * int(next(rest)) for i in self.index
        )

    def apart(self, extents: tuple[int, ...]) -> list[Window]:
        """Windows that name no element twice; equal ones follow each other in the tile's order."""
        if not any(isinstance(i, np.ndarray) for i in self.index):
            return [self]
        taken = np.ones(self.shape, np.bool_) if self.inner is None else self.inner[0]
        index = self.index
        if self.inner is None:
            index = tuple(np.broadcast_to(i, self.shape).reshape(-1) for i in index)
        flat = np.asarray(np.ravel_multi_index(index, extents))
        order = np.argsort(flat, kind="stable")
        first = np.searchsorted(flat[order], flat[order])
        turn = np.empty_like(order)
        turn[order] = np.arange(order.size) - first
        if not turn.any():
            return [self]
        places = np.nonzero(taken)
        return [
            Window(tuple(i[s] for i in index), tuple(p[s] for p in places), self.shape)
            for s in (turn == n for n in range(int(turn.max()) + 1))
        ]

    def masked(self, mask: Array) -> Window:
        """What is left where a mask of the tile's shape holds; `index` has no arrays yet."""
        kept = np.asarray(mask if self.inner is None else mask[self.inner])
        if self.empty or kept.all():
            return self
        if not kept.any():
            return Window(self.index, self.inner, self.shape, empty=True)
        at = np.nonzero(kept)
        inner = at
        if self.inner is not None:
            inner = tuple(n + s.start for n, s in zip(at, self.inner, strict=True))
        rest = iter(at)
        index = tuple(
            np.full(at[0].shape, i) if isinstance(i, int) else i.start + i.step * next(rest)
            for i in self.index
        )
        return Window(index, inner, self.shape)


Windows: TypeAlias = Callable[[Frame, tuple[int, ...]], Window]
Access: TypeAlias = ins.Load | ins.Store | Indexed


def compile_access(scope: Scope, stmt: Access, site: Site) -> Windows:
    """The window of an access of any kind."""
    if isinstance(stmt, ins.Load | ins.Store):
        return compile_masked(scope, stmt.region, stmt.where, site)
    if numbered(stmt):
        return compile_indexed(scope, stmt, site)
    return compile_window(scope, stmt.region, site)


def compile_masked(scope: Scope, region: Region, where: Value | None, site: Site) -> Windows:
    """The window of a region, of which the elements are left where the mask `where` holds."""
    windows = compile_window(scope, region, site)
    if where is None:
        return windows
    slot = scope.slot(where)
    return lambda f, extents: windows(f, extents).masked(np.asarray(f[slot]))


def compile_window(scope: Scope, region: Region, site: Site) -> Windows:
    """The window of a region as a function of the frame and of the memory's shape."""
    ended = [n for n, a in enumerate(region.axes) if a.end is not None]
    whole = _compile_window(scope, region, site)
    if not ended:
        return whole
    ends_of = compile_scalars(scope, [e for a in region.axes if (e := a.end) is not None])

    def window(f: Frame, extents: tuple[int, ...]) -> Window:
        shorter = list(extents)
        for n, end in zip(ended, ends_of(f), strict=True):
            shorter[n] = min(shorter[n], end)
        return whole(f, tuple(shorter))

    return window


def _compile_window(scope: Scope, region: Region, site: Site) -> Windows:
    starts_of = compile_scalars(scope, [a.start for a in region.axes])
    axes, shape = region.axes, region.shape
    spans = tuple((a.size - 1) * a.step + 1 if a.size else 0 for a in axes)
    padded = any(a.limit is not None for a in axes)
    plain = tuple(zip(spans, (a.step for a in axes), (a.dropped for a in axes), strict=True))

    def window(f: Frame, extents: tuple[int, ...]) -> Window:
        starts = starts_of(f)
        if padded:
            return _clipped(region, starts, extents, site)
        index: list[Any] = []
        for start, extent, (span, step, dropped) in zip(starts, extents, plain, strict=True):
            stop = start + span
            if start < 0 or stop > extent:
                return _clipped(region, starts, extents, site)
            index.append(start if dropped else slice(start, stop, step))
        return Window(tuple(index), None, shape)

    return window


def clip(axis: AxisSlice, start: int, extent: int) -> tuple[int, int]:
    """The first and one past the last element of a slice that lie in bounds."""
    first = max(0, -(start // axis.step))
    last = min(axis.count, -((start - extent) // axis.step))
    return (first, last) if first < last else (0, 0)


def _clipped(
    region: Region, starts: tuple[int, ...], extents: tuple[int, ...], site: Site
) -> Window:
    index: list[Any] = []
    inner: list[slice] = []
    empty = False
    for number, (axis, start, extent) in enumerate(zip(region.axes, starts, extents, strict=True)):
        first, last = clip(axis, start, extent)
        if last - first < axis.count and not axis.checked:
            raise _unchecked(region, number, start, extent, site)
        empty |= first == last
        if axis.dropped:
            index.append(start if not empty else 0)
            continue
        at = start + first * axis.step
        index.append(slice(at, at + (last - first - 1) * axis.step + 1, axis.step))
        inner.append(slice(first, last))
    return Window(tuple(index), tuple(inner), region.shape, empty)


def _unchecked(region: Region, number: int, start: int, extent: int, site: Site) -> Exception:
    axis = region.axes[number]
    end = start + (axis.count - 1) * axis.step
    return error(
        "DSL0601",
        f"{site.verb} reaches out of bounds: axis {number} of {region.memory.name} has "
        f"{extent} elements, the access takes {start} to {end}",
        site.loc,
        hint="the access was marked as always in bounds: a `require` does not hold, or a pass is wrong",
    )


def compile_indexed(scope: Scope, stmt: Indexed, site: Site) -> Windows:
    """As `compile_window`, with ids (plus the slice's start) for some axes.

    The index has an array for each axis of the memory; they broadcast to the tile's shape. Where some
    elements are out of bounds, they list the others one by one, and `inner` is a mask over the tile.
    """
    region, axes, ids = stmt.region, stmt.axes, ids_shape(stmt)
    starts_of = compile_scalars(scope, [a.start for a in region.axes])
    ended = [n for n, a in enumerate(region.axes) if a.end is not None]
    ends_of = compile_scalars(scope, [e for a in region.axes if (e := a.end) is not None])
    slots = dict(zip(axes, map(scope.slot, stmt.ids), strict=True))
    places = kept_axes(region, axes, len(ids)) | dict.fromkeys(axes, first_id_axis(region, axes))
    ranges = [np.arange(a.size) * a.step for a in region.axes]
    shape = indexed_shape(region, axes, ids)
    total = len(shape)

    def placed(values: Array, number: int) -> Array:
        if number not in places:
            return values.reshape((1,) * total)
        before = places[number]
        return values.reshape((1,) * before + values.shape + (1,) * (total - before - values.ndim))

    def window(f: Frame, extents: tuple[int, ...]) -> Window:
        index: list[Any] = []
        mask = np.ones((1,) * total, np.bool_)
        ends = {n: min(end, extents[n]) for n, end in zip(ended, ends_of(f), strict=True)}
        for n, (start, extent) in enumerate(zip(starts_of(f), extents, strict=True)):
            chosen = np.asarray(f[slots[n]], np.int64) if n in slots else ranges[n]
            at = placed(chosen + start, n)
            legal = (at >= 0) & (at < ends.get(n, extent))
            if n not in slots:
                own = at < start + region.axes[n].count * region.axes[n].step
                if not region.axes[n].checked and not (legal | ~own).all():
                    raise _unchecked(region, n, start, extent, site)
                legal &= own
            mask = mask & legal
            index.append(at)
        if mask.all():
            return Window(tuple(index), None, shape)
        mask = np.broadcast_to(mask, shape)
        parts = tuple(np.broadcast_to(i, shape)[mask] for i in index)
        return Window(parts, (mask,), shape, not mask.any())

    return window
