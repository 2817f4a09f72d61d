"""Index expressions evaluated for many turns at once: one integer a turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.expr import Expr, Var

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "floordiv": np.floor_divide,
    "mod": np.mod, "min": np.minimum, "max": np.maximum, "eq": np.equal, "ne": np.not_equal,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "and": np.bitwise_and, "or": np.bitwise_or, "shl": np.left_shift, "shr": np.right_shift,
}  # fmt: skip


class Unknown(Exception):
    """What the expression is of, and is known on the machine only."""


def evaluate(expr: Expr, values: Mapping[Var, Numbers]) -> Any:
    """The numbers that an expression is; Unknown where it is not of the variables alone."""
    match expr:
        case ex.Const(value):
            return np.int64(value)
        case Var():
            if expr not in values:
                raise Unknown(expr.name)
            return values[expr]
        case ex.Unary("neg", x):
            return -evaluate(x, values)
        case ex.Binary(op, x, y) if op in _BINARY and not x.dtype.is_float:
            return _BINARY[op](evaluate(x, values), evaluate(y, values))
        case ex.Select(condition, x, y):
            chosen = evaluate(condition, values)
            return np.where(chosen, evaluate(x, values), evaluate(y, values))
        case ex.Convert(x) if not x.dtype.is_float and not expr.dtype.is_float:
            return evaluate(x, values)
        case ex.Read():
            raise Unknown("a scalar of the call or an element of a tensor")
        case _:
            raise Unknown("a scalar")
