"""The work of the engines of a core: which of them copies, and what each has of a chain.

Both the vector and the scalar engine reach PSUM and convert floats. Which one copies is chosen where a
copy is written out: the one that would be done first with all that it has so far, by the documented
cycles. What only one of them can do is counted before; so are the chains, until they are written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

from dslc.compiler.ir import GridAxis, Kernel, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import Body, bodies, tile_of, walk
from dslc.compiler.passes.trainium.engine_times import FEWEST, work_of
from dslc.compiler.passes.trainium.lanes import ENGINES, Lane, deal
from dslc.compiler.passes.trainium.placement import chunks, counts, placement_of
from dslc.compiler.targets.nki import Engines

_KINDS = (ins.Binary, ins.Where, ins.Fma, ins.Unary, ins.Reduce, ins.Fused)
"""Statements whose work is known before they are written out."""


@dataclass(slots=True)
class Shares:
    """The work of the engines in nanoseconds, and how often each statement of the kernel runs.

    `dealt` is what a chain is taken to be until it is written out.
    """

    engines: Engines
    runs: dict[Stmt, int] = field(default_factory=dict)
    total: dict[str, float] = field(default_factory=lambda: dict.fromkeys(ENGINES, 0.0))
    dealt: dict[Stmt, dict[str, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, kernel: Kernel, engines: Engines) -> Shares:
        """With the work of a kernel that no copy is."""
        shares = cls(engines)
        turns = prod(_trip_count(a) for a in kernel.grid)
        shares.runs = dict(_repeated(kernel.body, turns))
        shares._count(kernel.body)
        return shares

    @classmethod
    def of_iteration(cls, body: Body, engines: Engines) -> Shares:
        """The same of a body, once."""
        shares = cls(engines, dict(_repeated(body, 1)))
        shares._count(body)
        return shares

    def _count(self, body: Body) -> None:
        """What one engine alone can do, then the chains."""
        made = {v: s for s in walk(body) if (v := tile_of(s)) is not None}
        for stmt, runs in self.runs.items():
            if isinstance(stmt, ins.Dot) and stmt.acc is not None:
                self.total["vector"] += runs * _cycles(stmt.out) / self.engines.vector
            work = work_of(stmt, made) if isinstance(stmt, _KINDS) and _is_placed(stmt) else None
            if work is None:
                continue
            if work.lanes:
                self.dealt[stmt] = {}
            elif len(work.engines) == 1:
                (engine,) = work.engines
                self.total[engine] += runs * work.cycles / self._clock(engine)
        for stmt in self.dealt:
            work = work_of(stmt, made)
            assert work is not None
            self.deal(stmt, work.lanes, work.cycles, 1)

    def take(self, stmt: Stmt | None, columns: int, times: int) -> str:
        """The engine that copies so many columns so many times in a turn: vector or scalar."""
        cycles = max(FEWEST, columns) * times * self._runs(stmt)
        after = {e: self.total[e] + cycles / self._clock(e) for e in ("vector", "scalar")}
        engine = "scalar" if after["scalar"] < after["vector"] else "vector"
        self.total[engine] = after[engine]
        return engine

    def takes_scalar(self, stmt: Stmt | None, columns: int, times: int) -> None:
        """The scalar engine has so many columns to do, whoever is sooner done."""
        cycles = max(FEWEST, columns) * times * self._runs(stmt)
        self.total["scalar"] += cycles / self.engines.scalar

    def deal(
        self, stmt: Stmt | None, ways: Sequence[Lane], columns: float, times: int
    ) -> list[float]:
        """The parts of a chain's columns that the lanes take, with what they have besides."""
        cycles = max(FEWEST, columns) * times * self._runs(stmt)
        for engine, ns in (self.dealt.get(stmt, {}) if stmt is not None else {}).items():
            self.total[engine] -= ns
        clocks = {e: self._clock(e) for e in ENGINES}
        once = self._runs(stmt) < max(self.runs.values(), default=1)
        # What runs outside of the turns is waited for: others have nothing to do then.
        parts = deal(ways, cycles, {} if once else self.total, clocks)
        taken = {
            e: sum(
                part * lane.ns(e, cycles, clocks[e]) for part, lane in zip(parts, ways, strict=True)
            )
            for e in ENGINES
        }
        for engine, ns in taken.items():
            self.total[engine] += ns
        if stmt is not None:
            self.dealt[stmt] = taken
        return parts

    def _runs(self, stmt: Stmt | None) -> int:
        return 1 if stmt is None else self.runs.get(stmt, 1)

    def _clock(self, engine: str) -> float:
        return float(getattr(self.engines, engine))


def _is_placed(stmt: Stmt) -> bool:
    tile = stmt.x if isinstance(stmt, ins.Reduce) else tile_of(stmt)
    return tile is not None and tile.type.layout is not None


def _repeated(body: Body, runs: int) -> Iterator[tuple[Stmt, int]]:
    """Each statement, and how often it runs."""
    for stmt in body:
        yield stmt, runs
        inner = runs * _trip_count(stmt) if isinstance(stmt, ins.For) else runs
        for nested in bodies(stmt):
            yield from _repeated(nested, inner)


def _trip_count(loop: ins.For | GridAxis) -> int:
    start, stop, step = (_known(e) for e in (loop.start, loop.stop, loop.step))
    if start is None or stop is None or not step:
        return 1  # not known: as if it ran once
    return max(0, -((start - stop) // step))


def _known(expr: ex.Expr) -> int | None:
    number = constant(expr)
    return None if number is None else int(number)


def _cycles(value: Value) -> int:
    """Of an instruction that takes one for each element of a partition."""
    place = None if value.type.layout is None else placement_of(value.type.layout)
    if place is None:
        return 0
    _, each = counts(place, value.type.shape)
    return chunks(place, value.type.shape) * max(FEWEST, each)
