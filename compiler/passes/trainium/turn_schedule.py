"""How long turns take whose statements stand in a given order: engines in order, by their times.

A model of the queues of a NeuronCore, coarse enough to ask for every boundary between two stages: an
engine runs what it is given in order, and waits for operands; loads and stores have a queue each and
share the DMA engines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import Body, bodies, handed, operands, tile_of
from dslc.compiler.ir.workload import range_of
from dslc.compiler.passes.trainium.capacity import VIEWS
from dslc.compiler.passes.trainium.engine_times import (
    FEWEST,
    LATENCY,
    Transfer,
    Work,
    negated,
    transfer_of,
    work_of,
)
from dslc.compiler.passes.trainium.lanes import deal
from dslc.compiler.targets.nki import Engines

_TRIPS = 32  # of an inner loop that are looked at
_FEW = 8  # elements of a partition, which stay with the engine that made what they are made of

_AT_ONCE = 0.25  # of a lane: what an engine has done when the next one begins

Share = tuple[str, float]
"""An engine and the ns that it is taken for."""
Strand = tuple[Share, ...]
"""Engines that work one behind another on the same elements, by blocks."""


@dataclass(slots=True)
class Shares:
    """Which engine does a statement, and for how long, by what each has to do in a turn."""

    engines: Engines
    made: Mapping[Value, Stmt]
    of: dict[Stmt, tuple[Strand, ...]] = field(default_factory=dict)
    total: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    @classmethod
    def of_turn(cls, body: Body, made: Mapping[Value, Stmt], engines: Engines) -> Shares:
        """The shares of a body's statements: first what one engine alone can do, then the rest."""
        shares = cls(engines, made)
        repeated = list(_repeated(body, 1))
        works = [(s, n, work) for s, n in repeated if (work := work_of(s, made)) is not None]
        for stmt, times, work in sorted(works, key=lambda w: len(w[2].engines) > 1):
            shares._give(stmt, times, work)
        return shares

    def _give(self, stmt: Stmt, times: int, work: Work) -> None:
        rates = {e: float(getattr(self.engines, e)) for e in work.engines}
        if work.lanes:
            parts = deal(work.lanes, times * work.cycles, self.total, rates)
            dealt = sorted(
                zip(work.lanes, parts, strict=True), key=lambda p: p[0].engine != "gpsimd"
            )
            self.of[stmt] = tuple(
                tuple((e, part * lane.ns(e, work.cycles, rates[e])) for e in lane.engines)
                for lane, part in dealt
                if part
            )
        else:
            self.of[stmt] = ((self._one(stmt, work, rates),),)
        for strand in self.of[stmt]:
            for engine, ns in strand:
                self.total[engine] += times * ns

    def _one(self, stmt: Stmt, work: Work, rates: Mapping[str, float]) -> Share:
        if work.cycles <= _FEW * FEWEST and len(rates) > 1:
            before = next((e for x in operands(stmt) if (e := self.maker(x))), "vector")
            engine = before if before in rates else "vector"
        else:
            engine = min(rates, key=lambda e: self.total[e] + work.cycles / rates[e])
        return engine, work.cycles / rates[engine]

    def maker(self, value: Value) -> str | None:
        """The engine that makes a tile."""
        stmt = self.made.get(value)
        while isinstance(stmt, (*VIEWS, ins.Reduce)) and stmt not in self.of:
            stmt = self.made.get(stmt.x)  # the sum that an instruction makes beside its result
        strands = () if stmt is None else self.of.get(stmt, ())
        return strands[0][-1][0] if strands else None


@dataclass(slots=True)
class Queues:
    """When the engines are free and the tiles of each turn are there."""

    shares: Shares
    free: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    ready: dict[tuple[int, Value], float] = field(default_factory=dict)
    moving: list[tuple[float, float]] = field(default_factory=list)  # of the DMA engines, in order
    end: float = 0.0

    def issue(self, turn: int, body: Sequence[Stmt]) -> None:
        """The statements of a turn behind all that was issued before."""
        for stmt in body:
            if bodies(stmt):
                self._loop(turn, stmt)
                continue
            begin = max((self._ready(turn, x) for x in operands(stmt)), default=0.0)
            done = self._done(stmt, begin)
            tile = tile_of(stmt)
            if tile is not None:
                self.ready[turn, tile] = done
            self.end = max(self.end, done)

    def _ready(self, turn: int, value: Value) -> float:
        return self.ready.get((turn, value), 0.0)

    def _done(self, stmt: Stmt, begin: float) -> float:
        match stmt:
            case ins.Load(out=tile, region=region):
                return self._transfer(begin, transfer_of(self._engines, tile, region, "load"))
            case ins.Store(x=tile, region=region):
                return self._transfer(begin, transfer_of(self._engines, tile, region, "store"))
        strands = self.shares.of.get(stmt, ())
        column = negated(stmt, self.shares.made)
        if column is not None and any(strand[0][0] == "scalar" for strand in strands):
            begin = self._taken("scalar", begin, FEWEST / self._engines.scalar)
        return max((self._passed(strand, begin) for strand in strands), default=begin)

    def _passed(self, strand: Strand, begin: float) -> float:
        """When the last engine of a strand has its result, which works on blocks of the one before."""
        before = done = begin
        for engine, ns in strand:
            start = max(self.free[engine], begin)
            end = max(start + ns, before + _AT_ONCE * ns)
            self.free[engine] = before = end
            done = end + FEWEST / float(getattr(self._engines, engine))
            begin = start + _AT_ONCE * ns
        return done

    def _taken(self, engine: str, begin: float, ns: float) -> float:
        """When the result of an instruction is there that takes an engine so long."""
        return self._passed(((engine, ns),), begin)

    @property
    def _engines(self) -> Engines:
        return self.shares.engines

    def _transfer(self, begin: float, transfer: Transfer) -> float:
        issued = self.free[transfer.queue] = max(self.free[transfer.queue], begin) + transfer.issue
        return self._moved(issued, transfer.busy) + LATENCY

    def _moved(self, begin: float, left: float) -> float:
        """When the DMA engines have moved a transfer's rows, in the time that others leave them."""
        at = begin
        for number, (start, end) in enumerate(self.moving):
            if start - at >= left:
                self.moving.insert(number, (at, at + left))
                return at + left
            if end > at:
                left -= max(0.0, start - at)
                at = end
        self.moving.append((at, at + left))
        return at + left

    def _loop(self, turn: int, stmt: Stmt) -> None:
        carried = [c for c in handed(stmt) if isinstance(c, ins.Carried)]
        for c in carried:
            if isinstance(c.init, Value) and isinstance(c.inner, Value):
                self.ready[turn, c.inner] = self._ready(turn, c.init)
        for _ in range(_trips(stmt)):
            for body in bodies(stmt):
                self.issue(turn, body)
            for c in carried:
                if isinstance(c.yielded, Value) and isinstance(c.inner, Value):
                    self.ready[turn, c.inner] = self._ready(turn, c.yielded)
        for c in carried:
            if isinstance(c.result, Value) and isinstance(c.inner, Value):
                self.ready[turn, c.result] = self._ready(turn, c.inner)


def _trips(stmt: Stmt) -> int:
    if not isinstance(stmt, ins.For):
        return 1
    iterations = range_of(stmt.start, stmt.stop, stmt.step)
    return 1 if iterations is None else min(_TRIPS, len(iterations))


def _repeated(body: Body, times: int) -> Iterator[tuple[Stmt, int]]:
    for stmt in body:
        yield stmt, times
        for nested in bodies(stmt):
            yield from _repeated(nested, times * _trips(stmt))


def in_order(shares: Shares, body: Body, turns: int) -> float:
    """Nanoseconds of so many turns, one behind another."""
    queues = Queues(shares)
    for turn in range(turns):
        queues.issue(turn, body)
    return queues.end


def overlapped(shares: Shares, first: Body, second: Body, turns: int) -> float:
    """Nanoseconds where the first stage of a turn stands before the second one of the turn before."""
    queues = Queues(shares)
    for turn in range(turns):
        queues.issue(turn, first)
        if turn:
            queues.issue(turn - 1, second)
    queues.issue(turns - 1, second)
    return queues.end
