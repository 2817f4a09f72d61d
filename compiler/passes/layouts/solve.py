"""The layout of every region, by cost.

Products come first: for each, the ways to share it among the warps are tried with all that follows from
them, and the cheapest whole is kept. From them layouts spread to their neighbours, the heaviest first,
each region taking the cheapest of what is proposed. Ties go to the first, so the result is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import operands
from dslc.compiler.layout import Layout
from dslc.compiler.passes.layouts.layout_regions import Region, Regions
from dslc.compiler.passes.layouts.matrix import Plan
from dslc.compiler.passes.layouts.proposals import Proposals
from dslc.compiler.passes.layouts.relations import of_scalar
from dslc.compiler.passes.layouts.statement_costs import ACCESSES, Assignment, Prices, accessed
from dslc.compiler.targets import Target

_SWEEPS = 3
_VISITS = 2

Options = dict[Region, list[tuple[object, Assignment]]]


@dataclass(slots=True)
class Solution:
    """What the pass decided: a layout a region, a plan a Dot, the layouts of memory accesses."""

    regions: Regions
    layouts: Assignment
    plans: dict[Stmt, Plan]
    accesses: dict[Stmt, Layout]
    threads: int
    cycles: float
    warp: int  # threads
    in_memory: frozenset[Value] = frozenset()  # tiles that products read from shared memory
    held: frozenset[Value] = frozenset()  # those of them that threads read too

    def layout(self, value: Value) -> Layout | None:
        """The layout of a tile; None for one that is made as asked."""
        region = self.regions.of.get(value)
        return None if region is None else self.layouts[region]


def solve(regions: Regions, target: Target, threads: int) -> Solution:
    """The cheapest layouts found for a kernel over that many threads."""
    return _Solver(regions, target, threads).solve()


class _Solver:
    def __init__(self, regions: Regions, target: Target, threads: int) -> None:
        self.regions, self.threads = regions, threads
        self.prices = Prices(regions, target, threads)
        self.proposals = Proposals(self.prices)

    def solve(self) -> Solution:
        fixed = {r: self.prices.intern(r.fixed) for r in self.regions.all if r.fixed is not None}
        options = {
            r: found
            for r in self.regions.all
            if r not in fixed and (found := self.proposals.for_products(r))
        }
        starts = [start | fixed for start in _starts(options)]
        best = min(map(self._spread, starts), key=self.prices.total)
        if len(options) > 1:
            best = self._improve(best, options, fixed)
        return self._solution(self._turned(best, {*options, *fixed}))

    def _improve(self, best: Assignment, options: Options, fixed: Assignment) -> Assignment:
        """Better ways for one product at a time, while there are any."""
        price = self.prices.total(best)
        kept = {*options, *fixed}
        for _ in range(_SWEEPS):
            before = price
            for region, ways in options.items():
                for _, given in ways:
                    tried = self._changed(best, region, given[region], kept)
                    if (now := self.prices.total(tried)) < price:
                        best, price = tried, now
            if price == before:
                break
        return best

    def _turned(self, best: Assignment, kept: set[Region]) -> Assignment:
        """Better layouts for tiles together with their transposes.

        Layouts spread from products, one region after the other; a tile that is turned on its way to
        one would have to change with its transpose, as either alone has the elements moved between.
        """
        price, of = self.prices.total(best), self.regions.of
        for site in self.regions.sites:
            stmt = site.stmt
            if not isinstance(stmt, ins.Transpose) or stmt.x not in of or stmt.out not in of:
                continue
            tile, turned = of[stmt.x], of[stmt.out]
            if tile is turned or not kept.isdisjoint((tile, turned)):
                continue
            if not any(isinstance(s.stmt, ins.Dot) for s in self.prices.touching[turned]):
                continue
            for here, there in self.proposals.for_transpose(site, best):
                tried = self._changed({**best, turned: there}, tile, here, kept | {turned})
                if (now := self.prices.total(tried)) < price:
                    best, price = tried, now
        return best

    def _changed(
        self, layouts: Assignment, region: Region, layout: Layout, kept: set[Region]
    ) -> Assignment:
        """The layouts with another one for a region, and what follows for those around it."""
        done = {**layouts, region: layout}
        visits: Counter[Region] = Counter()
        waiting = self._neighbours(region)
        while waiting:
            other = waiting.pop(0)
            visits[other] += 1
            if visits[other] > _VISITS or other in kept:
                continue
            better = self._cheapest(other, done)
            if better is not done[other]:
                done[other] = better
                waiting += self._neighbours(other)
        return done

    def _neighbours(self, region: Region) -> list[Region]:
        neighbours = {r: None for s in self.prices.touching[region] for r in self.prices.touched[s]}
        return [r for r in neighbours if r is not region]

    def _solution(self, best: Assignment) -> Solution:
        plans: dict[Stmt, Plan] = {}
        accesses: dict[Stmt, Layout] = {}
        for site in self.regions.sites:
            stmt = site.stmt
            if isinstance(stmt, ins.Dot):
                if (plan := self.prices.plan(site, best)) is not None:
                    plans[stmt] = plan
            elif isinstance(stmt, ACCESSES) and (tile := accessed(stmt)) is not None:
                here = self.prices.layout(tile, best)
                if here is None:  # it is made as asked
                    accesses[stmt] = self.prices.natural(stmt)[0]
                else:
                    accesses[stmt] = self.prices.access(site, here)[0]
        cycles = self.prices.total(best)
        kept = frozenset(self._in_memory(plans))
        held = self._held(plans, kept)
        return Solution(
            self.regions, best, plans, accesses, self.threads, cycles, self.prices.warp, kept, held
        )

    def _in_memory(self, plans: Mapping[Stmt, Plan]) -> Iterator[Value]:
        """The operands without a layout, and what they are transposes of."""
        for dot, plan in plans.items():
            assert isinstance(dot, ins.Dot)
            for x, layout in ((dot.a, plan.a), (dot.b, plan.b)):
                at: Value | None = x if layout is None and x not in plan.placed else None
                while at is not None:
                    yield at
                    stmt = self.regions.origin[at].stmt
                    at = stmt.x if isinstance(stmt, ins.Transpose) else None

    def _held(self, plans: Mapping[Stmt, Plan], kept: frozenset[Value]) -> frozenset[Value]:
        """Those in memory that are read from registers as well: by threads, or by other products."""
        held: set[Value] = set()
        for site in reversed(self.regions.sites):
            stmt = site.stmt
            if isinstance(stmt, ins.Transpose) and stmt.out in kept - held:
                continue
            plan = plans.get(stmt)
            if isinstance(stmt, ins.Dot) and plan is not None:
                taken = {*plan.placed, *(x for x, _ in plan.operands(stmt))}
                held |= taken & kept
            else:
                held.update(kept.intersection(operands(stmt)))
        return frozenset(held)

    # Spreading

    def _spread(self, chosen: Assignment) -> Assignment:
        """Layouts for all regions, those chosen kept: the heaviest tie to those done comes first.

        Where nothing is tied, the heaviest access begins.
        """
        done = dict(chosen)
        ties: dict[Region, float] = {}
        for region in chosen:
            self._tie(region, ties)
        while len(done) < len(self.regions.all):
            tied = {r: ties[r] for r in ties if r not in done}
            if not tied:
                tied = {r: self._weight(r) for r in self.regions.all if r not in done}
            region = max(tied, key=lambda r: (tied[r], -r.number))
            done[region] = self._cheapest(region, done)
            self._tie(region, ties)
        for region in self.regions.all:  # once more, now that all neighbours are known
            if region not in chosen:
                done[region] = self._cheapest(region, done)
        return done

    def _tie(self, region: Region, ties: dict[Region, float]) -> None:
        for site in self.prices.touching[region]:
            for other in self.prices.touched[site]:
                ties[other] = max(ties.get(other, 0.0), site.weight * prod(other.shape))

    def _weight(self, region: Region) -> float:
        return max(site.weight for site in self.prices.touching[region]) * prod(region.shape)

    def _cheapest(self, region: Region, done: Assignment) -> Layout:
        if not region.shape:
            return self.prices.intern(of_scalar(self.threads))
        options = self.proposals.candidates(region, done)
        return min(options, key=lambda x: self.prices.around(region, {**done, region: x}))


def _starts(options: Options) -> Iterator[Assignment]:
    """All products shared alike, for each way; a product that cannot takes its cheapest."""
    kinds = dict.fromkeys(kind for found in options.values() for kind, _ in found)
    for kind in kinds or {None: None}:
        start: Assignment = {}
        for found in options.values():
            start |= next((given for own, given in found if own == kind), found[0][1])
        yield start
