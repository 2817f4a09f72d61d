"""The placement of every tile: the cheapest that coordinate descent finds.

Tiles that one elementwise instruction ties together, and what a loop hands from iteration to iteration,
share a placement. A step moves one group, or the groups of one statement together (a transposition's
operand and result), while the others stand; steps are taken until none makes the kernel cheaper. A
program has few groups, and a step looks at the statements that touch what it moves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import prod

from dslc.compiler.ir import Kernel, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import handed, operands, tile_of, walk
from dslc.compiler.ir.workload import range_of
from dslc.compiler.passes.layouts.layout_regions import Site, find_sites
from dslc.compiler.passes.layouts.relations import alike
from dslc.compiler.passes.trainium.alternatives import Way, candidates, ways
from dslc.compiler.passes.trainium.placement import EVERYWHERE, Placement
from dslc.compiler.passes.trainium.placement_costs import convert, price
from dslc.compiler.targets.nki import Engines

_ROUNDS = 8
_LEAST = 1e-9  # by so much a step must be better: sums of floats round


@dataclass(slots=True)
class Solution:
    """Where each tile lies, and the way of each statement."""

    places: dict[Value, Placement] = field(default_factory=dict)
    ways: dict[Stmt, Way] = field(default_factory=dict)


class _Problem:
    def __init__(self, kernel: Kernel, engines: Engines) -> None:
        self.engines = engines
        self.sites = [s for s in find_sites(kernel) if not isinstance(s.stmt, ins.For | ins.While)]
        self.ways = {s.stmt: ways(s.stmt) for s in self.sites}
        self.once = _once(kernel)
        self.parent: dict[Value, Value] = {}
        for site in find_sites(kernel):
            for value in _tiles(site.stmt):
                self.parent.setdefault(value, value)
            for tied in _ties(site.stmt):
                for other in tied[1:]:
                    self.parent[self.root(other)] = self.root(tied[0])
        self.touching: defaultdict[Value, list[Site]] = defaultdict(list)
        for site in self.sites:
            for root in {self.root(v) for v in _tiles(site.stmt)}:
                self.touching[root].append(site)

    def root(self, value: Value) -> Value:
        while self.parent[value] is not value:
            self.parent[value] = value = self.parent[self.parent[value]]
        return value

    def best(self, stmt: Stmt, chosen: dict[Value, Placement]) -> tuple[float, Way | None]:
        """The cheapest way of a statement, where the groups lie as chosen."""
        cheapest: tuple[float, Way | None] = (0.0, None)
        for way in self.ways[stmt]:
            cost = price(self.engines, stmt, way) * self.once.get(stmt, 1.0)
            out = tile_of(stmt)
            pairs = [(chosen[self.root(x)], p, x) for x, p in way.operands.items()]
            if out is not None and way.out is not None:
                pairs.append((way.out, chosen[self.root(out)], out))
            for here, there, x in pairs:
                cost += convert(self.engines, here, there, x.type.shape, x.type.dtype)
            if cheapest[1] is None or cost < cheapest[0]:
                cheapest = cost, way
        return cheapest

    def around(self, roots: Iterable[Value], chosen: dict[Value, Placement]) -> float:
        """What the statements that touch some groups cost."""
        sites = {id(s): s for root in roots for s in self.touching[root]}
        return sum(s.weight * self.best(s.stmt, chosen)[0] for s in sites.values())

    def steps(self) -> Iterator[dict[Value, Placement]]:
        """What a step of the descent may change: one group, or the groups of a statement together."""
        for root in dict.fromkeys(self.root(v) for v in self.parent):
            for place in candidates(root.type.shape):
                yield {root: place}
        for stmt, choices in self.ways.items():
            out = tile_of(stmt)
            for way in choices:
                step = {self.root(x): place for x, place in way.operands.items()}
                if out is not None and way.out is not None:
                    step[self.root(out)] = way.out
                if len(step) > 1:
                    yield step

    def descend(self, chosen: dict[Value, Placement]) -> dict[Value, Placement]:
        """Where steps lead from there, until none makes the kernel cheaper."""
        steps = list(self.steps())
        for _ in range(_ROUNDS):
            changed = False
            for step in steps:
                if all(chosen[root] == place for root, place in step.items()):
                    continue
                moved = {**chosen, **step}
                if self.around(step, moved) < self.around(step, chosen) * (1 - _LEAST):
                    chosen, changed = moved, True
            if not changed:
                break
        return chosen

    def total(self, chosen: dict[Value, Placement]) -> float:
        """What the kernel costs with these placements."""
        return sum(s.weight * self.best(s.stmt, chosen)[0] for s in self.sites)


def solve(kernel: Kernel, engines: Engines) -> Solution:
    """Placements for all tiles of a kernel."""
    problem = _Problem(kernel, engines)
    roots = dict.fromkeys(problem.root(v) for v in problem.parent)
    first = {root: candidates(root.type.shape)[0] for root in roots}
    chosen = problem.descend(first)
    if problem.once:  # vectors on all partitions let rows stay where they are: a descent of its own
        spread = {r: EVERYWHERE if r.type.rank < 2 else place for r, place in first.items()}
        chosen = min((chosen, problem.descend(spread)), key=problem.total)
    solution = Solution({v: chosen[problem.root(v)] for v in problem.parent})
    for site in problem.sites:
        way = problem.best(site.stmt, chosen)[1]
        if way is not None:
            solution.ways[site.stmt] = way
    return solution


def _once(kernel: Kernel) -> dict[Stmt, float]:
    """The share of turns that carry out what is the same in all: a load and what is made of it stay.

    Products take their operands in a placement of their own, whatever a load costs.
    """
    if any(isinstance(s, ins.Dot) for s in walk(kernel.body)):
        return {}
    counters = {a.var for a in kernel.grid}
    counters |= {s.var for s in walk(kernel.body) if isinstance(s, ins.For)}
    ranges = [range_of(a.start, a.stop, a.step) for a in kernel.grid]
    share = 1 / prod(len(r) if r else 1 for r in ranges)
    shares: dict[Stmt, float] = {}
    once: set[Value] = set()
    for stmt in walk(kernel.body):
        match stmt:
            case ins.Load(out=out, region=region):
                same = not any(counters & set(ex.free_vars(a.start)) for a in region.axes)
            case ins.Cast(out=out, x=x) | ins.Unary(out=out, x=x) | ins.Broadcast(out=out, x=x):
                same = x in once
            case _:
                continue
        if same:
            shares[stmt] = share
            once.add(out)
    return shares


def _tiles(stmt: Stmt) -> list[Value]:
    tiles = list(operands(stmt))
    out = tile_of(stmt)
    if out is not None:
        tiles.append(out)
    for h in handed(stmt):
        parts = (h.result, *_ways_in(h))
        tiles += [v for v in parts if isinstance(v, Value)]
    return tiles


def _ways_in(h: ins.Carried | ins.Joined) -> tuple[object, ...]:
    return (h.inner, h.init, h.yielded) if isinstance(h, ins.Carried) else (h.then, h.otherwise)


def _ties(stmt: Stmt) -> list[tuple[Value, ...]]:
    groups = [alike(stmt)]
    for h in handed(stmt):
        groups.append(tuple(v for v in (h.result, *_ways_in(h)) if isinstance(v, Value)))
    return [t for t in groups if t]
