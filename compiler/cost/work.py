"""What one block of a kernel does from begin to end, for known dims and turns of its loops.

Loops and branches whose course depends on the turn are counted over a sample of turns, as
`dslc.compiler.ir.workload` does.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace

from dslc.compiler.cost.statements import Statements, Work
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.affine import constant, evaluate
from dslc.compiler.ir.expr import Const, Expr
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.traverse import operands, walk
from dslc.compiler.ir.values import Role, Value
from dslc.compiler.ir.workload import Known, sampled, turns_of, value_of

_LOOP = 8.0  # instructions of each warp around a turn of a loop
_BRANCH = 3.0
_EXPOSED = 1.1  # of the latency of loads that go to registers turns ahead
_TURNS = 16  # of a loop whose bounds are not known
_SAMPLES = 4  # turns of a loop whose work differs from turn to turn
_LAST = 3  # turns of a block that are looked at one by one


def block_work(kernel: Kernel, known: Known, costs: Statements) -> Work:
    """The work of the block of one turn of the grid; `known` has the dims and the grid's variables."""
    return _Walk(costs).body(kernel.body, known)


def turn_work(loop: ins.For, known: Known, costs: Statements) -> Work:
    """The work of the first turn of a loop."""
    start = _settled(loop.start, known)
    first = {loop.var: Const(0 if start is None else int(start), INDEX)}
    work = _Walk(costs).body(loop.body, known | first)
    costs.control(work, _LOOP)
    return work


class _Walk:
    def __init__(self, costs: Statements) -> None:
        self.costs = costs

    def body(self, body: Iterable[ins.Stmt], known: Known) -> Work:
        total = Work()
        known = dict(known)
        loaded: set[Value] = set()  # tiles whose bytes are still under way
        for stmt in body:
            if loaded and not loaded.isdisjoint(operands(stmt)):
                total.waits += 1
                loaded.clear()
            match stmt:
                case ins.Let(var=var, value=value):
                    number = _settled(value, known)
                    if number is not None:
                        known[var] = Const(number, var.dtype)
                    total.add(self.costs.of(stmt))
                case ins.For():
                    self._loop(stmt, known, total)
                case ins.While():
                    total.add(self.body(itertools.chain(stmt.before, stmt.body), known))
                case ins.If():
                    self._branch(stmt, known, total)
                case ins.Aside():
                    beside = self.body(stmt.body, known)
                    total.add(replace(beside, path=0.0, waits=0.0))
                case _:
                    total.add(self.costs.of(stmt))
                    if isinstance(stmt, ins.Load | ins.Gather) and _is_far(stmt):
                        loaded.add(stmt.out)
        return total

    def _loop(self, loop: ins.For, known: Known, total: Work) -> None:
        turns = turns_of(loop.start, loop.stop, loop.step, known)
        if turns is None:
            bounds = [_settled(e, known) for e in (loop.start, loop.stop, loop.step)]
            start, stop, step = (None if b is None else int(b) for b in bounds)
            known_all = start is not None and stop is not None and step
            turns = range(start or 0, stop or 0, step or 1) if known_all else range(_TURNS)
        if not turns:
            return
        flights, ahead = in_flight(loop), turns_ahead(loop)
        for at, times in _points(loop, turns):
            one = self.body(loop.body, known | {loop.var: Const(at, INDEX)})
            self.costs.control(one, _LOOP)
            if flights:
                # What a turn computes hides a part of the wait.
                one.waits += 1 / flights
                self._hide(one)
            elif ahead:
                # Registers that are loaded are free only once the turn has read them.
                one.waits += _EXPOSED / ahead
            total.add(one, times)
        if flights or ahead:
            total.waits += 1

    def _hide(self, turn: Work) -> None:
        """Waits that the turn's own cycles do not cover."""
        cycles = self.costs.rates.latency * self.costs.rates.clock
        turn.waits = max(0.0, turn.waits * cycles - turn.path) / cycles

    def _branch(self, branch: ins.If, known: Known, total: Work) -> None:
        self.costs.control(total, _BRANCH)
        chosen = value_of(branch.condition, known)
        if chosen is not None:
            total.add(self.body(branch.then if chosen else branch.otherwise, known))
            return
        sides = [self.body(b, known) for b in (branch.then, branch.otherwise)]
        longer = max(sides, key=lambda w: w.slots)
        times = _share(branch.condition)
        total.add(longer, times)
        # The block that takes it is the last, and the launch ends with it.
        total.path += longer.path * (1 - times)
        total.waits += longer.waits * (1 - times)


def _points(loop: ins.For, turns: range) -> list[tuple[int, float]]:
    """Turns of a loop that are looked at, and how many each stands for.

    Of a loop around loops, a block's turns, the last ones may be shared and count by themselves.
    """
    if any(isinstance(s, ins.For | ins.While) for s in loop.body):
        last = turns[-_LAST:] if len(turns) > _LAST else turns[:0]
        first, most = turns[: len(turns) - len(last)], _SAMPLES // 2
    else:
        last, first = turns[:0], turns
        most = _SAMPLES if any(isinstance(s, ins.If) for s in loop.body) else 1
    points = [at for (at,) in sampled([first])]
    points = points[:: max(1, len(points) // most)] if most > 1 else points[:1]
    return [(at, len(first) / len(points)) for at in points] + [(at, 1.0) for at in last]


def _settled(expr: Expr, known: Known) -> int | float | bool | None:
    """The value of an expression where what was read from memory counts as 0."""
    return evaluate(expr, known, read=0)


def _share(condition: Expr) -> float:
    """The share of blocks that take a branch: one of n where arrivals are compared with n - 1."""
    if isinstance(condition, ex.Binary) and condition.op == "eq":
        for side in (condition.x, condition.y):
            last = constant(side)
            if last is not None and last >= 1:
                return 1 / (float(last) + 1)
    return 1.0


def in_flight(loop: ins.For) -> int:
    """How many groups of copies are under way while a turn of this loop waits; 0 without copies."""
    waits = [s for s in loop.body if isinstance(s, ins.WaitGroup)]
    groups = min((w.pending for w in waits), default=-1) + 1
    rings = [
        constant(s.dst.memory.shape[0])
        for s in walk(loop.body)
        if isinstance(s, ins.CopyAsync) and s.barrier is not None
    ]
    return max(groups, *(int(slots) - 1 for slots in rings if slots is not None), 0)


def turns_ahead(loop: ins.For) -> int:
    """By how many turns the loop's loads into registers run ahead; 0 where none does.

    What is loaded for a later turn is handed on from turn to turn until it is read.
    """
    handed_to = {c.yielded: c.inner for c in loop.carried if isinstance(c.yielded, Value)}
    deepest = 0
    for value in _far_tiles(loop.body):
        depth, at = 0, value
        while (inner := handed_to.get(at)) is not None and isinstance(inner, Value):
            depth, at = depth + 1, inner
            if depth > len(handed_to):
                break
        deepest = max(deepest, depth)
    return deepest


def _far_tiles(body: Iterable[ins.Stmt]) -> Iterator[Value]:
    """The tiles that a body loads from global memory, by the names that they have after branches."""
    for stmt in body:
        if isinstance(stmt, ins.Load | ins.Gather) and _is_far(stmt):
            yield stmt.out
        elif isinstance(stmt, ins.If):
            inside = set(_far_tiles((*stmt.then, *stmt.otherwise)))
            for joined in stmt.joined:
                if isinstance(joined.result, Value) and inside & {joined.then, joined.otherwise}:
                    yield joined.result


def _is_far(stmt: ins.Load | ins.Gather) -> bool:
    return stmt.region.memory.role is not Role.BUFFER
