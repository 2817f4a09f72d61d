"""Programmatic dependent launch (PDL): a kernel begins while the one before ends, waits, then reads.

Before (tests/ir/dependent-launch/weights.tir):

    alloc @ring: buffer shared u8[2, 512]
    for turn in range(0, 2, 1) {
      copy_async @ring[turn!, 0 : +512!], @w[turn!, n!, 0 : +512!]
      commit_group
    }

After:

    launch_dependents
    alloc @ring: buffer shared u8[2, 512]
    prefetch @w[0!, n!, 0 : +512!]
    await_launches
    for turn in range(0, 2, 1) {
      copy_async @ring[turn!, 0 : +512!], @w[turn!, n!, 0 : +512!]
      ...

From the first multiprocessor that a launch leaves until the last, and while the next one's first loads
are on their way, memory would stand still. Now the next launch's blocks are there, and what their first
turn copies comes to the level-2 cache. That cache is one for the whole device, so it may be asked
before the wait, whoever writes the tensor: later reads see what was written meanwhile. What neighbours
in the grid read in common is not asked for: the first of them brings it for all.

All threads wait, at one place before anything that touches a tensor. So a launch ends only after those
before it, and it is enough that each waits for its neighbour (PTX ISA 8.5, 9.7.13.13: griddepcontrol).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from dslc.compiler.analysis.scalar_facts import FactsRewriter
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant, simplify
from dslc.compiler.ir.expr import Expr, Var, substitute
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import map_kernels
from dslc.compiler.ir.rules.launch_rules import touches_tensors
from dslc.compiler.ir.traverse import Body, Name, definitions, handed, names_in, uses_of, walk
from dslc.compiler.ir.values import Memory, Region, Role
from dslc.compiler.passes.pipelining.tma_copies import is_run
from dslc.compiler.passes.tile_scheduling.rasterization import origins

# A ring's first iterations end where something is waited for.
_WAITS = (ins.WaitGroup, ins.AwaitPhase, ins.Sync, ins.SemaphoreWait, ins.While, ins.WarpSpecialize)


@dataclass(frozen=True, slots=True)
class DependentLaunch:
    """Lets launches begin early and wait, where the machine can."""

    active: bool
    name: str = "dependent-launch"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with waits for the launches before."""
        return map_kernels(program, _overlapping) if self.active else program


def _overlapping(kernel: Kernel) -> Kernel:
    at = next((i for i, s in enumerate(kernel.body) if touches_tensors(s)), None)
    if at is None or any(isinstance(s, ins.AwaitLaunches) for s in kernel.body):
        return kernel
    before, after = kernel.body[:at], kernel.body[at:]
    early = (ins.LaunchDependents(), *before, *_prefetches(kernel, after))
    return replace(kernel, body=(*early, ins.AwaitLaunches(), *after))


def _prefetches(kernel: Kernel, body: Body) -> Body:
    """Prefetches of what a ring's first iteration copies, as far as that is known before the wait."""
    first: list[Stmt] = []
    for stmt in body:
        if any(isinstance(s, _WAITS) or handed(s) for s in walk((stmt,))):
            break
        first.append(stmt)
    defined = definitions(first).keys()
    chosen = _Copies(kernel, first).chosen
    asked: dict[Memory, Stmt] = {}
    for stmt in first:
        for memory, prefetch in _asked(stmt, chosen, {}):
            if not defined & _names(prefetch):
                asked.setdefault(memory, prefetch)
    return tuple(asked.values())


def _asked(
    stmt: Stmt, chosen: set[Stmt], at: dict[Var, Expr]
) -> Iterator[tuple[Memory, ins.Prefetch | ins.If]]:
    """The prefetches of the chosen copies, of a loop's first iteration, under the same conditions."""
    match stmt:
        case ins.CopyAsync(src=src) if stmt in chosen:
            axes = (replace(a, start=simplify(substitute(a.start, at)), end=None) for a in src.axes)
            yield src.memory, ins.Prefetch(replace(src, axes=tuple(axes)), loc=stmt.loc)
        case ins.For(var=var, start=start, body=body) if _runs(stmt):
            for inner in body:
                yield from _asked(inner, chosen, {**at, var: substitute(start, at)})
        case ins.If(condition=condition, then=then):
            holds = simplify(substitute(condition, at))
            for memory, prefetch in (p for s in then for p in _asked(s, chosen, at)):
                yield memory, ins.If(holds, (prefetch,), loc=stmt.loc)


def _runs(loop: ins.For) -> bool:
    """Whether the loop is known to have an iteration."""
    start, stop = constant(loop.start), constant(loop.stop)
    return start is not None and stop is not None and start < stop


def _names(stmt: Stmt) -> set[Name]:
    """What a statement reads, and those within it."""
    return {n for s in walk((stmt,)) for use in uses_of(s) for n in names_in(use)}


class _Copies(FactsRewriter):
    """Finds copies of runs of bytes of tensors that each turn reads for itself; it changes nothing."""

    def __init__(self, kernel: Kernel, body: Iterable[Stmt]) -> None:
        super().__init__(kernel)
        self.kernel_of = kernel
        self.known = {s.var: s.value for s in walk(kernel.body) if isinstance(s, ins.Let)}
        self.chosen: set[Stmt] = set()
        self.body(tuple(body))

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A copy is looked at where what holds there is known."""
        if isinstance(stmt, ins.CopyAsync) and self._is_asked_for(stmt.src):
            self.chosen.add(stmt)
        return super().statement(stmt)

    def _is_asked_for(self, region: Region) -> bool:
        """Whether it is runs of bytes, and turns beside this one read others."""
        if region.memory.role is not Role.IN or not self.kernel_of.grid:
            return False
        fastest = self.kernel_of.grid[-1].var
        own = any(fastest in origins(a.start, self.known) for a in region.axes)
        return own and is_run(region, self.kernel_of.tensors, self.facts)
