"""Reading and writing memory other than by subscripts."""

from __future__ import annotations

from dslc.checker.arithmetic import as_dtype, splat
from dslc.checker.calls import Argument, function, request_layout
from dslc.checker.context import Context, expect_memory
from dslc.checker.expressions import condition
from dslc.checker.failure import fail
from dslc.checker.functions.scalars import axis_in
from dslc.checker.items import Item, describe
from dslc.checker.parts import on_chip
from dslc.checker.subscript import (
    Access,
    access,
    check_readable,
    check_same_shape,
    check_updatable,
    check_writable,
    read,
    write,
)
from dslc.compiler.dtypes import BOOL, Kind
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.frontend import tree


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
    found = region.elements(wanted)
    check_readable(found.region.memory, region.loc)
    if found.ids:
        _without_masks(found, other, where, layout)
    fill = as_dtype(other.item(), found.region.memory.dtype, other.loc) if other else None
    tile = read(c, found, fill, _mask(c, where, found) if where else None)
    if wanted is None or layout is None:
        return tile
    return request_layout(c, tile, wanted, layout.loc)


@function
def store(c: Context, region: Argument, x: Argument, where: Argument | None = None) -> Item:
    """A tile or a scalar to a region; elements out of bounds, or not in the mask, stay as they are."""
    found = region.elements()
    memory = found.region.memory
    check_writable(memory, region.loc)
    if found.ids:
        _without_masks(found, where)
    c.emit.hint = memory.name
    tile = value_for(c, x.item(), found, x)
    if where is None:
        write(c, found, tile, c.emit.loc or region.loc)
        return None
    mask = _mask(c, where, found)
    held = c.emit.reshape(tile, found.region.shape)
    c.emit.emit(ins.Store(found.region, held, mask, loc=c.emit.loc))
    return None


def _without_masks(found: Access, *given: Argument | None) -> None:
    for argument in given:
        if argument is not None:
            fail(
                "DSL0212",
                f"{argument.name} does not go with tiles of ids",
                argument.loc,
                hint="an id of -1 reads 0 and writes nothing: where(mask, ids, -1)",
            )


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
    """What is written to a region, in the shape of the access: a tile that broadcasts, or a scalar."""
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
    return splat(c.emit, item, dtype, found.shape, x.loc)


# Atomic updates


def atomic_update(
    c: Context,
    op: str,
    found: Access,
    x: Value,
    expected: Value | None = None,
    *,
    old: bool = False,
) -> Item:
    """Update a region, or what ids choose, by values of the access's shape; gives the `old` ones."""
    held = found.taken(c, x)
    wanted = None if expected is None else found.taken(c, expected)
    out = c.emit.value(held.type.dtype, held.type.shape) if old else None
    c.emit.emit(
        ins.AtomicRmw(op, found.region, held, found.ids, found.axes, wanted, out, loc=c.emit.loc)
    )
    if out is None:
        return None
    tile = found.given(c, out)
    return ex.Read(tile) if not tile.type.shape else tile


def _atomic(
    c: Context, op: str, region: Argument, x: Argument, expected: Argument | None = None
) -> Item:
    found = region.elements()
    check_updatable(found.region.memory, region.loc)
    dtype = found.region.memory.dtype
    if op not in ("exchange", "cas") and not (dtype.is_integer or dtype.kind is Kind.FLOAT):
        fail("DSL0202", f"there is no atomic_{op} of {dtype}", region.loc)
    given = [value_for(c, a.item(), found, a) for a in (x, expected) if a is not None]
    return atomic_update(c, op, found, *given, old=True)


@function
def atomic_add(c: Context, region: Argument, x: Argument) -> Item:
    """Add to a region, each element atomically, and give what stood there before."""
    return _atomic(c, "add", region, x)


@function
def atomic_max(c: Context, region: Argument, x: Argument) -> Item:
    """Leave the greater of what stands there and x, and give what stood there before."""
    return _atomic(c, "max", region, x)


@function
def atomic_min(c: Context, region: Argument, x: Argument) -> Item:
    """Leave the less of what stands there and x, and give what stood there before."""
    return _atomic(c, "min", region, x)


@function
def atomic_exchange(c: Context, region: Argument, x: Argument) -> Item:
    """Write x, and give what stood there before."""
    return _atomic(c, "exchange", region, x)


@function
def atomic_cas(c: Context, region: Argument, expected: Argument, x: Argument) -> Item:
    """Write x where the element has the bits of `expected`, and give what stood there before."""
    return _atomic(c, "cas", region, x, expected)


ATOMIC = frozenset(f"atomic_{op}" for op in ins.ATOMIC_OPS)


# Elements by index


def _ids(ids: Argument) -> Value:
    tile = ids.tile()
    if not tile.type.dtype.is_integer:
        fail("DSL0202", f"ids are integers, not {describe(tile)}", ids.loc)
    return tile


def _rows(region: Argument, axis: Argument, ids: Value) -> Access:
    node = region.node
    target = getattr(node, "value", node)
    memory = expect_memory(Argument(region.c, target, region.name).item(), region.loc)
    return region.region(gathered=(axis_in(axis, memory.rank), ids))


@function
def gather(c: Context, region: Argument, ids: Argument, axis: Argument) -> Item:
    """Rows by index; ids out of range read 0."""
    chosen = _ids(ids)
    if isinstance(region.node, tree.Name) and isinstance(x := region.item(), Value):
        memory, at = on_chip(c, x), axis_in(axis, x.type.rank)
        found = access(c, memory, region.node, c.evaluate_index, gathered=(at, chosen))
    else:
        found = _rows(region, axis, chosen)
    check_readable(found.region.memory, region.loc)
    return read(c, found)


@function
def scatter(c: Context, region: Argument, ids: Argument, x: Argument, axis: Argument) -> Item:
    """The inverse of gather; ids out of range are dropped."""
    chosen, item = _ids(ids), x.item()
    rows = _rows(region, axis, chosen)
    check_writable(rows.region.memory, region.loc)
    write(c, rows, value_for(c, item, rows, x), c.emit.loc or region.loc)
    return None
