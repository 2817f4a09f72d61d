"""What one block of a kernel does from begin to end, for known dims and iterations of its loops.

Loops and branches whose course depends on the turn are counted over a sample of turns, as
`dslc.compiler.ir.workload` does.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from dslc.compiler.analysis.amounts import Flight, Work
from dslc.compiler.analysis.statement_work import Statements, overlapped, region_bytes
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant, evaluate
from dslc.compiler.ir.expr import Const, Expr
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.traverse import Body, operands, walk
from dslc.compiler.ir.values import Memory, Region, Role, Value
from dslc.compiler.ir.workload import Known, range_of, sampled, value_of

_LOOP = 8.0  # instructions of each warp around an iteration of a loop
_BRANCH = 3.0
_ITERATIONS = 16  # of a loop whose bounds are not known
_BESIDE = 4.0  # how wholly products overlap with what else an iteration does
_FILLING = 1 / 8  # of it: those bytes are among what memory takes time for
_HELD = 0.5  # of products that read registers: as long the warps cannot go on
_LISTED = 512  # iterations of a loop whose branches are all looked at
_SAMPLES = 4  # iterations of a loop whose work differs from iteration to iteration
_LAST = 3  # turns of a block that are looked at one by one


def block_work(kernel: Kernel, known: Known, costs: Statements, *, ahead: int = 0) -> Work:
    """The work of the block of one turn of the grid; `known` has the dims and the grid's variables.

    With `ahead` loads in loops are taken to be under way by so many iterations, where nothing says how
    many.
    """
    walk_ = _Walk(costs, rings_of(kernel), ahead)
    work = walk_.body(kernel.body, known)
    if walk_.rings:  # until the first slot of each is full, as all blocks fill theirs
        slots = sum(r.bytes for r in walk_.rings.values())
        fill = slots * costs.target.units / costs.rates.read
        work.waits += 1 + _FILLING * fill / costs.rates.latency
    return work


def iteration_work(loop: ins.For, known: Known, costs: Statements) -> Work:
    """The work of the first iteration of a loop."""
    start = _settled(loop.start, known)
    first = {loop.var: Const(0 if start is None else int(start), INDEX)}
    work = _Walk(costs).body(loop.body, known | first)
    costs.control(work, _LOOP)
    return work


@dataclass(frozen=True, slots=True)
class Ring:
    """A buffer that producer warps fill: its slots, and the bytes of one."""

    slots: int
    bytes: float


def rings_of(kernel: Kernel) -> dict[Memory, Ring]:
    """The rings that producer warps fill."""
    specialized = [s for s in kernel.body if isinstance(s, ins.WarpSpecialize)]
    copies = [s for a in specialized for s in walk(a.body) if isinstance(s, ins.CopyAsync)]
    rings = {}
    for copy in copies:
        slots = constant(copy.dst.memory.shape[0])
        if slots is not None and copy.src.memory.role is not Role.BUFFER:
            rings[copy.dst.memory] = Ring(int(slots), region_bytes(copy.src))
    return rings


class _Walk:
    def __init__(
        self, costs: Statements, rings: Mapping[Memory, Ring] | None = None, ahead: int = 0
    ) -> None:
        self.costs, self.rings, self.ahead = costs, rings or {}, ahead

    def body(self, body: Iterable[ins.Stmt], known: Known) -> Work:
        total = Work()
        known = dict(known)
        loaded: dict[Value, float] = {}  # tiles whose bytes are still under way, and for how long
        for stmt in body:
            if loaded and not loaded.keys().isdisjoint(operands(stmt)):
                total.waits += max(loaded.values())
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
                case ins.WarpSpecialize():
                    beside = self.body(stmt.body, known)
                    total.add(replace(beside, path=0.0, waits=0.0, flights=[]))
                case _:
                    total.add(self.costs.of(stmt))
                    if isinstance(stmt, ins.Load | ins.Gather) and _is_far(stmt):
                        loaded[stmt.out] = self.costs.wait(stmt.region)
        return total

    def _loop(self, loop: ins.For, known: Known, total: Work) -> None:
        iterations = range_of(loop.start, loop.stop, loop.step, known)
        if iterations is None:
            bounds = [_settled(e, known) for e in (loop.start, loop.stop, loop.step)]
            start, stop, step = (None if b is None else int(b) for b in bounds)
            known_all = start is not None and stop is not None and step
            iterations = (
                range(start or 0, stop or 0, step or 1) if known_all else range(_ITERATIONS)
            )
        if not iterations:
            return
        filled = [self.rings[m] for m in _read(loop.body) if m in self.rings]
        depth = in_flight(loop) or iterations_ahead(loop)
        if not depth and self.ahead and any(_is_far_load(s) for s in loop.body):
            depth = self.ahead
        for at, times in _points(loop, iterations, known):
            here = known | {loop.var: Const(at, INDEX)}
            one = self.body(loop.body, here)
            if depth and self.ahead:
                one.waits = 0.0
            self.costs.control(one, _LOOP)
            if beside := self._running_on(loop):
                one.path = overlapped([one.path - beside, one.matrix], _BESIDE)
            one.path += self._in_step(loop) if depth == 1 and not filled else 0.0
            if filled:
                loaded = sum(r.bytes for r in filled)
                ahead = min(r.slots for r in filled) - 1 - _is_kept(loop)
                one.flights.append(Flight(1, one.path, loaded, max(1, ahead)))
            elif depth:
                late = self._before_copies(loop, here)
                one.flights.append(Flight(1, one.path, sum(one.loaded.values()), depth, late))
            total.add(one, times)
        total.waits += bool(depth)

    def _running_on(self, loop: ins.For) -> float:
        """The cycles of an iteration's products that run on while the next iteration begins."""
        waits = [s.pending for s in loop.body if isinstance(s, ins.WaitDots)]
        if not waits or not all(waits):
            return 0.0
        return sum(
            self.costs.of(s).path * (_HELD if any(x.type.layout for x in (s.a, s.b)) else 1.0)
            for s in loop.body
            if isinstance(s, ins.Dot)
        )

    def _in_step(self, loop: ins.For) -> float:
        """What products wait for those of other warps, where a ring keeps all in one iteration."""
        works = [self.costs.of(s) for s in loop.body if isinstance(s, ins.Dot) and s.is_async]
        return sum(max(0.0, w.matrix - w.path) for w in works) if len(works) == 1 else 0.0

    def _before_copies(self, loop: ins.For, known: Known) -> float:
        """The cycles of an iteration before it starts copies, products that run on left out."""
        starts = (i for i, s in enumerate(loop.body) if _copies(s))
        before = loop.body[: next(starts, 0)]
        return self.body([s for s in before if not isinstance(s, ins.Dot)], known).path

    def _branch(self, branch: ins.If, known: Known, total: Work) -> None:
        self.costs.control(total, _BRANCH)
        chosen = value_of(branch.condition, known)
        if chosen is not None:
            total.add(self.body(branch.then if chosen else branch.otherwise, known))
            return
        sides = [self.body(b, known) for b in (branch.then, branch.otherwise)]
        longer = max(sides, key=lambda w: w.slots)
        times = _share(branch.condition, known)
        if times < 1:
            cycles = longer.path + longer.waits * self.costs.rates.latency * self.costs.rates.clock
            total.last = max(total.last, cycles)
            longer = replace(longer, path=0.0, waits=0.0, flights=[])
        total.add(longer, times)


def _copies(stmt: ins.Stmt) -> bool:
    return any(isinstance(s, ins.CopyAsync) for s in walk((stmt,)))


def _read(body: Body) -> set[Memory]:
    """The buffers that a body reads, but for its inner loops."""
    return {s.region.memory for s in body if isinstance(s, ins.Load)}


def _is_kept(loop: ins.For) -> bool:
    """Whether a slot is freed late in the next iteration: once that has made its operand ready."""
    dots = [s for s in loop.body if isinstance(s, ins.Dot) and s.is_async]
    return any(x.type.layout is not None for s in dots for x in (s.a, s.b))


def _points(loop: ins.For, iterations: range, known: Known) -> list[tuple[int, float]]:
    """Iterations of a loop that are looked at, and how many each stands for.

    Those that take the same branches are alike. Of a loop around loops, a block's turns, the last ones
    may be shared and count by themselves.
    """
    branches = [s.condition for s in loop.body if isinstance(s, ins.If)]
    simple = not any(isinstance(s, ins.For | ins.While) for s in loop.body)
    if simple and branches and len(iterations) <= _LISTED:
        ways: dict[tuple[int | None, ...], list[int]] = {}
        for at in iterations:
            here = known | {loop.var: Const(at, INDEX)}
            ways.setdefault(tuple(value_of(b, here) for b in branches), []).append(at)
        if len(ways) <= _SAMPLES and not any(None in way for way in ways):
            return [(every[len(every) // 2], float(len(every))) for every in ways.values()]
    if any(isinstance(s, ins.For | ins.While) for s in loop.body):
        last = iterations[-_LAST:] if len(iterations) > _LAST else iterations[:0]
        first, most = iterations[: len(iterations) - len(last)], _SAMPLES // 2
    else:
        last, first = iterations[:0], iterations
        most = _SAMPLES if any(isinstance(s, ins.If) for s in loop.body) else 1
    points = [at for (at,) in sampled([first])]
    points = points[:: max(1, len(points) // most)] if most > 1 else points[:1]
    return [(at, len(first) / len(points)) for at in points] + [(at, 1.0) for at in last]


def _settled(expr: Expr, known: Known) -> int | float | bool | None:
    """The value of an expression where what was read from memory counts as 0."""
    return evaluate(expr, known, read=0)


def _share(condition: Expr, known: Known) -> float:
    """The share of blocks that take a branch: one of n where arrivals are compared with n - 1."""
    if isinstance(condition, ex.Binary) and condition.op == "eq":
        for side in (condition.x, condition.y):
            last = value_of(side, known)
            if last is not None and last >= 1:
                return 1 / (float(last) + 1)
    return 1.0


def in_flight(loop: ins.For) -> int:
    """How many iterations' copies are under way while an iteration of this loop waits; 0 without
    copies.

    Slots of a ring that wait for their barriers are filled so many iterations before they are read.
    """
    waits = [s for s in loop.body if isinstance(s, ins.WaitGroup)]
    groups = min((w.pending for w in waits), default=-1) + 1
    copies = [s for s in walk(loop.body) if isinstance(s, ins.CopyAsync) and s.barrier is not None]
    if groups or not copies or not any(isinstance(s, ins.AwaitPhase) for s in loop.body):
        return groups
    read = {s.region.memory: s.region for s in loop.body if isinstance(s, ins.Load)}
    pairs = [(s.dst, read[s.dst.memory]) for s in copies if s.dst.memory in read]
    ahead = [_first(dst, loop) - _first(src, loop) for dst, src in pairs]
    return max(1, min(ahead, default=1))


def _first(region: Region, loop: ins.For) -> int:
    """The slot of a ring that a region takes in a loop's first iteration."""
    start = region.axes[0].start
    inits = (c.init for c in loop.carried if c.inner is start and not isinstance(c.init, Value))
    first = next((constant(init) for init in inits), None)
    return 0 if first is None else int(first)


def iterations_ahead(loop: ins.For) -> int:
    """By how many iterations the loop's loads into registers run ahead; 0 where none does.

    What is loaded for a later iteration is handed on from iteration to iteration until it is read.
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


def _is_far_load(stmt: ins.Stmt) -> bool:
    return isinstance(stmt, ins.Load) and _is_far(stmt)


def _is_far(stmt: ins.Load | ins.Gather) -> bool:
    return stmt.region.memory.role is not Role.BUFFER
