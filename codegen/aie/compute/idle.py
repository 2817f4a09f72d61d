"""Turns past the end of the grid: what they touch on the chip is not where the bounds were proved.

    grid m in range(0, 33, 2)       17 turns; of four cores three run a fifth one, with m = 34, 36, 38
    load @x_here[m : +1!]           proved for m < 33: such a core looks at each element

Their tiles come from the padding of tensors and go there (`herd`).
"""

from __future__ import annotations

from dslc.codegen.aie.planning.herd import Herd
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import handed, walk


def idle_scalars(kernel: Kernel, herd: Herd, row: int, column: int) -> frozenset[ex.Var]:
    """The scalars of a core that have other values there than in a turn of the grid."""
    idle = {axis for number, axis in enumerate(herd.axes) if _is_idle(herd, number, row, column)}
    if not idle:
        return frozenset()
    before = 0
    while len(idle) > before:
        before = len(idle)
        for stmt in walk(kernel.body):
            match stmt:
                case ins.For(var=var, start=start, stop=stop, step=step):
                    if any(depends(x, idle) for x in (start, stop, step)):
                        idle.add(var)
                case ins.Let(var=var, value=value) if depends(value, idle):
                    idle.add(var)
            for h in handed(stmt):
                names = (h.result, h.inner) if isinstance(h, ins.Carried) else (h.result,)
                idle.update(name for name in names if isinstance(name, ex.Var))
    return frozenset(idle)


def _is_idle(herd: Herd, number: int, row: int, column: int) -> bool:
    last = herd.digit(number, row, column) + (herd.steps[number] - 1) * herd.factors[number]
    return last >= herd.counts[number]


def depends(expr: ex.Expr, idle: set[ex.Var] | frozenset[ex.Var]) -> bool:
    """Whether an expression may have another value in such a turn: what tensors hold has."""
    return any(isinstance(n, ex.Read) or n in idle for n in ex.walk(expr))
