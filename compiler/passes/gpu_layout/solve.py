"""The layout of every region, by cost.

Products come first: for each, the ways to share it among the warps are tried with all that follows from
them, and the cheapest whole is kept. From them layouts spread to their neighbours, the heaviest first,
each region taking the cheapest of what is proposed. Ties go to the first, so the result is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.layout import Layout
from dslc.compiler.passes.gpu_layout.matrix import Plan
from dslc.compiler.passes.gpu_layout.prices import Assignment, Prices
from dslc.compiler.passes.gpu_layout.proposals import Proposals
from dslc.compiler.passes.gpu_layout.regions import Region, Regions
from dslc.compiler.passes.gpu_layout.relations import of_scalar
from dslc.compiler.targets import Target

_SWEEPS = 3


@dataclass(slots=True)
class Solution:
    """What the pass decided: a layout a region, a plan a Dot, the layouts of memory accesses."""

    regions: Regions
    layouts: Assignment
    plans: dict[Stmt, Plan]
    accesses: dict[Stmt, Layout]
    threads: int
    cycles: float

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
        starts = [fixed | start for start in _starts(options)]
        best = min(map(self._spread, starts), key=self.prices.total)
        if len(options) > 1:
            best = self._improve(best, options, fixed)
        return self._solution(best)

    def _improve(
        self,
        best: Assignment,
        options: dict[Region, list[tuple[object, Layout]]],
        fixed: Assignment,
    ) -> Assignment:
        """Better ways for one product at a time, while there are any."""
        price = self.prices.total(best)
        for _ in range(_SWEEPS):
            before = price
            for region, ways in options.items():
                for _, layout in ways:
                    products = fixed | {r: best[r] for r in options}
                    tried = self._spread(products | {region: layout})
                    if (now := self.prices.total(tried)) < price:
                        best, price = tried, now
            if price == before:
                break
        return best

    def _solution(self, best: Assignment) -> Solution:
        plans: dict[Stmt, Plan] = {}
        accesses: dict[Stmt, Layout] = {}
        for site in self.regions.sites:
            stmt = site.stmt
            if isinstance(stmt, ins.Dot):
                if (plan := self.prices.plan(site, best)) is not None:
                    plans[stmt] = plan
            elif isinstance(stmt, ins.Load | ins.Store):
                tile = stmt.out if isinstance(stmt, ins.Load) else stmt.x
                here = self.prices.layout(tile, best)
                if here is None:  # it is made as asked
                    accesses[stmt] = self.prices.variants(tile.type.shape, stmt.region)[0]
                else:
                    accesses[stmt] = self.prices.access(site, here)[0]
        cycles = self.prices.total(best)
        return Solution(self.regions, best, plans, accesses, self.threads, cycles)

    # Spreading

    def _spread(self, chosen: Assignment) -> Assignment:
        """Layouts for all regions, those chosen kept."""
        done = dict(chosen)
        while len(done) < len(self.regions.all):
            region = self._next(done)
            done[region] = self._cheapest(region, done)
        for region in self.regions.all:  # once more, now that all neighbours are known
            if region not in chosen:
                done[region] = self._cheapest(region, done)
        return done

    def _next(self, done: Assignment) -> Region:
        """The region with the heaviest tie to those done; without one, the heaviest access."""

        def pull(region: Region) -> tuple[bool, float, int]:
            tied, heaviest = False, 0.0
            for site in self.prices.touching[region]:
                ties = any(r in done for r in self.prices.touched[site])
                if ties and not tied:
                    tied, heaviest = True, 0.0
                if ties or not tied:
                    heaviest = max(heaviest, site.weight * prod(region.shape))
            return tied, heaviest, -region.number

        return max((r for r in self.regions.all if r not in done), key=pull)

    def _cheapest(self, region: Region, done: Assignment) -> Layout:
        if not region.shape:
            return self.prices.intern(of_scalar(self.threads))
        options = self.proposals.candidates(region, done)
        return min(options, key=lambda x: self.prices.around(region, {**done, region: x}))


def _starts(options: dict[Region, list[tuple[object, Layout]]]) -> Iterator[Assignment]:
    """All products shared alike, for each way; a product that cannot takes its cheapest."""
    kinds = dict.fromkeys(kind for found in options.values() for kind, _ in found)
    for kind in kinds or {None: None}:
        yield {
            region: next((x for own, x in found if own == kind), found[0][1])
            for region, found in options.items()
        }
