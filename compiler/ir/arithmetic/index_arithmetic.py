"""Index arithmetic: expressions of dtype index, from such expressions and whole numbers.

    cdiv(sub(stop, start), 128)   ->   (stop - start + (128 - 1)) // 128

These build what is said and nothing else; `affine.simplify` makes it simple.
"""

from __future__ import annotations

from typing import TypeAlias

from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir.expr import Binary, Expr, Select, index

Index: TypeAlias = Expr | int


def add(x: Index, y: Index) -> Expr:
    """x + y."""
    return _binary("add", x, y)


def sub(x: Index, y: Index) -> Expr:
    """x - y."""
    return _binary("sub", x, y)


def mul(x: Index, y: Index) -> Expr:
    """x * y."""
    return _binary("mul", x, y)


def div(x: Index, y: Index) -> Expr:
    """x // y."""
    return _binary("floordiv", x, y)


def mod(x: Index, y: Index) -> Expr:
    """x % y."""
    return _binary("mod", x, y)


def cdiv(x: Index, y: Index) -> Expr:
    """x / y, rounded up, for a y above 0."""
    return div(add(x, y - 1 if isinstance(y, int) else sub(y, 1)), y)


def least(x: Index, y: Index) -> Expr:
    """The smaller one."""
    return _binary("min", x, y)


def largest(x: Index, y: Index) -> Expr:
    """The larger one."""
    return _binary("max", x, y)


def select(condition: Expr, x: Index, y: Index) -> Expr:
    """x where the condition holds, else y."""
    return Select(condition, _expr(x), _expr(y), INDEX)


def _binary(op: str, x: Index, y: Index) -> Expr:
    return Binary(op, _expr(x), _expr(y), INDEX)


def _expr(x: Index) -> Expr:
    return index(x) if isinstance(x, int) else x
