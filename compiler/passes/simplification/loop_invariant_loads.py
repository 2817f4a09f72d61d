"""Loads that a loop repeats without need.

    for k in range(0, K, 64) {                 %s = load @s[0 : +128] : f16[128]
      %s = load @s[0 : +128] : f16[128]   ->   for k in range(0, K, 64) {
      ...                                        ...

A load of a memory that the kernel never writes moves out of a loop that does not change its subscripts.
One that changes every few iterations alone, such as a row of scales at `k // 128` in steps of 64, is
loaded in the first iteration of each run and carried to the others. A hoisted load runs even where the
loop has no iteration: its bounds are checked again, until they are proved without the loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dslc.compiler.analysis.scalar_facts import FactsRewriter
from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.ir.expr import Binary, Const, Expr, index
from dslc.compiler.ir.instructions import Carried, Joined, Stmt
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import clone_body, map_kernels, scalar_names, with_body
from dslc.compiler.ir.values import Region, Value
from dslc.compiler.passes.pipelining.prefetchable_loads import (
    Ahead,
    constant_memories,
    invariant_loads,
    loads_ahead,
    thread_bytes,
    zeros,
)

_MOST_BYTES = 256  # of a thread's registers for one tile that lives through a loop


@dataclass(frozen=True, slots=True)
class LoopInvariantLoads:
    """Moves loads out of the loops that do not change them."""

    name: str = "loop-invariant-loads"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with its loads where they are needed."""
        return map_kernels(program, _hoist)


def _hoist(kernel: Kernel) -> Kernel:
    return with_body(kernel, _Hoister(kernel).body(kernel.body))


class _Hoister(FactsRewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.taken = scalar_names(kernel)
        self.unwritten = constant_memories(kernel.body, kernel.tensors)
        self.threads = kernel.threads

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A loop, after what it repeated."""
        rebuilt = self.rebuild(stmt)
        if not isinstance(rebuilt, ins.For):
            return (rebuilt,)
        before, loop = self._invariant(rebuilt)
        more, loop = self._runs(loop)
        return (*before, *more, loop)

    def _small(self, ahead: Ahead) -> bool:
        return thread_bytes(ahead.load.out, self.threads) <= _MOST_BYTES

    def _invariant(self, loop: ins.For) -> tuple[list[Stmt], ins.For]:
        before: list[Stmt] = []
        moved: set[Stmt] = set()
        for ahead in invariant_loads(loop, self.unwritten):
            if not self._small(ahead):
                continue
            exprs = [a.start for a in ahead.load.region.axes]
            if ahead.load.other is not None:
                exprs.append(ahead.load.other)
            needs, uses = clone_body(ahead.needs, self.taken, outputs=exprs)
            found = [u for u in uses if not isinstance(u, Value)]
            other = found[-1] if ahead.load.other is not None else None
            load = replace(ahead.load, region=_region(ahead.load.region, found), other=other)
            before += [*map(_checked, needs), _checked(load)]
            moved.add(ahead.load)
        if not moved:
            return [], loop
        return before, replace(loop, body=tuple(s for s in loop.body if s not in moved))

    def _runs(self, loop: ins.For) -> tuple[list[Stmt], ins.For]:
        if loop.var.dtype != INDEX or not isinstance(loop.step, Const):
            return [], loop
        facts = self.facts.copy()
        facts.assume_range(loop.var, loop.start, loop.stop, loop.step)
        before: list[Stmt] = []
        carried = list(loop.carried)
        body = list(loop.body)
        for ahead in loads_ahead(loop, facts, self.unwritten):
            if ahead.run == 1 or not self._small(ahead):
                continue
            first, now = replace(ahead.load.out), replace(ahead.load.out)
            before.append(ins.Full(first, zeros(first), loc=ahead.load.loc))
            loaded = replace(ahead.load.out)
            at = simplify(Binary("mod", loop.var, index(ahead.period), INDEX))
            begins = Binary("eq", at, index(0), BOOL)
            joined = (Joined(ahead.load.out, loaded, now),)
            place = body.index(ahead.load)
            body[place] = ins.If(
                begins, (replace(ahead.load, out=loaded),), (), joined, loc=ahead.load.loc
            )
            carried.append(Carried(replace(first), now, first, ahead.load.out))
        if not before:
            return [], loop
        return before, replace(loop, body=tuple(body), carried=tuple(carried))


def _region(region: Region, starts: list[Expr]) -> Region:
    axes = zip(region.axes, starts, strict=False)
    return replace(region, axes=tuple(replace(a, start=simplify(s)) for a, s in axes))


def _checked(stmt: Stmt) -> Stmt:
    """A load outside the loop that proved its bounds."""
    if not isinstance(stmt, ins.Load):
        return stmt
    axes = tuple(replace(a, checked=True) for a in stmt.region.axes)
    return replace(stmt, region=replace(stmt.region, axes=axes))
