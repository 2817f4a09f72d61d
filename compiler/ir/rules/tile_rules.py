"""What each instruction over tiles asks of its operands: shapes, dtypes and attributes.

A rule gives the first that is broken. Those of memory are in `memory_rules`, loops,
branches and names are checked by `dslc.compiler.ir.verify`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

from dslc.compiler.dtypes import BOOL, F16, F32, F64, I32, DType, Kind
from dslc.compiler.dtypes.dtype import BF16, E8M0, MX_BLOCK
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import ARITHMETIC_OPS, COMPARE_OPS, UNARY_OPS
from dslc.compiler.ir.values import TileType, Value

Fail: TypeAlias = tuple[str, str]  # a code and what is wrong

COMPUTING_FLOATS = (F16, BF16, F32, F64)
INTEGER_OPS = ("and", "or", "xor", "shl", "shr", "invert")
FLOAT_OPS = (
    "div", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "erf",
)  # fmt: skip
BOOL_OPS = ("and", "or", "xor", "not", "invert")


def operation_dtype(op: str, dtype: DType) -> Fail | None:
    """Whether `op` computes on the dtype: the rule of tiles and of scalars."""
    if dtype == BOOL:
        known = op in BOOL_OPS or op in COMPARE_OPS
        return None if known else ("DSL0413", f"{op} has no meaning on bool")
    if op == "not":
        return "DSL0413", f"not is for bool, here it is on {dtype}"
    if dtype.is_float and op in INTEGER_OPS:
        return "DSL0413", f"{op} is for integers, here it is on {dtype}"
    if dtype.is_integer and op in FLOAT_OPS:
        return "DSL0413", f"{op} is for floats, here it is on {dtype}"
    return computes(dtype)


def computes(dtype: DType) -> Fail | None:
    """Whether there is arithmetic on the dtype."""
    if dtype.is_float and dtype not in COMPUTING_FLOATS:
        return "DSL0413", f"there is no arithmetic on {dtype}: cast to f16 or f32 first"
    return None


# Elementwise


def same(out: Value, *operands: Value, dtype: bool = True) -> Fail | None:
    """Whether operands and result have one shape, and one dtype if asked."""
    for x in operands:
        if x.type.shape != out.type.shape:
            shapes = f"operands of shape {shape_of(x)} give a result of shape {shape_of(out)}"
            return "DSL0412", shapes
        if dtype and x.type.dtype != out.type.dtype:
            return "DSL0413", f"{x.type.dtype} does not go with {out.type.dtype}"
    return None


def _full(stmt: ins.Full) -> Fail | None:
    if stmt.value.dtype != stmt.out.type.dtype:
        return "DSL0413", f"the value is {stmt.value.dtype}, the tile {stmt.out.type.dtype}"
    return None


def _arange(stmt: ins.Arange) -> Fail | None:
    if stmt.out.type.rank != 1:
        return "DSL0412", "arange has one axis"
    if stmt.out.type.dtype != I32:
        return "DSL0413", f"arange is of i32, not {stmt.out.type.dtype}"
    return None


def _unary(stmt: ins.Unary) -> Fail | None:
    if stmt.op not in UNARY_OPS:
        return "DSL0416", f"{stmt.op!r} is no operation on one tile"
    return operation_dtype(stmt.op, stmt.x.type.dtype) or same(stmt.out, stmt.x)


def _binary(stmt: ins.Binary) -> Fail | None:
    x, y, out = stmt.x, stmt.y, stmt.out
    if stmt.op not in ARITHMETIC_OPS + COMPARE_OPS:
        return "DSL0416", f"{stmt.op!r} is no operation on two tiles"
    if stmt.op not in COMPARE_OPS:
        return operation_dtype(stmt.op, x.type.dtype) or same(out, x, y)
    if out.type.dtype != BOOL:
        return "DSL0413", f"a comparison gives bool, not {out.type.dtype}"
    return operation_dtype(stmt.op, x.type.dtype) or same(x, y) or same(out, x, dtype=False)


def _fma(stmt: ins.Fma) -> Fail | None:
    return operation_dtype("mul", stmt.out.type.dtype) or same(stmt.out, stmt.x, stmt.y, stmt.z)


def _fused(stmt: ins.Fused) -> Fail | None:
    steps = stmt.steps.split()
    for step in steps:
        if step not in (*ins.FUSED_OPS, *UNARY_OPS, "square", "silu"):
            return "DSL0416", f"{step!r} is no step"
    if len(stmt.xs) != 1 + sum(step in ins.FUSED_OPS for step in steps):
        return "DSL0412", f"{stmt.steps!r} does not take {len(stmt.xs)} tiles"
    for tile in (stmt.out, *stmt.xs):
        if (fail := operation_dtype("exp", tile.type.dtype)) is not None:
            return fail
    return same(stmt.out, *stmt.xs, dtype=False)


def _where(stmt: ins.Where) -> Fail | None:
    if stmt.condition.type.dtype != BOOL:
        return "DSL0413", f"the condition is {stmt.condition.type.dtype}, not bool"
    return same(stmt.out, stmt.condition, dtype=False) or same(stmt.out, stmt.x, stmt.y)


def _cast(stmt: ins.Cast) -> Fail | None:
    return same(stmt.out, stmt.x, dtype=False)


def _view(stmt: ins.View) -> Fail | None:
    a, b = stmt.x.type, stmt.out.type
    if a.layout is None and b.layout is None and (a.shape, a.dtype.bits) == (b.shape, b.dtype.bits):
        return None
    if a.layout is None or b.layout is None:
        return "DSL0414", "both sides of a view need a layout, unless elements have as many bits"
    bits_a, bits_b = a.layout.locals * a.dtype.bits, b.layout.locals * b.dtype.bits
    if (a.layout.threads, bits_a) != (b.layout.threads, bits_b):
        return "DSL0414", (
            f"{bits_a} bits on each of {a.layout.threads} threads are viewed as "
            f"{bits_b} bits on each of {b.layout.threads}"
        )
    return None


def _convert_layout(stmt: ins.ConvertLayout) -> Fail | None:
    return same(stmt.out, stmt.x)


# Reductions


def _axis(x: Value, axis: int) -> Fail | None:
    if 0 <= axis < x.type.rank:
        return None
    return "DSL0416", f"axis {axis} is none of the {x.type.rank} axes of {shape_of(x)}"


def _shape_is(out: Value, shape: tuple[int, ...]) -> Fail | None:
    if out.type.shape == shape:
        return None
    return "DSL0412", f"the result has shape {shape_of(out)}, but {list(shape)} comes out"


def _dtype_is(out: Value, dtype: DType) -> Fail | None:
    if out.type.dtype == dtype:
        return None
    return "DSL0413", f"the result is {out.type.dtype}, but {dtype} comes out"


def _reduce(stmt: ins.Reduce) -> Fail | None:
    if stmt.op not in ("sum", "max", "min", "any", "all", "argmax", "argmin", *ins.MOMENTS):
        return "DSL0416", f"{stmt.op!r} is no reduction"
    x, dtype = stmt.x, stmt.x.type.dtype
    if failed := _axis(x, stmt.axis):
        return failed
    if (stmt.op in ("any", "all")) != (dtype == BOOL):
        return "DSL0413", f"{stmt.op} does not reduce {dtype}"
    shape = list(x.type.shape)
    shape[stmt.axis : stmt.axis + 1] = [1] if stmt.keepdims else []
    if stmt.op in ins.MOMENTS and (fail := operation_dtype("exp", dtype)) is not None:
        return fail
    of = I32 if stmt.op.startswith("arg") else F32 if stmt.op in ins.MOMENTS else dtype
    return computes(dtype) or _shape_is(stmt.out, tuple(shape)) or _dtype_is(stmt.out, of)


def _scan(stmt: ins.Scan) -> Fail | None:
    if stmt.op != "sum":
        return "DSL0416", f"{stmt.op!r} is no scan"
    dtype = stmt.x.type.dtype
    return _axis(stmt.x, stmt.axis) or operation_dtype("add", dtype) or same(stmt.out, stmt.x)


# Shape


def _transpose(stmt: ins.Transpose) -> Fail | None:
    x = stmt.x.type
    if sorted(stmt.axes) != list(range(x.rank)):
        return "DSL0416", f"{list(stmt.axes)} does not name each of {x.rank} axes once"
    shape = tuple(x.shape[a] for a in stmt.axes)
    return _shape_is(stmt.out, shape) or _dtype_is(stmt.out, x.dtype)


def _reshape(stmt: ins.Reshape) -> Fail | None:
    if math.prod(stmt.x.type.shape) != math.prod(stmt.out.type.shape):
        shapes = f"{shape_of(stmt.x)} and {shape_of(stmt.out)}"
        return "DSL0412", f"{shapes} have other numbers of elements"
    return _dtype_is(stmt.out, stmt.x.type.dtype)


def _broadcast(stmt: ins.Broadcast) -> Fail | None:
    small, large = stmt.x.type.shape, stmt.out.type.shape
    tail = large[len(large) - len(small) :]
    fits = all(a in (1, b) for a, b in zip(small, tail, strict=False))
    if len(small) > len(large) or not fits:
        return "DSL0412", f"{list(small)} does not broadcast to {list(large)}"
    return _dtype_is(stmt.out, stmt.x.type.dtype)


def _repeat(stmt: ins.Repeat) -> Fail | None:
    if failed := _axis(stmt.x, stmt.axis):
        return failed
    if stmt.times < 1:
        return "DSL0416", f"{stmt.times} times is below 1"
    shape = list(stmt.x.type.shape)
    shape[stmt.axis] *= stmt.times
    return _shape_is(stmt.out, tuple(shape)) or _dtype_is(stmt.out, stmt.x.type.dtype)


def _concat(stmt: ins.Concat) -> Fail | None:
    if not stmt.xs:
        return "DSL0416", "there is nothing to concatenate"
    first = stmt.xs[0]
    if failed := _axis(first, stmt.axis):
        return failed
    shape = list(first.type.shape)
    shape[stmt.axis] = 0
    for x in stmt.xs:
        if x.type.rank != first.type.rank:
            return "DSL0412", f"{shape_of(x)} does not concatenate with {shape_of(first)}"
        wanted = list(shape)
        shape[stmt.axis] += x.type.shape[stmt.axis]
        wanted[stmt.axis] = x.type.shape[stmt.axis]
        if list(x.type.shape) != wanted:
            return "DSL0412", f"{shape_of(x)} does not concatenate with {shape_of(first)}"
        if failed := _dtype_is(stmt.out, x.type.dtype):
            return failed
    return _shape_is(stmt.out, tuple(shape))


def _extract(stmt: ins.Extract) -> Fail | None:
    x = stmt.x.type
    if not len(stmt.starts) == len(stmt.steps) == x.rank:
        return "DSL0416", f"starts and steps must be given for {x.rank} axes"
    if not set(stmt.dropped) <= set(range(x.rank)):
        return "DSL0416", f"dropped axes {list(stmt.dropped)} are not all axes of {list(x.shape)}"
    if len(stmt.out.type.shape) != x.rank - len(set(stmt.dropped)):
        return "DSL0412", f"the result has shape {shape_of(stmt.out)}"
    sizes = iter(stmt.out.type.shape)
    for axis, (start, step) in enumerate(zip(stmt.starts, stmt.steps, strict=True)):
        last = start + ((1 if axis in stmt.dropped else next(sizes)) - 1) * step
        if step < 1 or not 0 <= start <= last < x.shape[axis]:
            return "DSL0416", f"the slice of axis {axis} leaves {list(x.shape)}"
    return _dtype_is(stmt.out, x.dtype)


def _dot(stmt: ins.Dot) -> Fail | None:
    a, b = stmt.a.type, stmt.b.type
    if a.rank < 2 or a.rank != b.rank or a.shape[-1] != b.shape[-2] or a.shape[:-2] != b.shape[:-2]:
        return "DSL0412", f"{shape_of(stmt.a)} does not multiply {shape_of(stmt.b)}"
    result = dot_dtype(a.dtype, b.dtype)
    if result is None:
        return "DSL0413", f"dot takes no {a.dtype} with {b.dtype}"
    failed = _shape_is(stmt.out, (*a.shape[:-1], b.shape[-1])) or _dtype_is(stmt.out, result)
    for scale, x, axis in ((stmt.scale_a, a, a.rank - 1), (stmt.scale_b, b, b.rank - 2)):
        if scale is not None and failed is None:
            failed = _scales(scale, x, axis)
    return failed or (same(stmt.out, stmt.acc) if stmt.acc else None)


def _scales(scale: Value, x: TileType, axis: int) -> Fail | None:
    """Whether there is a scale for each block along k of an operand."""
    if x.shape[axis] % MX_BLOCK or not x.dtype.is_float:
        return "DSL0412", f"blocks of {MX_BLOCK} elements have scales, k is {x.shape[axis]}"
    blocks = tuple(n // MX_BLOCK if d == axis else n for d, n in enumerate(x.shape))
    return _shape_is(scale, blocks) or _dtype_is(scale, E8M0)


def dot_dtype(a: DType, b: DType) -> DType | None:
    """The dtype that the dot of two dtypes gives, None where there is none."""
    if a.kind in (Kind.INT, Kind.UINT) and b.kind in (Kind.INT, Kind.UINT):
        return I32
    if a.kind is not Kind.FLOAT or b.kind is not Kind.FLOAT:
        return None
    if a == b:
        return F64 if a == F64 else F32
    return F32 if a.bits <= 8 and b.bits <= 8 else None


# Scalars


def _assert(stmt: ins.Assert) -> Fail | None:
    if stmt.condition.dtype == BOOL:
        return None
    return "DSL0413", f"a condition is bool, not {stmt.condition.dtype}"


def _let(stmt: ins.Let) -> Fail | None:
    if stmt.var.dtype == stmt.value.dtype:
        return None
    return "DSL0413", f"{stmt.var.name} is {stmt.var.dtype}, its value {stmt.value.dtype}"


def check_tile(type_: TileType) -> Fail | None:
    """The rules of a tile's type: sizes of at least 1, a layout of the tile's shape."""
    if any(n < 1 for n in type_.shape):
        return "DSL0412", f"a tile has sizes of at least 1, not {list(type_.shape)}"
    if type_.layout is not None and type_.layout.shape != type_.shape:
        return "DSL0414", (
            f"the layout {type_.layout} has shape {list(type_.layout.shape)}, "
            f"the tile {list(type_.shape)}"
        )
    return None


def shape_of(tile: Value) -> list[int]:
    """The shape of a tile as messages write it."""
    return list(tile.type.shape)


TILE_RULES: dict[type, Callable[..., Fail | None]] = {
    ins.Full: _full,
    ins.Arange: _arange,
    ins.Unary: _unary,
    ins.Binary: _binary,
    ins.Fma: _fma,
    ins.Fused: _fused,
    ins.Where: _where,
    ins.Cast: _cast,
    ins.View: _view,
    ins.ConvertLayout: _convert_layout,
    ins.Reduce: _reduce,
    ins.Scan: _scan,
    ins.Transpose: _transpose,
    ins.Reshape: _reshape,
    ins.Broadcast: _broadcast,
    ins.Repeat: _repeat,
    ins.Concat: _concat,
    ins.Extract: _extract,
    ins.Dot: _dot,
    ins.Assert: _assert,
    ins.Let: _let,
}
