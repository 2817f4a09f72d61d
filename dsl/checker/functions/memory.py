"""Reading and writing memory other than by subscripts."""

from __future__ import annotations

from dslc.checker.arithmetic import as_dtype, splat
from dslc.checker.calls import Argument, function, request_layout
from dslc.checker.context import Context, expect_memory
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
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins


@function
def load(
    c: Context, region: Argument, other: Argument | None = None, layout: Argument | None = None
) -> Item:
    """A region of a tensor; what is out of bounds reads `other`."""
    wanted = layout.layout() if layout else None
    found = region.region(wanted)
    check_readable(found.region.memory, region.loc)
    fill = as_dtype(other.item(), found.region.memory.dtype, other.loc) if other else None
    tile = read(c, found, fill)
    if wanted is None or layout is None:
        return tile
    return request_layout(c, tile, wanted, layout.loc)


def value_for(c: Context, item: Item, found: Access, x: Argument) -> Value:
    """What is written to a region: a tile that broadcasts to it, or a scalar."""
    dtype = found.region.memory.dtype
    if isinstance(item, Value):
        if item.type.dtype != dtype:
            fail("DSL0202", f"{describe(item)} is written to {dtype}", x.loc,
                 hint=f"write cast(..., {dtype})")  # fmt: skip
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


def _gathered(region: Argument, axis: Argument) -> tuple[Access, int]:
    node = region.node
    target = getattr(node, "value", node)
    memory = expect_memory(Argument(region.c, target, region.name).item(), region.loc)
    at = axis_in(axis, memory.rank)
    found = region.region(gathered=at)
    if found.new_axes or any(a.dropped for a in found.region.axes[:at]):
        fail("DSL0212", "an axis before the gathered one cannot be dropped or added", region.loc)
    return found, at


@function
def gather(c: Context, region: Argument, ids: Argument, axis: Argument) -> Item:
    """Rows by index; ids out of range read 0."""
    found, at = _gathered(region, axis)
    check_readable(found.region.memory, region.loc)
    chosen = _ids(ids)
    sizes = found.region.shape
    shape = (*sizes[:at], *chosen.type.shape, *sizes[at + 1 :])
    out = c.emit.value(found.region.memory.dtype, shape)
    c.emit.emit(ins.Gather(out, found.region, chosen, at, loc=c.emit.loc))
    return out


@function
def scatter(c: Context, region: Argument, ids: Argument, x: Argument, axis: Argument) -> Item:
    """The inverse of gather; ids out of range are dropped."""
    found, at = _gathered(region, axis)
    memory = found.region.memory
    check_writable(memory, region.loc)
    chosen, item = _ids(ids), x.item()
    sizes = found.region.shape
    shape = (*sizes[:at], *chosen.type.shape, *sizes[at + 1 :])
    if isinstance(item, Value):
        check_same_shape(item.type.shape, shape, x.loc)
    tile = splat(c.emit, item, memory.dtype, shape, x.loc)
    c.emit.emit(ins.Scatter(found.region, chosen, tile, at, loc=c.emit.loc))
    return None
