"""Dead code: what no effect depends on.

Before (tests/ir/dead-code/example.tir):

    %a = load @x[0 : +4] : f32[4]
    %b = full f32(1.0) : f32[4]
    %c = add %a, %b : f32[4]
    store @y[0 : +4], %b

After:

    %b = full f32(1.0) : f32[4]
    store @y[0 : +4], %b

Effects are stores to memory that somebody reads, copies, synchronisation, prints and asserts. On-chip
buffers that are never read vanish with their stores, loops and branches without effects or results
that are used vanish as wholes, and carried values that only feed themselves are dropped.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir import unchanged
from dslc.compiler.ir.instructions import Carried, Stmt
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import map_kernels
from dslc.compiler.ir.traverse import (
    Body,
    Name,
    Use,
    entering,
    names_in,
    reads,
    results,
    walk,
    writes,
)
from dslc.compiler.ir.values import Memory, Role

_SYNCHRONISATION = (
    ins.CommitGroup, ins.AwaitPartner, ins.HandOver, ins.WaitGroup, ins.WaitDots, ins.Sync,
    ins.MemoryBarrier, ins.InitBarriers, ins.Arrive, ins.AwaitPhase, ins.SemaphoreWait,
    ins.SemaphoreRelease, ins.LaunchDependents, ins.AwaitLaunches, ins.Prefetch,
)  # fmt: skip
_EFFECTS = (*_SYNCHRONISATION, ins.Print, ins.Assert)


@dataclass(frozen=True, slots=True)
class DeadCode:
    """Removes statements that no effect depends on."""

    name: str = "dead-code"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program without its dead code."""
        return map_kernels(program, remove_dead_code)


def remove_dead_code(kernel: Kernel) -> Kernel:
    """The kernel without its dead code; the kernel itself where there is none."""
    while True:
        body, _ = _Liveness(_unread(kernel)).body(kernel.body, set())
        if body is kernel.body:
            return kernel
        kernel = dataclasses.replace(kernel, body=body)


def _unread(kernel: Kernel) -> frozenset[Memory]:
    """On-chip buffers that no statement reads."""
    stmts = list(walk(kernel.body))
    allocated = {s.memory for s in stmts if isinstance(s, ins.Alloc)}
    read = {
        region.memory
        for s in stmts
        if not (isinstance(s, ins.AtomicRmw) and s.out is None)
        for region in reads(s)
    }
    return frozenset(m for m in allocated - read if m.role is Role.BUFFER)


class _Liveness:
    """Walks bodies backwards; `live` holds the names that are read further down."""

    def __init__(self, unread: frozenset[Memory]) -> None:
        self.unread = unread

    def body(self, body: Body, live: set[Name]) -> tuple[Body, set[Name]]:
        """The body without dead statements, and the names live before it."""
        kept: list[Stmt] = []
        live = set(live)
        for stmt in reversed(body):
            new = self._statement(stmt, live)
            if new is not None:
                kept.append(new)
                live -= set(results(new))
                live |= _names(entering(new))
        kept.reverse()
        return unchanged.kept(body, kept), live

    def _statement(self, stmt: Stmt, live: set[Name]) -> Stmt | None:
        """What is left of a statement; names that its nested bodies read join `live`."""
        match stmt:
            case ins.For():
                return self._for(stmt, live)
            case ins.While():
                return self._while(stmt, live)
            case ins.If():
                return self._if(stmt, live)
            case ins.WarpSpecialize():
                body, inside = self.body(stmt.body, set())
                live |= inside
                return unchanged.replaced(stmt, body=body) if body else None
            case ins.Alloc(memory=memory):
                return None if memory in self.unread else stmt
            case ins.AtomicRmw(out=out) if out is not None and out not in live:
                return self._statement(dataclasses.replace(stmt, out=None), live)
            case ins.InitBarriers(region=region) | ins.Arrive(region=region):
                return None if region.memory in self.unread else stmt  # nobody waits
            case _ if writes(stmt) and all(r.memory in self.unread for r in writes(stmt)):
                return None
            case _ if writes(stmt) or isinstance(stmt, _EFFECTS):
                return stmt
            case _:
                return stmt if live & set(results(stmt)) else None

    def _for(self, stmt: ins.For, live: set[Name]) -> Stmt | None:
        carried = _needed(stmt.carried, live, lambda c: self._reads_of_iteration(stmt.body, c))
        body, before = self.body(stmt.body, _names(c.yielded for c in carried))
        if not body and not carried:
            return None
        live |= before - {stmt.var, *(c.inner for c in carried)}
        if body is stmt.body and len(carried) == len(stmt.carried):
            return stmt
        return dataclasses.replace(stmt, body=body, carried=carried)

    def _reads_of_iteration(self, body: Body, carried: Iterable[Carried]) -> set[Name]:
        return self.body(body, _names(c.yielded for c in carried))[1]

    def _while(self, stmt: ins.While, live: set[Name]) -> Stmt | None:
        condition = _names([stmt.condition])

        def reads_of_iteration(carried: Iterable[Carried]) -> set[Name]:
            inside = self.body(stmt.body, _names(c.yielded for c in carried))[1]
            return self.body(stmt.before, inside | condition)[1]

        carried = _needed(stmt.carried, live, reads_of_iteration)
        body, inside = self.body(stmt.body, _names(c.yielded for c in carried))
        before, outside = self.body(stmt.before, inside | condition)
        if not any(c.result in live for c in carried) and not _acts((*before, *body)):
            return None
        live |= outside - {c.inner for c in carried}
        if body is stmt.body and before is stmt.before and len(carried) == len(stmt.carried):
            return stmt
        return dataclasses.replace(stmt, before=before, body=body, carried=carried)

    def _if(self, stmt: ins.If, live: set[Name]) -> Stmt | None:
        joined = tuple(j for j in stmt.joined if j.result in live)
        then, live_then = self.body(stmt.then, _names(j.then for j in joined))
        otherwise, live_else = self.body(stmt.otherwise, _names(j.otherwise for j in joined))
        if not then and not otherwise and not joined:
            return None
        live |= live_then | live_else
        if then is stmt.then and otherwise is stmt.otherwise and len(joined) == len(stmt.joined):
            return stmt
        return dataclasses.replace(stmt, then=then, otherwise=otherwise, joined=joined)


def _needed(
    carried: tuple[Carried, ...],
    live: set[Name],
    reads_of_iteration: Callable[[tuple[Carried, ...]], set[Name]],
) -> tuple[Carried, ...]:
    """The carried values that are used after the loop or by what an iteration must do."""
    needed = tuple(c for c in carried if c.result in live)
    while True:
        read = reads_of_iteration(needed)
        more = tuple(c for c in carried if c in needed or c.inner in read)
        if len(more) == len(needed):
            return needed
        needed = more


def _acts(body: Body) -> bool:
    return any(writes(s) or isinstance(s, (*_EFFECTS, ins.Alloc)) for s in walk(body))


def _names(uses: Iterable[Use]) -> set[Name]:
    return {name for use in uses for name in names_in(use)}
