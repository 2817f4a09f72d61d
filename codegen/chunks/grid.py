"""The variables of a grid from the number of a turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dslc.compiler.ir import GridAxis
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import add, cdiv, div, mod, mul, sub


def turn_variables(grid: Sequence[GridAxis], number: ex.Expr) -> Iterator[tuple[GridAxis, ex.Expr]]:
    """Each axis and its variable's value, the last axis fastest."""
    for k, axis in reversed(list(enumerate(grid))):
        count = simplify(cdiv(sub(axis.stop, axis.start), axis.step))
        digit = number if k == 0 else mod(number, count)
        yield axis, add(axis.start, mul(digit, axis.step))
        number = div(number, count)
