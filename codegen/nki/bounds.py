"""What is known of indices when a kernel is traced."""

from __future__ import annotations

from dslc.codegen.nki.emission import Emission
from dslc.compiler.ir import expr as ex


def is_not_negative(e: Emission, expr: ex.Expr) -> bool:
    """Whether an index is proved to be at least 0."""
    match expr:
        case ex.Const(value=value):
            return value >= 0
        case ex.Var():
            return expr in e.not_negative or expr in e.kernel.dims
        case ex.Binary(op="add" | "mul" | "floordiv" | "min" | "max" | "mod", x=x, y=y):
            return is_not_negative(e, x) and is_not_negative(e, y)
        case ex.Convert(x=x):
            return is_not_negative(e, x)
    return False
