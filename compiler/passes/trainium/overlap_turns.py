"""The second stage of a turn stands behind the first stage of the next one: engines need not wait.

Before (tests/ir/overlap-turns/example.tir), where the engines wait for the chain from the row's maximum
to the sum of its exponentials, turn after turn:

    grid m in range(0, 384, 128)
    %row = load @x[m : +128!, 0 : +256!] : f32[128, 256] ...
    %e = reduce max %row, axis=1, keepdims : f32[128, 1] ...
    %e_1 = broadcast %e : f32[128, 256] ...
    %e_2 = fused %row, %e_1, steps="sub exp" : f32[128, 256] ...
    %y = reduce sum %e_2, axis=1, keepdims : f32[128, 1] ...
    ...
    store @y[m : +128!, 0 : +256!], %y_4

After: the turns are a loop that carries what passes from the first stage to the second.

    %row = load @x[0 : +128!, 0 : +256!] : f32[128, 256] ...
    ...
    %row_3, %e_5 = for m in range(0, 256, 128) carry (%row_1 : ... = %row, %e_1 : ... = %e) {
      %row_2 = load @x[m + 128 : +128!, 0 : +256!] : f32[128, 256] ...
      ...
      %y_4 = mul %e_4, %y_3 : f32[128, 256] ...
      store @y[m : +128!, 0 : +256!], %y_4
      yield %row_2, %e_2
    }
    ...
    store @y[256 : +128!, 0 : +256!], %y_8

Each engine keeps the order of the text, so that a turn's last steps hold up the first ones of the next
turn, which nothing else stops. Where the boundary of the stages lies is the choice of a model of the
queues (`turn_schedule`); turns stay apart where it finds less than a fiftieth, and where the tiles
that cross it have no room twice. What is the same in all turns is made once, before the loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from dslc.compiler.ir import Kernel, Role, TileProgram, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import add
from dslc.compiler.ir.expr import Expr, index
from dslc.compiler.ir.instructions import Carried, Stmt
from dslc.compiler.ir.rewrite import clone_body, map_kernels, scalar_names
from dslc.compiler.ir.traverse import (
    Body,
    bodies,
    expressions,
    memories,
    names_in,
    operands,
    regions,
    results,
    tile_of,
    uses_of,
    walk,
)
from dslc.compiler.passes.trainium.capacity import sbuf_peak, usable
from dslc.compiler.passes.trainium.engine_times import FREE
from dslc.compiler.passes.trainium.join_turns import KNOWN, constants
from dslc.compiler.passes.trainium.turn_schedule import Shares, in_order, overlapped
from dslc.compiler.passes.trainium.unroll_budget import machine_counters
from dslc.compiler.targets import Target
from dslc.compiler.targets.nki import engines_of

_KNOWN = (*KNOWN, ins.Fused)
_TURNS = 8  # that are looked at
_STATEMENTS = 400  # of all of them: fewer long turns
_WORTH = 0.98  # of the time: what two stages have to save


@dataclass(frozen=True, slots=True)
class OverlapTurns:
    """Puts the stages of turns behind one another, in kernels without products."""

    target: Target
    name: ClassVar[str] = "overlap-turns"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with its turns in two stages where that saves time."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        if not all(isinstance(s, _KNOWN) and not _reads_tiles(s) for s in walk(kernel.body)):
            return kernel
        if any(m.role is Role.INOUT for s in walk(kernel.body) for m in memories(s)):
            return kernel  # a turn may read what it has written
        axis, turns = None, range(0)
        for candidate in kernel.grid:  # the innermost one that has several
            bounds = constants(candidate)
            if bounds is not None and len(range(*bounds)) > 1:
                axis, turns = candidate, range(*bounds)
        if axis is None or machine_counters(kernel):
            return kernel
        same = _same_in_all(kernel, axis.var)
        own = tuple(s for s in kernel.body if s not in same)
        made_by = {v: s for s in walk(kernel.body) if (v := tile_of(s)) is not None}
        shares = Shares.of_turn(own, made_by, engines_of(self.target))
        looked_at = min(_TURNS, len(turns), max(3, _STATEMENTS // len(own)))
        apart = in_order(shares, own, looked_at)
        times: list[tuple[float, int]] = []
        for cut in _cuts(kernel.body):
            first, second = (
                tuple(s for s in half if s not in same)
                for half in (kernel.body[:cut], kernel.body[cut:])
            )
            times.append((overlapped(shares, first, second, looked_at), cut))
        for time, cut in sorted(times):
            if time > _WORTH * apart:
                break
            made = _Stages(kernel, axis, turns, same, cut).kernel()
            room = sbuf_peak(made).bytes <= usable(engines_of(self.target))
            if room and not machine_counters(made):
                return made
        return kernel


def _reads_tiles(stmt: Stmt) -> bool:
    """Whether a scalar of the statement comes of a tile."""
    return any(isinstance(n, ex.Read) for e in expressions(stmt) for n in ex.walk(e))


def _same_in_all(kernel: Kernel, var: ex.Var) -> frozenset[Stmt]:
    """The statements of a body whose results no counter changes, and that have results alone."""
    changing: set[object] = {var}
    same: set[Stmt] = set()
    for stmt in kernel.body:
        inside = list(walk((stmt,)))
        names = {n for s in inside for u in uses_of(s) for n in names_in(u)}
        effects = any(isinstance(s, ins.Store) for s in inside)
        written = any(r.memory.role is not Role.IN for s in inside for r in regions(s))
        if effects or written or names & changing:
            changing.update(results(stmt))
        else:
            same.add(stmt)
    return frozenset(same)


def _cuts(body: Body) -> Iterator[int]:
    """Where a body may be cut: not between an instruction and the sum that it makes as well."""
    for cut in range(1, len(body)):
        before, behind = body[cut - 1], body[cut]
        made = tile_of(before) if isinstance(before, ins.Fused) else None
        with_it = isinstance(behind, ins.Reduce) and behind.x is made
        if not with_it and not isinstance(before, FREE):
            yield cut


@dataclass(slots=True)
class _Stages:
    """The kernel whose turns along an axis are a loop of two stages."""

    base: Kernel
    axis: object
    turns: range
    same: frozenset[Stmt]
    cut: int

    def kernel(self) -> Kernel:
        """Prologue, loop and epilogue in place of the turns."""
        axis = next(a for a in self.base.grid if a is self.axis)
        taken = scalar_names(self.base)
        body = self.base.body
        first = tuple(s for s in body[: self.cut] if s not in self.same)
        second = tuple(s for s in body[self.cut :] if s not in self.same)
        second = (*_needed(second, first), *second)
        once_first = tuple(s for s in body[: self.cut] if s in self.same)
        once_second = tuple(s for s in body[self.cut :] if s in self.same)
        crossing = _crossing(first, second)
        start, step, last = index(self.turns[0]), self.turns.step, index(self.turns[-1])

        def stage(at: Expr) -> tuple[Body, list[Value]]:
            copy, given = clone_body(first, taken, scalars={axis.var: at}, outputs=crossing)
            return copy, [v for v in given if isinstance(v, Value)]

        opening, inits = stage(start)
        ahead, next_ones = stage(simplify(add(axis.var, step)))
        inner = [replace(v) for v in crossing]
        behind, _ = clone_body(second, taken, values=dict(zip(crossing, inner, strict=True)))
        handed_on = [replace(v) for v in crossing]
        carried = tuple(map(Carried, handed_on, inner, inits, next_ones))
        closing, _ = clone_body(
            second,
            taken,
            values=dict(zip(crossing, handed_on, strict=True)),
            scalars={axis.var: last},
        )
        loop = ins.For(axis.var, start, last, index(step), (*ahead, *behind), carried)
        grid = tuple(a for a in self.base.grid if a is not axis)
        whole = (*once_first, *opening, *once_second, loop, *closing)
        return replace(self.base, grid=grid, body=whole)


def _needed(second: Body, first: Body) -> Body:
    """What is no instruction of the first stage, and the second one reads: it is said there again."""
    read = {n for s in walk(second) for u in uses_of(s) for n in names_in(u)}
    again: list[Stmt] = []
    for stmt in reversed(first):
        if isinstance(stmt, FREE) and read.intersection(results(stmt)):
            again.append(stmt)
            read.update(n for u in uses_of(stmt) for n in names_in(u))
    return tuple(reversed(again))


def _crossing(first: Body, second: Body) -> list[Value]:
    """The tiles of the first stage that the second one reads."""
    own = {r for s in second for r in results(s)}
    made = [r for s in first for r in results(s) if isinstance(r, Value) and r not in own]
    read = set(_read(second))
    return [v for v in made if v in read]


def _read(body: Iterable[Stmt]) -> Iterator[Value]:
    for stmt in body:
        yield from operands(stmt)
        for nested in bodies(stmt):
            yield from _read(nested)
