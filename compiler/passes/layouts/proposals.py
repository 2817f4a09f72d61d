"""Which layouts a region may take: what its neighbours and its accesses to memory propose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dslc.compiler.ir import instructions as ins
from dslc.compiler.layout import Layout, Mode, unsqueeze
from dslc.compiler.layout.mode import with_weights
from dslc.compiler.passes.layouts.layout_regions import Region, Site
from dslc.compiler.passes.layouts.relations import shaped, shaping
from dslc.compiler.passes.layouts.statement_costs import Assignment, Prices

_MEMORY = (ins.Load, ins.Store, ins.AtomicRmw, ins.Gather, ins.Scatter)


class Proposals:
    """The candidates of the regions of one kernel."""

    def __init__(self, prices: Prices) -> None:
        self.prices = prices
        self._blocked: dict[Region, list[Layout]] = {}

    def for_products(self, region: Region) -> list[tuple[object, Assignment]]:
        """The layouts of the results of a region's Dots, the cheapest first, each with its kind.

        Plans of one kind share their products among the warps alike. Where k is interleaved the
        operands' layouts are given as well: neither operand would change its order of k alone.
        """
        of = self.prices.regions.of
        priced: list[tuple[float, object, Assignment]] = []
        for site in self.prices.touching[region]:
            dot = site.stmt
            if not isinstance(dot, ins.Dot) or of[dot.out] is not region:
                continue
            for p in self.prices.plans[site]:
                given = {region: p.c}
                if p.interleaved[0]:
                    given |= {of[x]: y for x, y in ((dot.a, p.a), (dot.b, p.b)) if y and x in of}
                priced.append(
                    (p.cycles * site.weight, (p.share, p.is_swapped, p.interleaved), given)
                )
        priced.sort(key=lambda triple: triple[0])
        return [(kind, given) for _, kind, given in priced]

    def candidates(self, region: Region, chosen: Assignment) -> list[Layout]:
        """What may be best for a region while others are chosen."""
        layouts = [
            layout
            for site in self.prices.touching[region]
            for layout in self._proposed(site, region, chosen)
        ]
        return _once([*layouts, *self._memory_layouts(region)])

    def for_transpose(self, site: Site, chosen: Assignment) -> Iterator[tuple[Layout, Layout]]:
        """Layouts of a tile and its transpose that hold the same elements alike."""
        stmt, of = site.stmt, self.prices.regions.of
        assert isinstance(stmt, ins.Transpose)
        for layout in self.candidates(of[stmt.x], chosen):
            if (turned := self.prices.result(stmt, layout)) is not None:
                yield layout, turned
        for there in self.candidates(of[stmt.out], chosen):
            if (here := self.prices.operand(stmt, stmt.x, there)) is not None:
                yield here, there

    def _proposed(self, site: Site, region: Region, chosen: Assignment) -> Iterator[Layout]:
        """What a statement proposes for a region, by the layouts at its other side."""
        stmt, of = site.stmt, self.prices.regions.of
        out = shaping(stmt)
        if out is None:
            return
        mine = of.get(out) is region
        there = self.prices.layout(out, chosen)
        for x in shaped(stmt):
            given = self.prices.layout(x, chosen)
            asked = not mine and there is not None and of.get(x) is region
            if isinstance(stmt, ins.Dot):
                fitting = [p for p in self.prices.plans[site] if asked and p.c is there]
                for p in fitting:
                    yield from (layout for y, layout in p.operands(stmt) if y is x)
            elif (
                mine
                and given is not None
                and (layout := self.prices.result(stmt, given)) is not None
            ):
                yield layout
                if isinstance(stmt, ins.Reduce):
                    yield from map(self.prices.intern, _shared_out(layout, self.prices.warp))
            elif asked and there is not None:
                if isinstance(stmt, ins.Reduce):
                    yield self.prices.intern(_gathered(there, stmt))
                elif (layout := self.prices.operand(stmt, x, there)) is not None:
                    yield layout

    def _memory_layouts(self, region: Region) -> list[Layout]:
        if region not in self._blocked:
            stmts = [site.stmt for site in self.prices.touching[region]]
            # What gathers reads a region of another shape than the tile's.
            own = [s.region for s in stmts if isinstance(s, _MEMORY)]
            accesses = [r for r in own if r.shape == region.shape]
            variants = [
                x for r in accesses or (None,) for x in self.prices.variants(region.shape, r)
            ]
            self._blocked[region] = _once([*self.prices.squares(region), *variants])
        return self._blocked[region]


def _gathered(out: Layout, reduce: ins.Reduce) -> Layout:
    """What a reduction's operand may be so that each thread adds alone what it has of the result."""
    axis, shape = reduce.axis, reduce.x.type.shape
    kept = out if reduce.keepdims else unsqueeze(out, [axis])
    along = Mode(shape[axis], axis, 1)
    return Layout(shape, kept.spatial_modes, (along, *kept.local_modes))


def _shared_out(layout: Layout, warp: int) -> Iterator[Layout]:
    """The layout whose copies in several warps are divided: each keeps a part of what it holds.

    After a reduction over the warps every warp has every sum; what follows needs each only once.
    """
    for mode, weight in with_weights(layout.spatial_modes):
        if not mode.is_replicated or weight * mode.size <= warp:
            continue
        copies = mode.size // max(1, warp // weight)
        for i, own in enumerate(layout.local_modes):
            if own.size % copies:
                continue
            given = Mode(copies, own.axis, own.stride * (own.size // copies))
            kept = Mode(own.size // copies, own.axis, own.stride)
            low = Mode(mode.size // copies, mode.axis, mode.stride)
            at = layout.spatial_modes.index(mode)
            yield Layout(
                layout.shape,
                (*layout.spatial_modes[:at], given, low, *layout.spatial_modes[at + 1 :]),
                (*layout.local_modes[:i], kept, *layout.local_modes[i + 1 :]),
            )
            return


def _once(layouts: Iterable[Layout]) -> list[Layout]:
    return list({id(x): x for x in layouts}.values())
