"""Making tiles, and changing their dtype."""

from __future__ import annotations

from dslc.checker import arithmetic
from dslc.checker.arithmetic import as_dtype
from dslc.checker.calls import Argument, function
from dslc.checker.context import Context
from dslc.checker.failure import fail
from dslc.checker.items import Item, describe, is_scalar
from dslc.compiler.dtypes import I32, Kind
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins


@function
def zeros(c: Context, dtype: Argument, shape: Argument) -> Item:
    """A tile of zeros."""
    element = dtype.dtype()
    zero = False if element.kind is Kind.BOOL else 0
    return c.emit.full(arithmetic.constant(zero, element, dtype.loc), shape.shape())


@function
def full(c: Context, dtype: Argument, shape: Argument, value: Argument) -> Item:
    """A tile of one scalar."""
    scalar = as_dtype(value.item(), dtype.dtype(), value.loc)
    return c.emit.full(scalar, shape.shape())


@function
def arange(c: Context, n: Argument) -> Item:
    """0, 1, ..., n - 1 as i32."""
    size = n.integer()
    if size < 1:
        fail("DSL0204", f"a tile's extent is at least 1, not {size}", n.loc)
    out = c.emit.value(I32, (size,))
    c.emit.emit(ins.Arange(out, loc=c.emit.loc))
    return out


@function
def cast(c: Context, x: Argument, dtype: Argument, saturate: Argument | None = None) -> Item:
    """Another dtype."""
    item, target = x.item(), dtype.dtype()
    clamp = saturate.boolean() if saturate else False
    if isinstance(item, Value):
        return c.emit.cast(item, target, clamp)
    if not is_scalar(item):
        fail("DSL0214", f"cast does not work on {describe(item)}", x.loc)
    scalar = arithmetic.as_expr(item, x.loc)
    return scalar if scalar.dtype == target else ex.Convert(scalar, target, clamp)


@function
def view(c: Context, x: Argument, dtype: Argument, layout: Argument) -> Item:
    """The same bits per thread as another dtype and layout."""
    tile, target, wanted = x.tile(), dtype.dtype(), layout.layout()
    have = tile.type.layout
    if have is None:
        fail(
            "DSL0231",
            "the layout of this tile is not given, so its bits cannot be viewed",
            x.loc,
            hint="load it with layout=...",
        )
    before = have.locals * tile.type.dtype.bits
    after = wanted.locals * target.bits
    if have.threads != wanted.threads or before != after:
        fail(
            "DSL0231",
            f"the tile has {before} bits on each of {have.threads} threads, the view "
            f"{after} bits on each of {wanted.threads}",
            c.emit.loc or x.loc,
        )
    out = c.emit.value(target, wanted.shape, wanted)
    c.emit.emit(ins.View(out, tile, loc=c.emit.loc))
    return out
