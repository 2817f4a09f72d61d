"""Operands of products that turns of the grid compute alike, and whether computing them takes long.

An operand is a tile that a loop makes anew in each iteration of memory that the kernel only reads, by
statements without effects. Turns that differ along axes of the grid on which it does not depend compute
the same. What it costs them is estimated from the statements alone, as layouts come later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from dslc.compiler.analysis.scalar_facts import Facts, kernel_facts
from dslc.compiler.analysis.statement_work import Statements
from dslc.compiler.analysis.weights import packed_freely
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Const, free_vars
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import GridAxis, Kernel, TileProgram
from dslc.compiler.ir.traverse import (
    Body,
    Name,
    entering,
    inner_names,
    names_in,
    regions,
    results,
    uses_of,
    walk,
)
from dslc.compiler.ir.values import Value
from dslc.compiler.ir.workload import range_of
from dslc.compiler.passes.pipelining.prefetchable_loads import (
    COPY_BYTES,
    Ahead,
    constant_memories,
    copy_width,
    is_prefetched,
)
from dslc.compiler.targets import Target
from dslc.compiler.targets.rates import Rates

_SHARE = 0.5  # of the product's time that computing may take beside it
_BITS = (8, 16, 32)
_CONTROL = (ins.For, ins.While, ins.If, ins.WarpSpecialize)
_PURE = (
    ins.Let, ins.Load, ins.Gather, ins.Full, ins.Arange, ins.Unary, ins.Binary, ins.Fma, ins.Where,
    ins.Cast, ins.Transpose, ins.Reshape, ins.Broadcast, ins.Repeat, ins.Concat, ins.Extract,
    ins.Reduce, ins.Scan,
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """An operand of a product in a loop, and the statements that it comes from.

    `axes` are those of the grid on which it depends, `others` all others.
    """

    tile: Value
    loop: ins.For
    before: Body
    inside: Body
    axes: tuple[GridAxis, ...]
    others: tuple[GridAxis, ...]

    @property
    def reuse(self) -> int:
        """How many turns are known to compute it alike."""
        others = (range_of(a.start, a.stop, a.step) for a in self.others)
        return prod(len(turns) for turns in others if turns is not None)


def candidates(kernel: Kernel, target: Target) -> Iterator[Operand]:
    """The operands of a kernel's products that threads would take long to compute in every turn."""
    rates = target.rates
    assert rates is not None
    if kernel.threads is not None or not kernel.grid:
        return
    costs = Statements(target, rates, target.warp_size)
    for loop in kernel.body:
        if not isinstance(loop, ins.For) or not _is_plain(kernel, loop):
            continue
        facts = kernel_facts(kernel)
        facts.assume_range(loop.var, loop.start, loop.stop, loop.step)
        for dot in loop.body:
            if not isinstance(dot, ins.Dot) or dot.is_scaled or len(dot.a.type.shape) != 2:
                continue
            (m, k), n = dot.a.type.shape, dot.b.type.shape[-1]
            rate = _rate(dot, target, rates)
            for tile in (dot.a, dot.b):
                found = _Slice(kernel, loop, tile).operand()
                if found is None or _is_copied(found, facts, target):
                    continue
                if _cycles(found, costs, facts) > _SHARE * m * n * k / rate:
                    yield found


def _rate(dot: ins.Dot, target: Target, rates: Rates) -> float:
    """Multiply-adds in a cycle of the fastest way that there is for a product."""
    a, b, out = (x.type.dtype for x in (dot.a, dot.b, dot.out))
    units = [r for _, bits, r in rates.matrix if bits == a.bits]
    if units and any(atom.takes(a.name, b.name) for atom in target.atoms):
        return max(units)
    return rates.plain_rate(out.bits, out.is_float)


def _cycles(operand: Operand, costs: Statements, facts: Facts) -> float:
    """What an iteration takes for its operand, and an iteration of the loops before it."""
    loops = [s for s in operand.before if isinstance(s, ins.For)]
    repeated = [*operand.inside, *(t for s in loops for t in walk(s.body))]
    rates = costs.rates
    slots = sum(costs.of(s).slots for s in repeated if not isinstance(s, _CONTROL))
    waits = any(_waits(s, facts, costs.target) for s in operand.inside)
    return slots / rates.issue + (rates.latency * rates.clock if waits else 0.0)


def _is_copied(operand: Operand, facts: Facts, target: Target) -> bool:
    """Whether it only lies in memory, from where copies may run ahead: a copy of it gains nothing."""
    return all(isinstance(s, ins.Load) and not _waits(s, facts, target) for s in operand.inside)


def _waits(stmt: Stmt, facts: Facts, target: Target) -> bool:
    """Whether threads wait for memory in every iteration: no copy runs ahead of what they load.

    Where a unit copies boxes, rows that do not begin at multiples of 16 bytes keep it from doing so.
    """
    if isinstance(stmt, ins.Gather):
        return len(stmt.out.type.shape) > 1
    if not isinstance(stmt, ins.Load) or len(stmt.out.type.shape) < 2:
        return False
    width = copy_width(facts, stmt) * stmt.region.memory.dtype.bits // 8
    narrow = width < (COPY_BYTES[0] if target.bulk_copies else COPY_BYTES[-1])
    return narrow and not is_prefetched(Ahead(stmt, (), 0), None)


def _is_plain(kernel: Kernel, loop: ins.For) -> bool:
    """Whether all turns have the same iterations, by a constant step."""
    bounds = free_vars(loop.start) | free_vars(loop.stop)
    step = loop.step.value if isinstance(loop.step, Const) else 0
    return step > 0 and bounds <= {*kernel.dims}


class _Slice:
    """The statements that a tile comes from, in the body of a loop and before it."""

    def __init__(self, kernel: Kernel, loop: ins.For, tile: Value) -> None:
        self.kernel, self.loop, self.tile = kernel, loop, tile
        at = kernel.body.index(loop)
        self.defined: dict[Name, Stmt] = {}
        for stmt in (*kernel.body[:at], *loop.body):
            self.defined.update(dict.fromkeys(results(stmt), stmt))
        self.carried = {c.inner for c in loop.carried}
        weights = {m for m in packed_freely(kernel) if m.dtype.bits <= 8}
        self.readable = constant_memories(kernel.body, kernel.tensors) - weights

    def operand(self) -> Operand | None:
        """None where it has effects, is the same in all iterations, or differs between all turns."""
        if self.tile not in self.defined or self.tile.type.dtype.bits not in _BITS:
            return None
        wanted: dict[Stmt, None] = {}
        used: set[Name] = set()
        open_: list[Name] = [self.tile]
        while open_:
            name = open_.pop()
            used.add(name)
            if name in self.carried:
                return None
            stmt = self.defined.get(name)
            if stmt is None or stmt in wanted:
                continue
            if not self._is_pure(stmt):
                return None
            wanted[stmt] = None
            open_ += _read(stmt)
        inside = tuple(s for s in self.loop.body if s in wanted)
        before = tuple(s for s in self.kernel.body if s in wanted)
        axes = tuple(a for a in self.kernel.grid if a.var in used)
        others = tuple(a for a in self.kernel.grid if a not in axes)
        if self.loop.var not in used or not others or self.defined[self.tile] not in inside:
            return None
        return Operand(self.tile, self.loop, before, inside, axes, others)

    def _is_pure(self, stmt: Stmt) -> bool:
        if isinstance(stmt, ins.For):
            return stmt not in self.loop.body and all(map(self._is_pure, stmt.body))
        read = {r.memory for r in regions(stmt)}
        return isinstance(stmt, _PURE) and read <= self.readable


def _read(stmt: Stmt) -> list[Name]:
    """The names that a statement reads from outside of it."""
    own: set[Name] = {n for s in walk((stmt,)) for n in inner_names(s)}
    if isinstance(stmt, ins.For):
        own |= {n for s in walk(stmt.body) for n in results(s)}
    uses = (*entering(stmt), *(u for s in walk((stmt,)) for u in uses_of(s)))
    return [n for use in uses for n in names_in(use) if n not in own]


def dims_of_reuse(program: TileProgram, target: Target) -> frozenset[str]:
    """The dims that say how many turns compute an operand alike, where it may pay to do so once."""
    if not isinstance(program, Kernel) or target.rates is None:
        return frozenset()
    bounds = (e for x in candidates(program, target) for a in x.others for e in (a.start, a.stop))
    return frozenset(v.name for e in bounds for v in free_vars(e)) & {d.name for d in program.dims}
