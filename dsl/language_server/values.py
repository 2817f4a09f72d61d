"""Which values the names of a kernel can have, in the words of a hover."""

from __future__ import annotations

from dslc.checker.items import EXPRESSIONS, Item
from dslc.compiler.analysis.value_ranges import ValueRanges, range_text
from dslc.compiler.ir import Kernel, Memory, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.text.printer import print_expr
from dslc.compiler.ir.traverse import walk


class Values:
    """The values of a kernel's tiles, scalars and memories."""

    def __init__(self, kernel: Kernel) -> None:
        self._ranges = ValueRanges(kernel)
        self._loops = {axis.var: (axis.start, axis.stop, axis.step) for axis in kernel.grid}
        for stmt in walk(kernel.body):
            if isinstance(stmt, ins.For):
                self._loops[stmt.var] = (stmt.start, stmt.stop, stmt.step)

    def text(self, item: Item) -> str:
        """`0 to 15`, `any`, `0 to N - 1 in steps of 64`; empty for what is no value of the kernel."""
        if isinstance(item, ex.Var) and item in self._loops:
            return self._counted(*self._loops[item])
        if not isinstance(item, (Value, Memory, *EXPRESSIONS)):
            return ""
        found = self._ranges.of(item)
        dtype = item.type.dtype if isinstance(item, Value) else item.dtype
        return "" if found is None else range_text(found, dtype)

    def _counted(self, start: ex.Expr, stop: ex.Expr, step: ex.Expr) -> str:
        """What a loop counts: to the last below `stop`, or above it where it counts down."""
        by = constant(step)
        least, greatest = self._ranges.scalar(step)
        if least <= 0 <= greatest:
            return "any"
        end = f"{'below' if least > 0 else 'above'} {expression_text(stop)}"
        steps = "" if by in (1, -1) else f", in steps of {expression_text(step)}"
        return f"from {expression_text(start)}, {end}{steps}"


def expression_text(expr: ex.Expr) -> str:
    """A scalar as it would be written, `...` where it is long."""
    text = print_expr(expr).replace("%", "")
    return text if len(text) <= 60 else "..."
