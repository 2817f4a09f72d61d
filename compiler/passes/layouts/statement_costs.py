"""What each statement of a kernel costs under given layouts, kept by the layouts' identity."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd, prod
from typing import TypeAlias

from dslc.compiler.analysis.weights import SAME_ELEMENTS
from dslc.compiler.ir import Role, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir import values as iv
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import operands, results
from dslc.compiler.layout import Layout
from dslc.compiler.layout.conversions import shared_axis
from dslc.compiler.layout.neighbours import neighbours_last
from dslc.compiler.passes.layouts import cost
from dslc.compiler.passes.layouts.blocked import blocked, squares, vector_of
from dslc.compiler.passes.layouts.layout_regions import Region, Regions, Site
from dslc.compiler.passes.layouts.matrix import Plan, plans, wants_along
from dslc.compiler.passes.layouts.operand_interleaving import interleaved
from dslc.compiler.passes.layouts.relations import (
    alike,
    operand_layout,
    result_layout,
    shaped,
    shaping,
)
from dslc.compiler.passes.layouts.shared_operands import is_turned
from dslc.compiler.passes.low_bit.fragments import FRAGMENT_COLUMNS
from dslc.compiler.passes.pipelining.tma_copies import is_short
from dslc.compiler.targets import Target

Assignment = dict[Region, Layout]
Access: TypeAlias = ins.Load | ins.Store | ins.AtomicRmw
ACCESSES = (ins.Load, ins.Store, ins.AtomicRmw)


def accessed(stmt: Access) -> Value | None:
    """The tile whose layout the access may choose; none of an update that other tiles take part in."""
    match stmt:
        case ins.Load(out=tile) | ins.Store(x=tile):
            return tile
        case ins.AtomicRmw(x=tile, ids=(), expected=None, out=None):
            return tile
    return None


class Prices:
    """The cycles of the statements of one kernel over `threads` threads."""

    def __init__(self, regions: Regions, target: Target, threads: int) -> None:
        self.regions, self.threads, self.warp = regions, threads, target.warp_size
        self.matrix_loads = target.matrix_loads
        self._known: dict[object, Layout] = {}
        self._related: dict[tuple[int, ...], Layout | None] = {}
        self._costs: dict[tuple[object, ...], float] = {}
        self.plans: dict[Site, list[Plan]] = {}
        self.touching: dict[Region, list[Site]] = {r: [] for r in regions.all}
        self.touched: dict[Site, tuple[Region, ...]] = {}
        for site in regions.sites:
            if isinstance(site.stmt, ins.Dot):
                ways = _ways(site, target, threads, regions)
                self.plans[site] = [p.over(self.intern) for p in ways]
        self.turned = _turned_in_place(regions, self.plans)
        for site in regions.sites:
            tiles = [v for v in (*results(site.stmt), *operands(site.stmt)) if isinstance(v, Value)]
            tiles += [dot.out for _, dot in self.turned.get(site.stmt, ())]
            found = dict.fromkeys(regions.of[v] for v in tiles if v in regions.of)
            self.touched[site] = tuple(found)
            for region in found:
                self.touching[region].append(site)
        in_memory = any(p.a is None or p.b is None for found in self.plans.values() for p in found)
        self.bulk = regions.bulk if target.bulk_copies and in_memory else frozenset()

    def intern(self, layout: Layout) -> Layout:
        """One object for equal layouts, so that costs are kept by identity."""
        # Without swizzles equal layouts have equal parts, whose hash is quicker than the layout's.
        parts = (layout.shape, layout.spatial_modes, layout.local_modes)
        return self._known.setdefault(layout if layout.swizzles else parts, layout)

    def operand(self, stmt: Stmt, x: Value, out: Layout) -> Layout | None:
        """`operand_layout` between interned layouts."""
        key = id(stmt), id(x), id(out)
        if key not in self._related:
            layout = operand_layout(stmt, x, out)
            self._related[key] = None if layout is None else self.intern(layout)
        return self._related[key]

    def result(self, stmt: Stmt, x: Layout) -> Layout | None:
        """`result_layout` between interned layouts."""
        key = id(stmt), id(x)
        if key not in self._related:
            layout = result_layout(stmt, x)
            self._related[key] = None if layout is None else self.intern(layout)
        return self._related[key]

    def layout(self, value: Value, layouts: Assignment) -> Layout | None:
        """The layout of a tile; None where it is open, or made as asked."""
        region = self.regions.of.get(value)
        return None if region is None else layouts.get(region)

    def total(self, layouts: Assignment) -> float:
        """Cycles of the whole kernel."""
        return sum(self.of(site, layouts) for site in self.regions.sites)

    def around(self, region: Region, layouts: Assignment) -> float:
        """Cycles of the statements that touch a region."""
        return sum(self.of(site, layouts) for site in self.touching[region])

    def of(self, site: Site, layouts: Assignment) -> float:
        """Cycles of a statement as often as it runs; what depends on open layouts counts nothing."""
        key = (id(site), *(id(layouts.get(r)) for r in self.touched[site]))
        if key not in self._costs:
            self._costs[key] = self._compute(site, layouts)
        return self._costs[key]

    def _compute(self, site: Site, layouts: Assignment) -> float:
        stmt = site.stmt
        match stmt:
            case ins.Dot(out=out):
                there = self.layout(out, layouts)
                return 0.0 if there is None else self._dot(site, stmt, there, layouts)
            case ins.Load() | ins.Store() | ins.AtomicRmw():
                tile = accessed(stmt)
                here = None if tile is None else self.layout(tile, layouts)
                return 0.0 if here is None else self.access(site, here)[1]
            case ins.Reduce(out=out, x=x, axis=axis):
                there = self.layout(x, layouts)
                natural = None if there is None else self.result(stmt, there)
                if there is None or natural is None:
                    return 0.0
                wanted = self.layout(out, layouts) or natural
                if shared_axis(there, axis, self.warp)[1] > 1:
                    return cost.reduction(there, natural, wanted, axis, self.warp) * site.weight
                cycles = cost.reduction(there, natural, natural, axis, self.warp) * site.weight
                return cycles + self._moved(natural, wanted, out, site.weight)
        result = shaping(stmt)
        there = None if result is None else self.layout(result, layouts)
        return 0.0 if there is None else self._movement(site, there, layouts)

    def _movement(self, site: Site, there: Layout, layouts: Assignment) -> float:
        """An elementwise statement, or one that moves elements, whose result lies as `there`."""
        stmt = site.stmt
        if self._stays(stmt, layouts):
            return 0.0
        same = alike(stmt)
        cycles = 0.0
        if isinstance(stmt, ins.ELEMENTWISE):
            bits = max(v.type.dtype.bits for v in same)
            cycles = cost.arithmetic(there, bits, getattr(stmt, "op", "")) * site.weight
        for x in shaped(stmt):
            here = self.layout(x, layouts)
            if here is None:
                continue
            weight = self.regions.weight(x, site)
            wanted = there if x in same else self.operand(stmt, x, there)
            if wanted is not None:
                cycles += self._moved(here, wanted, x, weight)
            elif (natural := self.result(stmt, here)) is not None:
                cycles += self._moved(natural, there, x, site.weight)
            else:
                cycles += cost.exchanged(here, there, x.type.dtype.bits) * site.weight
        return cycles

    def _stays(self, stmt: Stmt, layouts: Assignment) -> bool:
        """Whether units read in shared memory what a statement turns: then threads move nothing."""
        if stmt not in self.turned:
            return False
        tile = shaping(stmt)
        return all(
            (plan := self.plan(site, layouts)) is not None and plan.leaves(dot, tile)
            for site, dot in self.turned[stmt]
        )

    def _moved(self, source: Layout, target: Layout | None, tile: Value, weight: float) -> float:
        if target is None or source is target:
            return 0.0
        bits = tile.type.dtype.bits
        key = ("moved", id(source), id(target), bits)
        if key not in self._costs:
            self._costs[key] = cost.converted(source, target, bits, self.warp)
        return self._costs[key] * weight

    # Products

    def plan(self, site: Site, layouts: Assignment) -> Plan | None:
        """The cheapest plan of a Dot whose result lies as its region does; None without a unit."""
        dot = site.stmt
        assert isinstance(dot, ins.Dot)
        there = self.layout(dot.out, layouts)
        fitting = [p for p in self.plans[site] if p.c is there]
        return min(fitting, key=lambda p: self._planned(site, dot, p, layouts), default=None)

    def _planned(self, site: Site, dot: ins.Dot, plan: Plan, layouts: Assignment) -> float:
        cycles = plan.cycles * site.weight
        for x, wanted in plan.operands(dot):
            if (here := self.layout(x, layouts)) is not None:
                cycles += self._moved(here, wanted, x, self.regions.weight(x, site))
        for x in plan.placed:
            if (here := self.layout(x, layouts)) is not None:
                turned = is_turned(x, here, along=wants_along(dot, x))
                weight = self.regions.weight(x, site)
                cycles += cost.placed(here, x.type.dtype.bits, turned, self.warp) * weight
        return cycles

    def _dot(self, site: Site, dot: ins.Dot, there: Layout, layouts: Assignment) -> float:
        if (plan := self.plan(site, layouts)) is not None:
            return self._planned(site, dot, plan, layouts)
        *batch, m, k = dot.a.type.shape
        columns = dot.b.type.shape[-1] * prod(batch)
        return cost.product_without_unit(m, columns, k, there) * site.weight

    # Memory

    def access(self, site: Site, here: Layout) -> tuple[Layout, float]:
        """The layout of an access to a tile that lies as `here`, and the cycles of both."""
        stmt = site.stmt
        assert isinstance(stmt, ACCESSES)
        tile = accessed(stmt)
        assert tile is not None
        best = here, self._access_cost(site, here)
        bits = tile.type.dtype.bits
        if stmt in self.bulk and is_short(here, bits):
            return here, min(best[1], cost.stored_in_bulk(here, bits) * site.weight)
        if tile.type.layout is not None:
            return best
        for layout in (*self._turned(stmt, here), *self.natural(stmt)):
            cycles = self._access_cost(site, layout)
            if cycles < best[1]:
                pair = (layout, here) if isinstance(stmt, ins.Load) else (here, layout)
                cycles += self._moved(*pair, tile, site.weight)
            if cycles < best[1]:
                best = layout, cycles
        return best

    def _turned(self, stmt: Stmt, here: Layout) -> list[Layout]:
        """For a store, the same elements in each thread, those together that lie so in memory."""
        if self.matrix_loads or not isinstance(stmt, ins.Store):
            return []
        axis = contiguous_axis(stmt.region)
        turned = here if axis is None else neighbours_last(here, axis)
        return [] if turned == here else [self.intern(turned)]

    def _access_cost(self, site: Site, layout: Layout) -> float:
        stmt = site.stmt
        assert isinstance(stmt, ACCESSES)
        memory, bits = stmt.region.memory, stmt.region.memory.dtype.bits
        axis = contiguous_axis(stmt.region)
        if memory.role is Role.BUFFER:
            cycles = cost.loaded(layout, bits, axis, self.warp, staged=False)
        elif not isinstance(stmt, ins.Load):
            row = memory.packed == "row" and bits < 8
            cycles = cost.stored(layout, bits, axis, self.warp, shares_bytes=row)
        elif memory in self.regions.packed:
            cycles = cost.packed_load(layout, bits, self.warp)
        else:
            staged = (
                site.depth > 0 and memory.packed is None
            )  # no copy runs ahead of parts of bytes
            if staged and not self.matrix_loads:
                cycles = cost.read_by_lanes(layout, bits, axis, self.warp)
            else:
                cycles = cost.loaded(layout, bits, axis, self.warp, staged=staged)
        return cycles * site.weight

    def squares(self, region: Region) -> list[Layout]:
        """For bytes that threads store turned for a product: words along both axes."""
        for site in self.touching[region]:
            for x in {x for p in self.plans.get(site, ()) for x in p.placed}:
                assert isinstance(site.stmt, ins.Dot)
                if self.regions.of.get(x) is not region or x.type.dtype.bits != cost.BYTE:
                    continue
                if wants_along(site.stmt, x):
                    continue
                vector = vector_of(x.type.shape[-1], cost.BYTE)
                apart = blocked(x.type.shape, self.threads, vector)
                square = squares(apart)
                return [] if square is None else [self.intern(square)]
        return []

    def natural(self, stmt: Access) -> list[Layout]:
        """Those of `variants` for an access; what is added to memory goes a word at a time."""
        shape = stmt.region.shape
        if isinstance(stmt, ins.AtomicRmw):
            return self.variants(shape, stmt.region, max(1, 32 // stmt.x.type.dtype.bits))
        return self.variants(shape, stmt.region)

    def variants(
        self, shape: tuple[int, ...], region: iv.Region | None, widest: int | None = None
    ) -> list[Layout]:
        """Blocked layouts for a tile: threads along the contiguous axis first, or one warp there.

        With runs of `widest` elements, or of 16 bytes, and shorter ones while threads are left over.
        """
        bits = region.memory.dtype.bits if region is not None else 32
        axis = contiguous_axis(region) if region is not None else None
        if axis is not None and axis >= len(shape):
            axis = None  # the ids of a gather, which have axes of their own
        extent = shape[len(shape) - 1 if axis is None else axis] if shape else 1
        if region is not None and axis is not None:  # what pads a row breaks its vectors
            extent = gcd(extent, [a.count for a in region.axes if not a.dropped][axis])
        vector = vector_of(extent, bits) if region is None or axis is not None else 1
        vector = min(vector, widest or vector)
        layouts: list[Layout] = []
        while vector:
            for most in (None, self.warp):
                layouts.append(self.intern(blocked(shape, self.threads, vector, axis, most)))
            if layouts[-1].replication == 1:
                break
            vector //= 2
        return layouts


def _ways(site: Site, target: Target, threads: int, regions: Regions) -> list[Plan]:
    """The plans of a product, and their interleaved forms.

    Weights that are packed keep the order of the unit, and each warp has whole fragments of them, so
    that one packing serves products of one warp and of a warpgroup (`passes.low_bit.fragments`).
    """
    dot = site.stmt
    assert isinstance(dot, ins.Dot)
    place = regions.may_place and site.depth > 0
    ways = plans(dot, target, threads, regions.in_place, place=place)
    if any(p.atom and (p.a is None or p.b is None) and not p.placed for p in ways):
        # What products make stays in registers where it can: so do chains of them.
        ways = [p for p in ways if regions.multiplied.isdisjoint(p.placed)]
    if regions.packed and target.matrix_loads:
        of_packed = _of_packed(regions)
        sides = [(x in of_packed, axis) for x, axis in ((dot.a, -2), (dot.b, -1))]
        whole = [
            p
            for p in ways
            if all(p.c.shape[d] // p.share[d] % FRAGMENT_COLUMNS == 0 for own, d in sides if own)
        ]
        return whole or ways
    bits = dot.a.type.dtype.bits
    for plan in tuple(ways):
        atom = target.atom(plan.atom)
        if atom is not None and dot.out.type.layout is None and not dot.is_scaled:
            ways += interleaved(plan, atom, bits, shared=not target.matrix_loads)
    return ways


def _turned_in_place(
    regions: Regions, plans: Mapping[Site, list[Plan]]
) -> dict[Stmt, list[tuple[Site, ins.Dot]]]:
    """The products that alone read what is turned, and may in shared memory, by what turns it.

    What the turning costs hangs on how their results lie, so these are its neighbours. Where no unit
    reads shared memory they are not: a tile would get its layout before its transpose has one.
    """
    readers: dict[Value, list[Site]] = {}
    for site in regions.sites:
        for x in operands(site.stmt):
            readers.setdefault(x, []).append(site)
    turned: dict[Stmt, list[tuple[Site, ins.Dot]]] = {}
    for site in regions.sites:
        stmt = site.stmt
        if isinstance(stmt, ins.Transpose) and stmt.out in regions.in_place:
            own = readers.get(stmt.out, [])
            dots = [(s, s.stmt) for s in own if isinstance(s.stmt, ins.Dot)]
            if len(dots) == len(own) and all(
                any(p.leaves(dot, stmt.out) for p in plans[s]) for s, dot in dots
            ):
                turned[stmt] = dots
    return turned


def _of_packed(regions: Regions) -> set[Value]:
    """The tiles whose elements are those of packed parameters."""
    of_packed: set[Value] = set()
    for site in regions.sites:
        stmt = site.stmt
        if isinstance(stmt, ins.Load):
            of_packed |= {stmt.out} if stmt.region.memory in regions.packed else set()
        elif isinstance(stmt, SAME_ELEMENTS) and not of_packed.isdisjoint(operands(stmt)):
            of_packed |= {x for x in results(stmt) if isinstance(x, Value)}
    return of_packed


def contiguous_axis(region: iv.Region) -> int | None:
    """The axis of the tile whose neighbours are neighbours in memory; None where there is none."""
    memory = region.memory
    axis = memory.rank - 1
    if memory.strides is not None:
        unit = [d for d, stride in enumerate(memory.strides) if constant(stride) == 1]
        axis = unit[-1] if unit else -1
    if axis < 0 or region.axes[axis].dropped or region.axes[axis].step != 1:
        return None
    return sum(not a.dropped for a in region.axes[:axis])
