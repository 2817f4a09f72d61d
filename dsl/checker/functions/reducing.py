"""Reductions, scans and dot products."""

from __future__ import annotations

import math

from dslc.checker import arithmetic
from dslc.checker.calls import FUNCTIONS, Argument, Known, function
from dslc.checker.context import Context
from dslc.checker.failure import fail
from dslc.checker.functions.scalars import axis_in
from dslc.checker.items import Item, describe, is_scalar, shape_text
from dslc.compiler.dtypes import BOOL, F32, I32, DType, Kind
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins

_ARITHMETIC = ("f16", "bf16", "f32", "f64")


def _scalar(x: Value) -> Item:
    return ex.Read(x) if not x.type.shape else x


def check(op: str, dtype: DType, x: Argument) -> None:
    """Refuse dtypes that a reduction does not have."""
    if op in ("any", "all"):
        if dtype.kind is not Kind.BOOL:
            fail(
                "DSL0214",
                f"{op} needs bools, not {dtype}",
                x.loc,
                hint="write a comparison: x != 0",
            )
    elif dtype.kind is Kind.BOOL or (dtype.is_float and dtype.name not in _ARITHMETIC):
        fail(
            "DSL0214",
            f"{op} does not work on {dtype}",
            x.loc,
            hint=f"write cast(x, {'i32' if dtype is BOOL else 'f32'}) first",
        )


def flat(c: Context, tile: Value, keep: bool, op: str, x: Argument) -> Value:
    """All elements along one axis, for a reduction of everything."""
    if keep:
        fail("DSL0205", f"{op} with keepdims needs an axis", x.loc)
    return c.emit.reshape(tile, (math.prod(tile.type.shape),))


def reduce(
    c: Context, op: str, x: Argument, axis: Argument | None, keepdims: Argument | None
) -> Item:
    """A reduction over one axis, or over everything where there is no axis."""
    tile = x.tile()
    check(op, tile.type.dtype, x)
    keep = keepdims.boolean() if keepdims else False
    if axis is None:
        tile, number = flat(c, tile, keep, op, x), 0
    else:
        number = axis_in(axis, tile.type.rank)
    shape = list(tile.type.shape)
    shape[number : number + 1] = [1] if keep else []
    dtype = I32 if op.startswith("arg") else tile.type.dtype
    out = c.emit.value(dtype, tuple(shape))
    c.emit.emit(ins.Reduce(out, op, tile, number, keep, loc=c.emit.loc))
    return _scalar(out)


def _reduction(op: str) -> None:
    def handler(
        c: Context, x: Argument, axis: Argument | None = None, keepdims: Argument | None = None
    ) -> Item:
        return reduce(c, op, x, axis, keepdims)

    FUNCTIONS[op] = handler


for _name in ("sum", "any", "all", "argmax", "argmin"):
    _reduction(_name)


def _extreme(
    c: Context, op: str, x: Argument, y: Argument | None, rest: dict[str, Argument | None]
) -> Item:
    """max and min: of two scalars, or over an axis of a tile."""
    axis = rest.get("axis") or y
    first = x.item() if axis is y and y is not None else None
    if first is not None and not isinstance(first, Value):
        if not is_scalar(first):
            fail("DSL0214", f"{op} does not work on {describe(first)}", x.loc)
        assert y is not None
        second = y.item()
        if isinstance(second, Value):
            fail("DSL0210", f"{op} of a scalar and a tile", y.loc, hint=f"write {op}imum(x, y)")
        return arithmetic.binary(c.emit, op, first, second, x.loc)
    if isinstance(first, Value):
        x = Known(c, x.node, x.name, first)
        if isinstance(y.item() if y else None, Value):
            fail("DSL0210", f"{op} reduces over an axis", x.loc, hint=f"write {op}imum(x, y)")
    return reduce(c, op, x, axis, rest.get("keepdims"))


@function
def max_(
    c: Context,
    x: Argument,
    y: Argument | None = None,
    axis: Argument | None = None,
    keepdims: Argument | None = None,
) -> Item:
    """The greatest over an axis, or of two scalars."""
    return _extreme(c, "max", x, y, {"axis": axis, "keepdims": keepdims})


@function
def min_(
    c: Context,
    x: Argument,
    y: Argument | None = None,
    axis: Argument | None = None,
    keepdims: Argument | None = None,
) -> Item:
    """The least over an axis, or of two scalars."""
    return _extreme(c, "min", x, y, {"axis": axis, "keepdims": keepdims})


@function
def cumsum(c: Context, x: Argument, axis: Argument) -> Item:
    """Inclusive prefix sums along an axis."""
    tile = x.tile()
    check("cumsum", tile.type.dtype, x)
    out = c.emit.value(tile.type.dtype, tile.type.shape)
    c.emit.emit(ins.Scan(out, "sum", tile, axis_in(axis, tile.type.rank), loc=c.emit.loc))
    return out


def dot_dtype(a: DType, b: DType, x: Argument) -> DType:
    """The dtype that a product accumulates in."""
    if a.is_integer and b.is_integer:
        return I32
    small = a.is_float and b.is_float and a.bits <= 8 and b.bits <= 8
    if not (a.is_float and a == b) and not small:
        fail(
            "DSL0202",
            f"dot of {a} and {b}",
            x.loc,
            hint=f"write cast(..., {a if a.is_float else b})",
        )
    return a if a.bits == 64 else F32


@function
def dot(c: Context, a: Argument, b: Argument, transposed: Argument | None = None) -> Item:
    """[.., m, k] x [.., k, n], batched over leading axes."""
    x, y = a.tile(), b.tile()
    swap = transposed.text() if transposed else ""
    if swap not in ("", "a", "b", "ab"):
        fail("DSL0206", 'transposed is "a", "b" or "ab"', transposed.loc if transposed else a.loc)
    for tile, at in ((x, a), (y, b)):
        if tile.type.rank < 2:
            fail(
                "DSL0213",
                f"dot needs two axes or more, not {describe(tile)}",
                at.loc,
                hint="add an axis: x[None, :]",
            )
    if "a" in swap:
        x = c.emit.transpose(x, _swapped(x.type.rank))
    if "b" in swap:
        y = c.emit.transpose(y, _swapped(y.type.rank))
    dtype = dot_dtype(x.type.dtype, y.type.dtype, a)
    (m, k), (k2, n) = x.type.shape[-2:], y.type.shape[-2:]
    if k != k2:
        fail(
            "DSL0213",
            f"dot of {shape_text(x.type.shape)} and {shape_text(y.type.shape)}: "
            f"the inner extents {k} and {k2} differ",
            a.loc,
            hint=_fitting_product(x.type.shape, y.type.shape),
        )
    batch = arithmetic.broadcast_shapes(x.type.shape[:-2], y.type.shape[:-2], a.loc)
    x = c.emit.broadcast(x, (*batch, m, k))
    y = c.emit.broadcast(y, (*batch, k, n))
    out = c.emit.value(dtype, (*batch, m, n))
    c.emit.emit(ins.Dot(out, x, y, loc=c.emit.loc))
    return out


def _swapped(rank: int) -> tuple[int, ...]:
    return (*range(rank - 2), rank - 1, rank - 2)


def _fitting_product(a: tuple[int, ...], b: tuple[int, ...]) -> str:
    """What to write where the inner extents of a product differ."""
    turns = (("b", a[-1], b[-1]), ("a", a[-2], b[-2]), ("ab", a[-2], b[-1]))
    turned = next((word for word, k, k2 in turns if k == k2), None)
    if turned is not None:
        return f'they fit with dot(a, b, transposed="{turned}")'
    return f"it multiplies [m, k] by [k, n]: give b {a[-1]} rows, or a {b[-2]} columns"
