"""Copies between on-chip memories, shared out between the vector and the scalar engine.

Both reach PSUM and both convert floats. Which one copies is chosen where a copy is written out: the one
that would be done first with all that it has so far, by the documented cycles. What only one of them
can do is counted before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

from dslc.compiler.ir import GridAxis, Kernel, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import Body, bodies, tile_of, walk
from dslc.compiler.passes.trainium.engine_times import AFFINE, FEWEST, TABLES
from dslc.compiler.passes.trainium.placement import chunks, counts, placement_of
from dslc.compiler.passes.trainium.select_instructions import is_column, is_row_sum
from dslc.compiler.targets.nki import Engines

_UNIT = 64  # columns
_WORTH = 0.9  # of the longest engine's time: what parts have to save
_PASSES: dict[type, int] = {ins.Binary: 2, ins.Where: 2, ins.Fma: 4, ins.Unary: 1, ins.Reduce: 1}


@dataclass(slots=True)
class Shares:
    """The work of both engines in nanoseconds, and how often each statement of the kernel runs.

    `shareable` is what GpSimd can do a part of, of the vector engine's, by the first statement of the
    body that it stands in; `heads` are those of all statements.
    """

    engines: Engines
    runs: dict[Stmt, int] = field(default_factory=dict)
    vector: float = 0.0
    scalar: float = 0.0
    gpsimd: float = 0.0
    shareable: defaultdict[Stmt, float] = field(default_factory=lambda: defaultdict(float))
    heads: dict[Stmt, Stmt] = field(default_factory=dict)
    made: dict[Value, Stmt] = field(default_factory=dict)

    @classmethod
    def of(cls, kernel: Kernel, engines: Engines) -> Shares:
        """With the work that cannot be shared."""
        work = cls(engines)
        work.made = {v: s for s in walk(kernel.body) if (v := tile_of(s)) is not None}
        for stmt, runs, head in _repeated(kernel.body, prod(_trip_count(a) for a in kernel.grid)):
            work.runs[stmt], work.heads[stmt] = runs, head
            work._fixed(stmt, runs)
        return work

    @classmethod
    def of_iteration(cls, body: Body, engines: Engines) -> Shares:
        """The work of a body that cannot be shared, once."""
        work = cls(engines)
        for stmt, runs, head in _repeated(body, 1):
            work.heads[stmt] = head
            work._fixed(stmt, runs)
        return work

    def _fixed(self, stmt: Stmt, runs: int) -> None:
        out = tile_of(stmt)
        if isinstance(stmt, ins.Reduce):
            out = stmt.x
            if isinstance(self.made.get(out), ins.Fused) and is_row_sum(stmt):
                return  # with what makes it
        if out is None:
            return
        cycles = runs * _cycles(out)
        if isinstance(stmt, ins.Unary) and stmt.op in TABLES:
            self.scalar += cycles / self.engines.scalar
        elif isinstance(stmt, ins.Fused):
            passes = _by_engine(stmt, self.made)
            self.scalar += passes[0] * cycles / self.engines.scalar
            self.vector += passes[1] * cycles / self.engines.vector
            if passes[1] == 2 and stmt.steps in ("add", "mul"):
                self.shareable[self.heads[stmt]] += 2 * cycles / self.engines.vector
        elif isinstance(stmt, ins.Dot) and stmt.acc is not None:
            self.vector += cycles / self.engines.vector
        else:
            self.vector += _PASSES.get(type(stmt), 0) * cycles / self.engines.vector

    def take(self, stmt: Stmt | None, columns: int, times: int) -> str:
        """The engine that copies so many columns so many times in a turn: vector or scalar."""
        cycles = max(FEWEST, columns) * times * (1 if stmt is None else self.runs.get(stmt, 1))
        vector = self.vector + cycles / self.engines.vector
        scalar = self.scalar + cycles / self.engines.scalar
        if scalar < vector:
            self.scalar = scalar
            return "scalar"
        self.vector = vector
        return "vector"

    def takes_scalar(self, stmt: Stmt | None, columns: int, times: int) -> None:
        """The scalar engine has so many columns to do, whoever is sooner done."""
        runs = 1 if stmt is None else self.runs.get(stmt, 1)
        self.scalar += max(FEWEST, columns) * times * runs / self.engines.scalar

    def columns_of_vector(self, stmt: Stmt | None, columns: int, times: int, unit: int = 1) -> int:
        """Of an operation on two tiles the columns that stay with the vector engine, all or some.

        They are a multiple of `unit`.
        """
        known = stmt is not None and self.runs.get(stmt, 0) and columns
        if not known or not self.engines.copies:  # on v2 both share their way to SBUF
            return columns
        assert stmt is not None
        cycles = 2 * max(FEWEST, columns) * times * self.runs[stmt]
        mine, others = cycles / self.engines.vector, cycles / self.engines.gpsimd
        # Who waits for the only such operation has it soonest where both are done together; of several
        # an engine may take whole ones.
        alone = self.shareable[self.heads[stmt]] < 2 * mine
        most = mine if alone else mine + others
        part = min(most, max(0.0, self.vector - self.gpsimd)) / (mine + others)
        unit *= max(1, _UNIT // unit)
        moved = int(part * columns) // unit * unit
        if moved < columns // 8:
            return columns
        self.vector -= mine * moved / columns
        self.gpsimd += others * moved / columns
        return columns - moved

    def may_part(self, stmt: Stmt | None, columns: int, times: int) -> bool:
        """Whether an operation with a column and a tile is to be one of the scalar engine, then one of
        two tiles; the scalar engine's part is taken.
        """
        known = stmt is not None and self.runs.get(stmt, 0) and columns
        if not known or not self.engines.copies:
            return False
        assert stmt is not None
        cycles = max(FEWEST, columns) * times * self.runs[stmt]
        scalar = self.scalar + cycles / self.engines.scalar
        mine, others = 2 * cycles / self.engines.vector, 2 * cycles / self.engines.gpsimd
        part = min(1.0, max(0.0, (self.vector - self.gpsimd) / (mine + others)))
        after = max(scalar, self.vector - part * mine, self.gpsimd + part * others)
        alone = self.vector - sum(self.shareable.values()) * mine / (mine + others)
        if after > _WORTH * max(self.scalar, alone, self.gpsimd):
            return False
        self.scalar = scalar
        return True


def _by_engine(stmt: ins.Fused, made: Mapping[Value, Stmt]) -> tuple[int, int]:
    """Cycles for an element on the scalar and the vector engine; none of what either can do."""
    steps = stmt.steps.split()
    if any(s not in ins.FUSED_OPS for s in steps):
        return 1, 0
    if not all(is_column(x, made) for x in stmt.xs[1:]):
        return 0, 2
    return 0, int(steps not in AFFINE)


def _repeated(body: Body, runs: int) -> Iterator[tuple[Stmt, int, Stmt]]:
    """Each statement, how often it runs, and the first one of its body."""
    for stmt in body:
        yield stmt, runs, body[0]
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
