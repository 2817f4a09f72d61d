"""Shapes: transposing, reshaping, stretching, joining."""

from __future__ import annotations

import math

from dslc.checker.arithmetic import as_expr, broadcast_shapes
from dslc.checker.calls import Argument, function
from dslc.checker.context import Context
from dslc.checker.failure import fail
from dslc.checker.functions.scalars import axis_in
from dslc.checker.items import Item, describe, is_scalar, shape_text
from dslc.compiler.ir import Memory, Value
from dslc.compiler.ir import instructions as ins


@function
def transpose(c: Context, x: Argument, axes: Argument | None = None) -> Item:
    """The last two axes swapped, or axes in the order given; of a program's tensor a view."""
    item = x.item() if c.views is not None else None
    if c.views is not None and isinstance(item, Memory):
        return c.views.transposed(item, _order(item.rank, describe(item), x, axes), x.loc)
    tile = x.tile()
    return c.emit.transpose(tile, _order(tile.type.rank, describe(tile), x, axes))


def _order(rank: int, what: str, x: Argument, axes: Argument | None) -> tuple[int, ...]:
    """Which axis of what is transposed each axis of the result is."""
    if axes is None:
        if rank < 2:
            fail("DSL0226", f"transpose needs two axes, not {what}", x.loc)
        return (*range(rank - 2), rank - 1, rank - 2)
    order = tuple(a % rank if -rank <= a < rank else a for a in axes.integers())
    if sorted(order) != list(range(rank)):
        fail("DSL0226", f"{list(order)} is no order of {rank} axes", axes.loc)
    return order


@function
def reshape(c: Context, x: Argument, shape: Argument) -> Item:
    """The same elements in row-major order in another shape; of a program's tensor a view.

    One extent may be -1.
    """
    item = x.item() if c.views is not None else None
    if c.views is not None and isinstance(item, Memory):
        wanted = shape.item()
        return c.views.reshaped(item, wanted if isinstance(wanted, tuple) else (wanted,), x.loc)
    tile = x.tile()
    sizes = list(shape.integers())
    total = math.prod(tile.type.shape)
    if sizes.count(-1) == 1:
        rest = -math.prod(sizes)
        if rest > 0 and total % rest == 0:
            sizes[sizes.index(-1)] = total // rest
    if any(s < 1 for s in sizes) or math.prod(sizes) != total:
        fail(
            "DSL0203",
            f"{shape_text(tile.type.shape)} cannot be reshaped to {sizes}: it has {total} elements",
            shape.loc,
            hint=f"the product of the sizes is {total}; one of them may be -1",
        )
    return c.emit.reshape(tile, tuple(sizes))


@function
def broadcast(c: Context, x: Argument, shape: Argument) -> Item:
    """Stretched to a shape as NumPy does."""
    item, wanted = x.item(), shape.shape()
    if not isinstance(item, Value):
        if not is_scalar(item):
            fail("DSL0214", f"broadcast does not work on {describe(item)}", x.loc)
        return c.emit.full(as_expr(item, x.loc), wanted)
    if broadcast_shapes(item.type.shape, wanted, x.loc) != wanted:
        fail(
            "DSL0203",
            f"{shape_text(item.type.shape)} does not stretch to {shape_text(wanted)}",
            shape.loc,
        )
    return c.emit.broadcast(item, wanted)


@function
def repeat(c: Context, x: Argument, n: Argument, axis: Argument) -> Item:
    """Each element n times along an axis."""
    tile, times = x.tile(), n.integer()
    if times < 1:
        fail("DSL0204", f"n is at least 1, not {times}", n.loc)
    at = axis_in(axis, tile.type.rank)
    if times == 1:
        return tile
    shape = list(tile.type.shape)
    shape[at] *= times
    out = c.emit.value(tile.type.dtype, tuple(shape))
    c.emit.emit(ins.Repeat(out, tile, times, at, loc=c.emit.loc))
    return out


@function
def concat(c: Context, xs: Argument, axis: Argument) -> Item:
    """Tiles one after another along an axis."""
    items = xs.item()
    if not isinstance(items, tuple) or not items or not all(isinstance(i, Value) for i in items):
        fail("DSL0219", "concat takes a list of tiles", xs.loc, hint="concat([a, b], 0)")
    tiles = [i for i in items if isinstance(i, Value)]
    first = tiles[0].type
    at = axis_in(axis, first.rank)
    total = 0
    for tile in tiles:
        if tile.type.dtype != first.dtype:
            fail(
                "DSL0202",
                f"concat of {first.dtype} and {tile.type.dtype}",
                xs.loc,
                hint=f"write cast(..., {first.dtype})",
            )
        others = [s for k, s in enumerate(tile.type.shape) if k != at]
        if tile.type.rank != first.rank or others != [
            s for k, s in enumerate(first.shape) if k != at
        ]:
            fail(
                "DSL0203",
                f"concat of {shape_text(first.shape)} and {shape_text(tile.type.shape)} "
                f"along axis {at}",
                xs.loc,
            )
        total += tile.type.shape[at]
    if len(tiles) == 1:
        return tiles[0]
    shape = (*first.shape[:at], total, *first.shape[at + 1 :])
    out = c.emit.value(first.dtype, shape)
    c.emit.emit(ins.Concat(out, tuple(tiles), at, loc=c.emit.loc))
    return out
