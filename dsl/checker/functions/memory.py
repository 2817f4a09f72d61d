"""Reading and writing memory other than by subscripts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dslc.checker.arithmetic import as_dtype, splat
from dslc.checker.calls import Argument, function, request_layout
from dslc.checker.context import Context, expect_memory
from dslc.checker.expressions import condition
from dslc.checker.failure import fail
from dslc.checker.functions.scalars import axis_in
from dslc.checker.items import Item, describe
from dslc.checker.subscript import (
    Access,
    check_readable,
    check_same_shape,
    check_updatable,
    check_writable,
    read,
)
from dslc.compiler.dtypes import BOOL
from dslc.compiler.ir import Region, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins


@function
def load(
    c: Context,
    region: Argument,
    other: Argument | None = None,
    where: Argument | None = None,
    layout: Argument | None = None,
) -> Item:
    """A region of a tensor; what is out of bounds, or not in the mask `where`, reads `other`."""
    wanted = layout.layout() if layout else None
    found = region.region(wanted)
    check_readable(found.region.memory, region.loc)
    fill = as_dtype(other.item(), found.region.memory.dtype, other.loc) if other else None
    tile = read(c, found, fill, _mask(c, where, found) if where else None)
    if wanted is None or layout is None:
        return tile
    return request_layout(c, tile, wanted, layout.loc)


@function
def store(c: Context, region: Argument, x: Argument, where: Argument | None = None) -> Item:
    """A tile or a scalar to a region; elements out of bounds, or not in the mask, stay as they are."""
    found = region.region()
    memory = found.region.memory
    check_writable(memory, region.loc)
    c.emit.hint = memory.name
    tile = value_for(c, x.item(), found, x)
    mask = _mask(c, where, found) if where else None
    c.emit.emit(ins.Store(found.region, tile, mask, loc=c.emit.loc))
    return None


def _mask(c: Context, where: Argument, found: Access) -> Value:
    """Bools in the shape of the region, from a tile that broadcasts to it or a scalar."""
    item = where.item()
    if isinstance(item, Value):
        if item.type.dtype != BOOL:
            hint = "write a comparison: x != 0"
            fail("DSL0202", f"a mask is bool, not {describe(item)}", where.loc, hint=hint)
        check_same_shape(item.type.shape, found.shape, where.loc)
    else:
        item = condition(c, item, where.loc)
    return c.emit.reshape(splat(c.emit, item, BOOL, found.shape, where.loc), found.region.shape)


def value_for(c: Context, item: Item, found: Access, x: Argument) -> Value:
    """What is written to a region: a tile that broadcasts to it, or a scalar."""
    dtype = found.region.memory.dtype
    if isinstance(item, Value):
        if item.type.dtype != dtype:
            fail(
                "DSL0202",
                f"{describe(item)} is written to {dtype}",
                x.loc,
                hint=f"write cast(..., {dtype})",
            )
        check_same_shape(item.type.shape, found.shape, x.loc)
    tile = splat(c.emit, item, dtype, found.shape, x.loc)
    return c.emit.reshape(tile, found.region.shape)


def add_atomic(c: Context, found: Access, item: Item, x: Argument) -> None:
    """An atomic addition to a global tensor."""
    c.emit.emit(ins.AtomicAdd(found.region, value_for(c, item, found, x), loc=c.emit.loc))


@function
def atomic_add(c: Context, region: Argument, x: Argument) -> Item:
    """Add to a region, each element atomically, and give what stood there before."""
    found = region.region()
    memory = found.region.memory
    check_updatable(memory, region.loc)
    tile = value_for(c, x.item(), found, x)
    out = c.emit.value(memory.dtype, found.region.shape)
    c.emit.emit(ins.AtomicAdd(found.region, tile, out, loc=c.emit.loc))
    out = c.emit.reshape(out, found.shape)
    return ex.Read(out) if not out.type.shape else out


def _ids(ids: Argument) -> Value:
    tile = ids.tile()
    if not tile.type.dtype.is_integer:
        fail("DSL0202", f"ids are integers, not {describe(tile)}", ids.loc)
    return tile


@dataclass(frozen=True, slots=True)
class _Rows:
    """Where ids go: a region that keeps its axes up to the gathered one, and the shapes of the tile.

    `shape` is that of the program's tile, in which axes are dropped and added as in the subscript;
    `held` is that of the instruction's.
    """

    region: Region
    axis: int
    shape: tuple[int, ...]
    held: tuple[int, ...]


def _rows(region: Argument, axis: Argument, ids: Value) -> _Rows:
    node = region.node
    target = getattr(node, "value", node)
    memory = expect_memory(Argument(region.c, target, region.name).item(), region.loc)
    at = axis_in(axis, memory.rank)
    found = region.region(gathered=at)
    axes = found.region.axes
    parts = [ids.type.shape if i == at else (a.size,) for i, a in enumerate(axes) if not a.dropped]
    for place in found.new_axes:
        parts.insert(place, (1,))
    kept = replace(found.region, axes=(*(replace(a, dropped=False) for a in axes[:at]), *axes[at:]))
    held = (*kept.shape[:at], *ids.type.shape, *kept.shape[at + 1 :])
    return _Rows(kept, at, tuple(n for part in parts for n in part), held)


@function
def gather(c: Context, region: Argument, ids: Argument, axis: Argument) -> Item:
    """Rows by index; ids out of range read 0."""
    chosen = _ids(ids)
    rows = _rows(region, axis, chosen)
    check_readable(rows.region.memory, region.loc)
    out = c.emit.value(rows.region.memory.dtype, rows.held)
    c.emit.emit(ins.Gather(out, rows.region, chosen, rows.axis, loc=c.emit.loc))
    return c.emit.reshape(out, rows.shape)


@function
def scatter(c: Context, region: Argument, ids: Argument, x: Argument, axis: Argument) -> Item:
    """The inverse of gather; ids out of range are dropped."""
    chosen, item = _ids(ids), x.item()
    rows = _rows(region, axis, chosen)
    memory = rows.region.memory
    check_writable(memory, region.loc)
    if isinstance(item, Value):
        check_same_shape(item.type.shape, rows.shape, x.loc)
    tile = c.emit.reshape(splat(c.emit, item, memory.dtype, rows.shape, x.loc), rows.held)
    c.emit.emit(ins.Scatter(rows.region, chosen, tile, rows.axis, loc=c.emit.loc))
    return None
