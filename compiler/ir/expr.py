"""Scalar expressions: index arithmetic, conditions and the scalars of a kernel.

They are pure trees, and equal ones are one object. Integers of dtype `index` are exact 64-bit numbers;
`//` and `%` round towards minus infinity as in Python.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from dslc.compiler.dtypes import BOOL, INDEX, DType
from dslc.compiler.interned import Interned

if TYPE_CHECKING:
    from dslc.compiler.ir.values import Value

UNARY_OPS = (
    "neg", "not", "invert", "abs", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos",
    "tanh", "sigmoid", "erf", "floor", "ceil", "round",
)  # fmt: skip
ARITHMETIC_OPS = (
    "add", "sub", "mul", "div", "floordiv", "mod", "pow", "and", "or", "xor", "shl", "shr", "min",
    "max",
)  # fmt: skip
COMPARE_OPS = ("eq", "ne", "lt", "le", "gt", "ge")
NEGATED = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
BINARY_OPS = ARITHMETIC_OPS + COMPARE_OPS

REMEMBERED = 1 << 14  # expressions of which a question's answer is kept


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Const(Interned):
    """A number known at compile time; bools are of dtype bool. 0.0 and -0.0 differ, 1 and 1.0 too."""

    value: int | float | bool
    dtype: DType

    @staticmethod
    def identity(value: Hashable, dtype: Hashable) -> tuple[Hashable, ...]:  # type: ignore[override]
        """The text of a number tells what comparing does not."""
        return repr(value), dtype


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Var(Interned):
    """A scalar by its name, which is unique within a kernel."""

    name: str
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Unary(Interned):
    """`op(x)`, op from UNARY_OPS."""

    op: str
    x: Expr
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Binary(Interned):
    """`op(x, y)`, op from BINARY_OPS; operands have one dtype, comparisons give bool."""

    op: str
    x: Expr
    y: Expr
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Select(Interned):
    """`x` where `condition` holds, else `y`."""

    condition: Expr
    x: Expr
    y: Expr
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Convert(Interned):
    """`cast(x, dtype)` by the rules of the language; `saturate` as asked."""

    x: Expr
    dtype: DType
    saturate: bool = False


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Read(Interned):
    """The element of a tile of rank 0, as a scalar."""

    value: Value

    @property
    def dtype(self) -> DType:
        """The dtype of the tile."""
        return self.value.type.dtype


Expr: TypeAlias = Const | Var | Unary | Binary | Select | Convert | Read


def index(value: int) -> Const:
    """An index constant."""
    return Const(value, INDEX)


TRUE = Const(True, BOOL)
FALSE = Const(False, BOOL)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct operands of an expression."""
    match expr:
        case Unary(x=x) | Convert(x=x):
            return (x,)
        case Binary(x=x, y=y):
            return (x, y)
        case Select(condition=c, x=x, y=y):
            return (c, x, y)
        case _:
            return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """Every node of an expression, the root first."""
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


@functools.lru_cache(REMEMBERED)
def free_vars(expr: Expr) -> frozenset[Var]:
    """The variables that an expression reads."""
    if isinstance(expr, Var):
        return frozenset((expr,))
    return frozenset().union(*map(free_vars, children(expr)))


def map_children(expr: Expr, f: Callable[[Expr], Expr]) -> Expr:
    """The same node over `f` of its operands; the node itself where none changed."""
    match expr:
        case Unary(op, x, dtype):
            x2 = f(x)
            return expr if x2 is x else Unary(op, x2, dtype)
        case Convert(x, dtype, saturate):
            x2 = f(x)
            return expr if x2 is x else Convert(x2, dtype, saturate)
        case Binary(op, x, y, dtype):
            x2, y2 = f(x), f(y)
            return expr if x2 is x and y2 is y else Binary(op, x2, y2, dtype)
        case Select(c, x, y, dtype):
            c2, x2, y2 = f(c), f(x), f(y)
            same = c2 is c and x2 is x and y2 is y
            return expr if same else Select(c2, x2, y2, dtype)
        case _:
            return expr


def substitute(expr: Expr, bindings: Mapping[Var, Expr]) -> Expr:
    """The expression with variables replaced."""
    if isinstance(expr, Var):
        return bindings.get(expr, expr)
    if bindings.keys().isdisjoint(free_vars(expr)):
        return expr
    return map_children(expr, lambda e: substitute(e, bindings))
