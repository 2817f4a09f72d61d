"""The layout of every region, by cost.

Products come first: for each, the ways to share it among the warps are tried with all that follows from
them, and the cheapest whole is kept. From them layouts spread to their neighbours, the heaviest first,
each region taking the cheapest of what its neighbours and its accesses to memory propose.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

from dslc.compiler.ir import Kernel, Memory, Role, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir import values as iv
from dslc.compiler.ir.affine import constant
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import Part, fields, operands, results
from dslc.compiler.layout import Layout
from dslc.compiler.passes.gpu_layout import cost
from dslc.compiler.passes.gpu_layout.blocked import blocked, vector_of
from dslc.compiler.passes.gpu_layout.matrix import Plan, plans
from dslc.compiler.passes.gpu_layout.regions import Region, Regions, Site, find_regions
from dslc.compiler.passes.gpu_layout.relations import (
    ELEMENTWISE,
    alike,
    of_scalar,
    operand_layout,
    result_layout,
)
from dslc.compiler.targets import Target

Assignment = dict[Region, Layout]
_SWEEPS = 3


@dataclass(slots=True)
class Solution:
    """What the pass decided: a layout a region, a plan a Dot, the layouts of memory accesses."""

    regions: Regions
    layouts: Assignment
    plans: dict[ins.Dot, Plan]
    accesses: dict[Stmt, Layout]
    threads: int

    def layout(self, value: Value) -> Layout | None:
        """The layout of a tile; None for one that is made as asked."""
        region = self.regions.of.get(value)
        return None if region is None else self.layouts[region]


class Solver:
    """Finds the layouts of one kernel over `threads` threads."""

    def __init__(self, kernel: Kernel, target: Target, threads: int) -> None:
        self.target, self.threads, self.warp = target, threads, target.warp_size
        self.regions = find_regions(kernel)
        self._known: dict[Layout, Layout] = {}
        self._costs: dict[tuple[object, ...], float] = {}
        self._plans: dict[Site, list[Plan]] = {}
        self._blocked: dict[Region, list[Layout]] = {}
        self.touching: dict[Region, list[Site]] = {r: [] for r in self.regions.all}
        self.touched: dict[Site, tuple[Region, ...]] = {}
        for site in self.regions.sites:
            self._connect(site)

    def _connect(self, site: Site) -> None:
        tiles = [v for v in (*results(site.stmt), *operands(site.stmt)) if isinstance(v, Value)]
        found = dict.fromkeys(self.regions.of[v] for v in tiles if v in self.regions.of)
        self.touched[site] = tuple(found)
        for region in found:
            self.touching[region].append(site)
        if isinstance(site.stmt, ins.Dot):
            self._plans[site] = [
                Plan(p.atom, *map(self.intern, (p.a, p.b, p.c)), p.cycles)
                for p in plans(site.stmt, self.target, self.threads)
            ]

    def intern(self, layout: Layout) -> Layout:
        """One object for equal layouts, so that costs are kept by identity."""
        return self._known.setdefault(layout, layout)

    def solve(self) -> Solution:
        """The cheapest layouts found."""
        chosen: Assignment = {}
        for region in self.regions.all:
            if region.fixed is not None:
                chosen[region] = self.intern(region.fixed)
        options = {r: self._products(r) for r in self.regions.all if r not in chosen}
        options = {r: found for r, found in options.items() if found}
        chosen.update({r: found[0] for r, found in options.items()})
        best = self.spread(chosen)
        price = self.total(best)
        for _ in range(_SWEEPS if len(options) > 1 else 1):
            before = price
            for region, found in options.items():
                for layout in found:
                    tried = self.spread(chosen | {region: layout})
                    if (now := self.total(tried)) < price:
                        best, price = tried, now
                        chosen = chosen | {region: layout}
            if price == before:
                break
        return self._solution(best)

    def _solution(self, best: Assignment) -> Solution:
        plans_of: dict[ins.Dot, Plan] = {}
        accesses: dict[Stmt, Layout] = {}
        for site in self.regions.sites:
            stmt = site.stmt
            if isinstance(stmt, ins.Dot):
                if found := self._plan(site, best):
                    plans_of[stmt] = found[0]
            elif isinstance(stmt, ins.Load | ins.Store):
                tile = stmt.out if isinstance(stmt, ins.Load) else stmt.x
                if (region := self.regions.of.get(tile)) is not None:
                    accesses[stmt] = self._access(site, best[region])[0]
                else:
                    accesses[stmt] = self._variants(tile.type.shape, stmt.region)[0]
        return Solution(self.regions, best, plans_of, accesses, self.threads)

    # Candidates

    def _products(self, region: Region) -> list[Layout]:
        """The results' layouts of the Dots of a region, the cheapest plan's first."""
        found: list[tuple[float, Layout]] = []
        for site in self.touching[region]:
            if isinstance(site.stmt, ins.Dot) and self.regions.of[site.stmt.out] is region:
                found += [(p.cycles * site.weight, p.c) for p in self._plans[site]]
        found.sort(key=lambda pair: pair[0])
        return list({id(c): c for _, c in found}.values())

    def _candidates(self, region: Region, chosen: Assignment) -> list[Layout]:
        found: list[Layout] = []
        for site in self.touching[region]:
            found += self._proposed(site, region, chosen)
        found += self._memory_layouts(region)
        return list({id(x): x for x in map(self.intern, found)}.values())

    def _proposed(self, site: Site, region: Region, chosen: Assignment) -> Iterator[Layout]:
        """What a statement proposes for a region, by the layouts at its other side."""
        stmt = site.stmt
        out = _result(stmt)
        if out is None:
            return
        mine = self.regions.of.get(out) is region
        there = self._of(out, chosen)
        for x in _tile_operands(stmt):
            if isinstance(stmt, ins.Dot):
                if not mine and there is not None and self.regions.of.get(x) is region:
                    yield from (p.a if x is stmt.a else p.b for p in self._fitting(site, there))
                continue
            proposed = None
            if mine and (given := self._of(x, chosen)) is not None:
                proposed = result_layout(stmt, given)
            elif self.regions.of.get(x) is region and there is not None:
                proposed = operand_layout(stmt, x, there)
            if proposed is not None:
                yield proposed

    def _memory_layouts(self, region: Region) -> list[Layout]:
        if region not in self._blocked:
            found: list[Layout] = []
            for site in self.touching[region]:
                stmt = site.stmt
                if isinstance(
                    stmt, ins.Load | ins.Store | ins.AtomicAdd | ins.Gather | ins.Scatter
                ):
                    found += self._variants(region.shape, stmt.region)
            if not found:
                found = self._variants(region.shape, None)
            self._blocked[region] = list({id(x): x for x in found}.values())
        return self._blocked[region]

    def _variants(self, shape: tuple[int, ...], region: iv.Region | None) -> list[Layout]:
        """Blocked layouts for a tile: along the contiguous axis first, or a warp along it."""
        bits = region.memory.dtype.bits if region is not None else 32
        axis = contiguous_axis(region) if region is not None else None
        extent = shape[len(shape) - 1 if axis is None else axis] if shape else 1
        widest = vector_of(extent, bits) if region is None or axis is not None else 1
        found: list[Layout] = []
        vector = widest
        while vector:
            for most in (None, self.warp):
                found.append(self.intern(blocked(shape, self.threads, vector, axis, most)))
            if found[-1].replication == 1:
                break
            vector //= 2
        return found

    # Spreading

    def spread(self, chosen: Assignment) -> Assignment:
        """Layouts for all regions, those chosen kept."""
        done = dict(chosen)
        while len(done) < len(self.regions.all):
            region = self._next(done)
            done[region] = self._cheapest(region, done)
        for region in self.regions.all:
            if region not in chosen:
                done[region] = self._cheapest(region, done)
        return done

    def _next(self, done: Assignment) -> Region:
        """The region with the heaviest tie to those done; without one, the heaviest access."""

        def pull(region: Region) -> tuple[bool, float, int]:
            tied, heaviest = False, 0.0
            size = prod(region.shape)
            for site in self.touching[region]:
                ties = any(r in done for r in self.touched[site])
                if ties and not tied:
                    tied, heaviest = True, 0.0
                if ties or not tied:
                    heaviest = max(heaviest, site.weight * size)
            return tied, heaviest, -region.number

        return max((r for r in self.regions.all if r not in done), key=pull)

    def _cheapest(self, region: Region, done: Assignment) -> Layout:
        if not region.shape:
            return self.intern(of_scalar(self.threads))
        options = self._candidates(region, done)
        return min(options, key=lambda x: self._around(region, {**done, region: x}))

    def _around(self, region: Region, layouts: Assignment) -> float:
        return sum(self._cost(site, layouts) for site in self.touching[region])

    def total(self, layouts: Assignment) -> float:
        """Cycles of the whole kernel."""
        return sum(self._cost(site, layouts) for site in self.regions.sites)

    # Costs

    def _of(self, value: Value, layouts: Assignment) -> Layout | None:
        region = self.regions.of.get(value)
        return None if region is None else layouts.get(region)

    def _cost(self, site: Site, layouts: Assignment) -> float:
        key = (id(site), *(id(layouts.get(r)) for r in self.touched[site]))
        if key not in self._costs:
            self._costs[key] = self._compute(site, layouts)
        return self._costs[key]

    def _compute(self, site: Site, layouts: Assignment) -> float:
        stmt = site.stmt
        match stmt:
            case ins.Dot():
                return self._dot_cost(site, layouts)
            case ins.Load() | ins.Store():
                tile = stmt.out if isinstance(stmt, ins.Load) else stmt.x
                here = self._of(tile, layouts)
                return 0.0 if here is None else self._access(site, here)[1]
            case ins.Reduce(out=out, x=x, axis=axis):
                there = self._of(x, layouts)
                if there is None:
                    return 0.0
                natural = self.intern(_not_none(result_layout(stmt, there)))
                cycles = cost.reduction(there, natural, axis, self.warp) * site.weight
                return cycles + self._moved(natural, self._of(out, layouts), out, site.weight)
        return self._elsewhere(site, layouts)

    def _elsewhere(self, site: Site, layouts: Assignment) -> float:
        """Elementwise statements and movements."""
        stmt = site.stmt
        out = _result(stmt)
        there = self._of(out, layouts) if out is not None else None
        if out is None or there is None:
            return 0.0
        cycles = 0.0
        if isinstance(stmt, ELEMENTWISE):
            op = getattr(stmt, "op", "")
            bits = max(v.type.dtype.bits for v in alike(stmt))
            cycles = cost.arithmetic(there, bits, op) * site.weight
        same = alike(stmt)
        for x in _tile_operands(stmt):
            here = self._of(x, layouts)
            if here is None:
                continue
            weight = self.regions.weight(x, site)
            wanted = there if x in same else operand_layout(stmt, x, there)
            if wanted is not None:
                cycles += self._moved(here, self.intern(wanted), x, weight)
            elif (natural := result_layout(stmt, here)) is not None:
                cycles += self._moved(self.intern(natural), there, x, weight)
            else:
                cycles += cost.exchanged(here, there, x.type.dtype.bits) * site.weight
        return cycles

    def _moved(self, source: Layout, target: Layout | None, tile: Value, weight: float) -> float:
        if target is None or source is target:
            return 0.0
        key = ("moved", id(source), id(target), tile.type.dtype.bits)
        if key not in self._costs:
            bits = tile.type.dtype.bits
            self._costs[key] = cost.converted(source, target, bits, self.warp)
        return self._costs[key] * weight

    # Products

    def _fitting(self, site: Site, result: Layout) -> list[Plan]:
        return [p for p in self._plans[site] if p.c is result]

    def _plan(self, site: Site, layouts: Assignment) -> tuple[Plan, float] | None:
        """The cheapest plan whose result lies as the region does, and its cycles."""
        dot = site.stmt
        assert isinstance(dot, ins.Dot)
        result = self._of(dot.out, layouts)
        priced: list[tuple[Plan, float]] = []
        for p in self._fitting(site, result) if result is not None else ():
            cycles = p.cycles * site.weight
            for x, wanted in ((dot.a, p.a), (dot.b, p.b)):
                if (here := self._of(x, layouts)) is not None:
                    cycles += self._moved(here, wanted, x, self.regions.weight(x, site))
            priced.append((p, cycles))
        return min(priced, key=lambda pair: pair[1]) if priced else None

    def _dot_cost(self, site: Site, layouts: Assignment) -> float:
        dot = site.stmt
        assert isinstance(dot, ins.Dot)
        result = self._of(dot.out, layouts)
        if result is None:
            return 0.0
        if found := self._plan(site, layouts):
            return found[1]
        *batch, m, k = dot.a.type.shape
        n = dot.b.type.shape[-1] * prod(batch)
        return cost.product_without_unit(m, n, k, result) * site.weight

    # Memory

    def _access(self, site: Site, here: Layout) -> tuple[Layout, float]:
        """The layout of a load or store for a tile that lies as `here`, and the cycles of both."""
        stmt = site.stmt
        assert isinstance(stmt, ins.Load | ins.Store)
        tile = stmt.out if isinstance(stmt, ins.Load) else stmt.x
        direct = self._access_cost(site, here)
        if tile.type.layout is not None:
            return here, direct
        best = here, direct
        for layout in self._variants(tile.type.shape, stmt.region):
            cycles = self._access_cost(site, layout)
            if cycles < best[1]:
                pair = (layout, here) if isinstance(stmt, ins.Load) else (here, layout)
                cycles += self._moved(*pair, tile, site.weight)
            if cycles < best[1]:
                best = layout, cycles
        return best

    def _access_cost(self, site: Site, layout: Layout) -> float:
        stmt = site.stmt
        assert isinstance(stmt, ins.Load | ins.Store)
        memory, bits = stmt.region.memory, stmt.region.memory.dtype.bits
        axis = contiguous_axis(stmt.region)
        if memory.role is Role.BUFFER:
            cycles = cost.loaded(layout, bits, axis, self.warp, staged=False)
        elif isinstance(stmt, ins.Store):
            cycles = cost.stored(layout, bits, axis, self.warp)
        elif is_packed_freely(memory):
            cycles = cost.packed_load(layout, bits, self.warp)
        else:
            cycles = cost.loaded(layout, bits, axis, self.warp, staged=site.depth > 0)
        return cycles * site.weight


def is_packed_freely(memory: Memory) -> bool:
    """Whether the compiler chooses how the parameter is stored (`passes.lowbit`)."""
    free = memory.packed is None and memory.strides is None and memory.role is Role.IN
    return memory.dtype.is_low_bit and free


def contiguous_axis(region: iv.Region) -> int | None:
    """The axis of the tile along which neighbours are neighbours in memory; None where there is none."""
    memory = region.memory
    strides = memory.strides
    axis = memory.rank - 1
    if strides is not None:
        unit = [d for d, stride in enumerate(strides) if constant(stride) == 1]
        axis = unit[-1] if unit else -1
    if axis < 0 or region.axes[axis].dropped or region.axes[axis].step != 1:
        return None
    return sum(not a.dropped for a in region.axes[:axis])


def _result(stmt: Stmt) -> Value | None:
    """The tile from which the others' layouts follow: the result, or what is scattered."""
    if isinstance(stmt, ins.Scatter):
        return stmt.x
    out = getattr(stmt, "out", None)
    return out if isinstance(out, Value) else None


def _tile_operands(stmt: Stmt) -> Iterable[Value]:
    """The tiles of an instruction that are operands: a Dot's accumulator and Scatter's x apart."""
    if isinstance(stmt, ins.For | ins.While | ins.If):
        return
    for f in fields(type(stmt)):
        value = getattr(stmt, f.name)
        if f.part is Part.VALUES:
            yield from value
        elif f.part is Part.VALUE and value is not None:
            if not (f.name == "acc" or (isinstance(stmt, ins.Scatter) and f.name == "x")):
                yield value


def _not_none(layout: Layout | None) -> Layout:
    assert layout is not None
    return layout
