"""Loops that begin at a number which only the machine knows begin at 0.

Before:

    for m in range(read(%first), read(%last), 16) {
      %x = load @x[m : +16] : f32[16]
    }

After, with a counter that machines have registers for:

    for m_1 in range(0, (read(%last) - read(%first) + 15) // 16) {
      let m = read(%first) + m_1 * 16
      %x = load @x[m : +16] : f32[16]
    }
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import Kernel, TileProgram
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.arithmetic.index_arithmetic import add, cdiv, mul, sub
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter, fresh_name, map_kernels, scalar_names
from dslc.compiler.ir.traverse import Name
from dslc.compiler.passes.dynamic_values.dynamic_scalars import dynamic_scalars, is_dynamic


@dataclass(frozen=True, slots=True)
class DynamicStarts:
    """Counts the iterations of loops whose start only the machine knows."""

    name: ClassVar[str] = "dynamic-starts"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program in which every loop of a constant step begins at a number that is known."""
        return map_kernels(program, lambda k: _FromZero(k).kernel(k))


class _FromZero(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self._dynamic: set[Name] = dynamic_scalars(kernel.body)
        self._taken = scalar_names(kernel)

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """The statement; of a loop that begins dynamic, one over the number of its iterations."""
        step = constant(stmt.step) if isinstance(stmt, ins.For) else None
        if (
            isinstance(stmt, ins.For)
            and isinstance(step, int)
            and is_dynamic(stmt.start, self._dynamic)
        ):
            first, last = (stmt.start, stmt.stop) if step > 0 else (stmt.stop, stmt.start)
            counter = ex.Var(fresh_name(stmt.var.name, self._taken), INDEX)
            here = add(stmt.start, mul(counter, step))
            body = (ins.Let(stmt.var, here), *stmt.body)
            turns = cdiv(sub(last, first), abs(step))
            stmt = replace(
                stmt, var=counter, start=ex.index(0), stop=turns, step=ex.index(1), body=body
            )
        return (self.rebuild(stmt),)
