"""Row-major strides of tensors in HBM."""

from __future__ import annotations

from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import Memory
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import simplify


def row_major(memory: Memory) -> list[ex.Expr]:
    """The strides of a memory in elements.

    A kernel's tensors are dense whatever strides the caller's arrays have: they come as copies.
    """
    strides: list[ex.Expr] = []
    step: ex.Expr = ex.index(1)
    for extent in reversed(memory.shape):
        strides.append(step)
        step = simplify(ex.Binary("mul", extent, step, INDEX))
    return strides[::-1]


def total(x: ex.Expr, y: ex.Expr) -> ex.Expr:
    """x + y."""
    return ex.Binary("add", x, y, INDEX)
