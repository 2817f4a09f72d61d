"""Elementwise functions."""

from __future__ import annotations

from dslc.checker import arithmetic, expressions
from dslc.checker.calls import FUNCTIONS, Argument, function
from dslc.checker.context import Context
from dslc.checker.failure import fail
from dslc.checker.items import Item, describe, is_scalar
from dslc.compiler.dtypes import BOOL, Kind
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins


def _unary(op: str) -> None:
    def handler(c: Context, x: Argument) -> Item:
        return arithmetic.unary(c.emit, op, x.item(), x.loc)

    FUNCTIONS[op] = handler


for _name in (
    "abs", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "erf",
    "floor", "ceil", "round",
):  # fmt: skip
    _unary(_name)


@function
def minimum(c: Context, x: Argument, y: Argument) -> Item:
    """The smaller of two, per element."""
    return arithmetic.binary(c.emit, "min", x.item(), y.item(), x.loc)


@function
def maximum(c: Context, x: Argument, y: Argument) -> Item:
    """The greater of two, per element."""
    return arithmetic.binary(c.emit, "max", x.item(), y.item(), x.loc)


@function
def clamp(c: Context, x: Argument, lo: Argument, hi: Argument) -> Item:
    """At least lo and at most hi, per element."""
    low = arithmetic.binary(c.emit, "max", x.item(), lo.item(), x.loc)
    return arithmetic.binary(c.emit, "min", low, hi.item(), x.loc)


@function
def fma(c: Context, x: Argument, y: Argument, z: Argument) -> Item:
    """x * y + z, rounded once."""
    items = (x.item(), y.item(), z.item())
    if not any(isinstance(i, Value) for i in items):
        product = arithmetic.binary(c.emit, "mul", items[0], items[1], x.loc)
        return arithmetic.binary(c.emit, "add", product, items[2], x.loc)
    (a, b, d), dtype = arithmetic.elementwise(c.emit, items, x.loc, "add")
    if not dtype.is_float:
        fail("DSL0214", f"fma needs floats, not {dtype}", x.loc, hint="write x * y + z")
    out = c.emit.value(dtype, a.type.shape, a.type.layout or b.type.layout or d.type.layout)
    c.emit.emit(ins.Fma(out, a, b, d, loc=c.emit.loc))
    return out


@function
def where(c: Context, cond: Argument, x: Argument, y: Argument) -> Item:
    """x where cond holds, else y, per element."""
    truth = cond.item()
    items = (x.item(), y.item())
    if not isinstance(truth, Value):
        truth_value = expressions.condition(c, truth, cond.loc)
        if not any(isinstance(i, Value) for i in items):
            if isinstance(truth_value, bool):
                return items[0] if truth_value else items[1]
            return expressions.select(truth_value, *items, x.loc)
        truth = c.emit.full(arithmetic.as_expr(truth_value, cond.loc), ())
    if truth.type.dtype.kind is not Kind.BOOL:
        fail(
            "DSL0202",
            f"where chooses by a bool, not {describe(truth)}",
            cond.loc,
            hint="write a comparison: x != 0",
        )
    for item in items:
        if not isinstance(item, Value) and not is_scalar(item):
            fail("DSL0214", f"where does not work on {describe(item)}", x.loc)
    dtype = arithmetic.common_dtype(items, x.loc)
    shape = truth.type.shape
    for item in items:
        if isinstance(item, Value):
            shape = arithmetic.broadcast_shapes(shape, item.type.shape, x.loc)
    tiles = [arithmetic.splat(c.emit, i, dtype, shape, x.loc) for i in items]
    condition = arithmetic.splat(c.emit, truth, BOOL, shape, cond.loc)
    layout = tiles[0].type.layout or tiles[1].type.layout
    out = c.emit.value(dtype, shape, layout)
    c.emit.emit(ins.Where(out, condition, tiles[0], tiles[1], loc=c.emit.loc))
    return out


@function
def select(c: Context, cond: Argument, x: Argument, y: Argument) -> Item:
    """One of two scalars."""
    truth_value = expressions.condition(c, cond.item(), cond.loc)
    items = (x.item(), y.item())
    if isinstance(truth_value, bool):
        return items[0] if truth_value else items[1]
    return expressions.select(truth_value, *items, x.loc)
