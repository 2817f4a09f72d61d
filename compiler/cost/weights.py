"""What an iteration of a kernel's main loop does, to be set against its machine code."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from dslc.compiler.analysis.statement_work import Statements
from dslc.compiler.cost.work import iteration_work
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Const
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.traverse import walk
from dslc.compiler.ir.workload import Known
from dslc.compiler.targets import Target

_NARROW = 8  # bits of a weight at most


@dataclass(frozen=True, slots=True)
class Iteration:
    """One iteration of the main loop of a block.

    `weights` are the narrow ones that it uses, `matrix` the matrix instructions of a warp, and
    `instructions` all of a warp, as the model counts them.
    """

    weights: int
    matrix: float
    instructions: float


def main_iteration(kernel: Kernel, target: Target) -> Iteration | None:
    """The loop with the most multiply-adds; None where no loop multiplies matrices.

    Weights are what is cast from types of at most 8 bits, or what a product takes as such.
    """
    loops = [s for s in walk(kernel.body) if isinstance(s, ins.For)]
    inner = [s for s in loops if not any(isinstance(x, ins.For) for x in walk(s.body))]
    loop = max(inner, key=_multiplied, default=None)
    if loop is None or not _multiplied(loop):
        return None
    assert target.rates is not None, f"{target.name} has no rates"
    costs = Statements(target, target.rates, kernel.threads or target.warp_size)
    known: Known = {axis.var: Const(0, INDEX) for axis in kernel.grid}
    slots = iteration_work(loop, known, costs).slots
    return Iteration(_weights(loop), _matrix(loop, target) / costs.warps, slots / costs.warps)


def _weights(loop: ins.For) -> int:
    narrow = [
        s.x
        for s in walk(loop.body)
        if isinstance(s, ins.Cast) and s.x.type.dtype.bits <= _NARROW and s.x.type.dtype.bits > 0
    ]
    wide = [v for v in narrow if len(v.type.shape) > 1]
    if wide:
        return sum(prod(v.type.shape) for v in wide)
    dots = [s for s in walk(loop.body) if isinstance(s, ins.Dot)]
    return sum(prod(d.b.type.shape) for d in dots if d.b.type.dtype.bits <= _NARROW)


def _multiplied(loop: ins.For) -> int:
    dots = (s for s in walk(loop.body) if isinstance(s, ins.Dot))
    return sum(prod(d.out.type.shape) * d.a.type.shape[-1] for d in dots)


def _matrix(loop: ins.For, target: Target) -> float:
    """Matrix instructions of all warps in one iteration."""
    seconds = 0.0
    for stmt in walk(loop.body):
        atom = target.atom(stmt.atom) if isinstance(stmt, ins.Dot) and stmt.atom else None
        if atom is None or not isinstance(stmt, ins.Dot):
            continue
        layout = stmt.out.type.layout
        copies = layout.replication if layout is not None else 1
        each = atom.m * atom.n * atom.k
        count = prod(stmt.out.type.shape) * stmt.a.type.shape[-1] * copies / each
        seconds += count * (atom.threads // target.warp_size)
    return seconds
