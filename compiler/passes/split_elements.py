"""The numbers that split reductions begin with, and how they are kept between parts."""

from __future__ import annotations

import math

from dslc.compiler.dtypes import I64, INDEX, DType
from dslc.compiler.ir.expr import Binary, Const, Convert, Expr, index


def stored_type(dtype: DType) -> DType:
    """The type in which a scalar is kept in memory."""
    return I64 if dtype == INDEX else dtype


def converted(expr: Expr, dtype: DType) -> Expr:
    """A scalar as another type."""
    return expr if expr.dtype == dtype else Convert(expr, dtype)


def neutral_element(op: str, dtype: DType) -> Const:
    """What an accumulation begins with so that it changes nothing."""
    if op == "add":
        return Const(0.0 if dtype.is_float else 0, dtype)
    if dtype.is_float:
        return Const(math.inf if op == "min" else -math.inf, dtype)
    low, high = dtype.integer_range
    return Const(high if op == "min" else low, dtype)


def add_index(x: Expr, y: Expr) -> Expr:
    """Sum of two indices."""
    return Binary("add", x, y, INDEX)


def sub_index(x: Expr, y: Expr) -> Expr:
    """Difference of two indices."""
    return Binary("sub", x, y, INDEX)


def mul_index(x: Expr, y: Expr) -> Expr:
    """Product of two indices."""
    return Binary("mul", x, y, INDEX)


def div_index(x: Expr, y: int) -> Expr:
    """Quotient, downwards, of two indices."""
    return Binary("floordiv", x, index(y), INDEX)
