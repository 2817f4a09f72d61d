"""Scalar expressions in registers of their dtypes.

Expressions are pure: each is computed once, ahead of the outermost loop in which nothing that it reads
changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dslc.codegen.chunks.at import At
from dslc.compiler.dtypes import BOOL, DType
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.vector.building import constant
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.values import Operand

if TYPE_CHECKING:
    from dslc.codegen.cpu.emission import Emission

_OF_BOOLS = {"min": "and", "max": "or", "ne": "xor", "mul": "and", "add": "or"}


def scalar(e: Emission, expr: ex.Expr) -> Operand:
    """The value of a scalar expression."""
    expr = simplify(expr)
    if isinstance(expr, ex.Const):
        return constant(expr.value, VectorType(expr.dtype))
    if isinstance(expr, ex.Var):
        return e.vars[expr].value
    key = ("expr", expr)
    known = e.recall(key)
    if known is not None:
        return known
    with e.ahead_of(e.level_of(expr)):
        return e.remember(key, _compute(e, expr))


def _compute(e: Emission, expr: ex.Expr) -> Operand:
    match expr:
        case ex.Read(value):
            return e.pull(value, At((), ((),)))
        case ex.Select(c, x, y):
            return e.b.select(scalar(e, c), scalar(e, x), scalar(e, y))
        case ex.Convert(x, dtype, saturate):
            return e.b.convert(scalar(e, x), dtype, saturate=saturate)
        case ex.Unary(op, x):
            return unary(e, op, scalar(e, x), x.dtype)
        case ex.Binary(op, x, y):
            return binary(e, op, scalar(e, x), scalar(e, y), x.dtype)
        case _:
            raise AssertionError(expr)


def unary(e: Emission, op: str, x: Operand, dtype: DType) -> Operand:
    """`op(x)` for x of the dtype, a scalar or a vector."""
    if dtype.is_integer and op in ("floor", "ceil", "round"):
        return x
    if dtype == BOOL:
        return e.b.unary("not", x)
    return e.b.unary(op, x)


def binary(e: Emission, op: str, x: Operand, y: Operand, dtype: DType) -> Operand:
    """`op(x, y)` for operands of the dtype, scalars or vectors; false is less than true."""
    b = e.b
    if dtype != BOOL:
        return b.binary(op, x, y)
    match op:
        case "eq":
            return b.unary("not", b.binary("xor", x, y))
        case "lt" | "gt":
            low, high = (x, y) if op == "lt" else (y, x)
            return b.binary("and", b.unary("not", low), high)
        case "le" | "ge":
            low, high = (x, y) if op == "le" else (y, x)
            return b.binary("or", b.unary("not", low), high)
        case _:
            return b.binary(_OF_BOOLS.get(op, op), x, y)
