"""The tiles of a kernel in regions that have one layout each, and how often statements run.

Operands and results of elementwise statements, accumulators and what a loop hands from iteration to
iteration belong to one region. Tiles that are made of scalars alone (Full, Arange and quick arithmetic
on them) belong to none: they are made anew in every layout that is asked for. Tiles with explicit
layouts that differ are never joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dslc.compiler.analysis.weights import packed_freely
from dslc.compiler.ir import Kernel, Memory, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import Body, bodies, handed, inner_names, operands, results
from dslc.compiler.ir.workload import range_of
from dslc.compiler.layout import Layout
from dslc.compiler.passes.layouts.cost import SLOW_OPS
from dslc.compiler.passes.layouts.relations import alike, shaped
from dslc.compiler.passes.layouts.shared_operands import readable_in_place
from dslc.compiler.passes.pipelining.prefetchable_loads import is_explicit
from dslc.compiler.passes.pipelining.tma_copies import bulk_stores

TRIPS = 16  # of a loop whose count is not known
_MOST = 1e6


@dataclass(frozen=True, slots=True)
class Site:
    """A statement, how often it runs in a turn of the kernel, and the loops around it."""

    stmt: Stmt
    weight: float
    loops: tuple[Stmt, ...] = ()

    @property
    def depth(self) -> int:
        """How many loops stand around it."""
        return len(self.loops)

    @property
    def loop(self) -> Stmt | None:
        """The innermost loop around it."""
        return self.loops[-1] if self.loops else None


@dataclass(eq=False, slots=True)
class Region:
    """Tiles of one shape that have one layout; `fixed` where the program says which."""

    shape: tuple[int, ...]
    number: int = 0
    fixed: Layout | None = None
    sites: list[Site] = field(default_factory=list)


@dataclass(slots=True)
class Regions:
    """All regions of a kernel, its statements, and where each tile is defined."""

    sites: list[Site] = field(default_factory=list)
    all: list[Region] = field(default_factory=list)
    of: dict[Value, Region] = field(default_factory=dict)
    free: set[Value] = field(default_factory=set)
    origin: dict[Value, Site] = field(default_factory=dict)
    in_place: Mapping[Value, bool] = field(default_factory=dict)  # `readable_in_place`
    may_place: bool = False  # whether computed operands may be put in shared memory
    multiplied: set[Value] = field(default_factory=set)  # results of products, what is made of them
    bulk: frozenset[Stmt] = frozenset()  # `bulk_stores`
    packed: frozenset[Memory] = frozenset()  # parameters whose storage follows their loads

    def weight(self, value: Value, site: Site) -> float:
        """How often a conversion of the tile for that site runs: it stands where either allows."""
        return min(self.origin[value].weight, site.weight)


def find_regions(kernel: Kernel) -> Regions:
    """The regions in the order of their first tiles."""
    in_place = readable_in_place(kernel)
    bulk = bulk_stores(kernel) if in_place else frozenset()
    regions = Regions(
        in_place=in_place,
        may_place=not is_explicit(kernel),
        bulk=bulk,
        packed=packed_freely(kernel),
    )
    regions.sites.extend(find_sites(kernel))
    for site in regions.sites:
        for name in results(site.stmt):
            if isinstance(name, Value):
                regions.origin[name] = site
        for name in inner_names(site.stmt):
            if isinstance(name, Value):
                trips = _trip_count(site.stmt)
                regions.origin[name] = Site(
                    site.stmt, site.weight * trips, (*site.loops, site.stmt)
                )
    for site in regions.sites:
        if _is_free(site.stmt, regions.free):
            regions.free.update(v for v in results(site.stmt) if isinstance(v, Value))
    for site in regions.sites:
        if isinstance(site.stmt, ins.Dot) or not regions.multiplied.isdisjoint(operands(site.stmt)):
            regions.multiplied.update(v for v in results(site.stmt) if isinstance(v, Value))
    groups = _Groups(regions.free)
    for value in regions.origin:
        groups.add(value)
    for site in regions.sites:
        for group in _joins(site.stmt):
            for other in group[1:]:
                groups.join(group[0], other)
    _number(regions, groups)
    return regions


def find_sites(kernel: Kernel) -> list[Site]:
    """Every statement of a kernel with how often it runs in a turn."""
    return list(_sites(kernel.body, 1.0, ()))


def _is_free(stmt: Stmt, free: set[Value]) -> bool:
    """Whether the statement's tile can be made in any layout at little cost."""
    match stmt:
        case ins.Full() | ins.Arange() | ins.Undefined():
            cheap = True
        case ins.Unary(op=op) | ins.Binary(op=op):
            cheap = op not in SLOW_OPS
        case ins.Reshape(out=out, x=x):  # axes of extent 1 come or go
            cheap = [n for n in out.type.shape if n > 1] == [n for n in x.type.shape if n > 1]
        case ins.Where() | ins.Cast() | ins.Fma() | ins.Broadcast() | ins.Transpose():
            cheap = True
        case _:
            return False
    return cheap and stmt.out.type.layout is None and free.issuperset(shaped(stmt))


def _sites(body: Body, weight: float, loops: tuple[Stmt, ...]) -> Iterator[Site]:
    for stmt in body:
        yield Site(stmt, weight, loops)
        inside = min(weight * _trip_count(stmt), _MOST)
        around = (*loops, stmt) if isinstance(stmt, ins.For | ins.While) else loops
        for nested in bodies(stmt):
            yield from _sites(nested, inside, around)


def _trip_count(stmt: Stmt) -> float:
    match stmt:
        case ins.For(start=start, stop=stop, step=step):
            numbers = range_of(start, stop, step)
            return TRIPS if numbers is None else max(1, len(numbers))
        case ins.While():
            return TRIPS
    return 1


def _joins(stmt: Stmt) -> Iterator[list[Value]]:
    """Tiles that have one layout because of this statement."""
    yield list(alike(stmt))
    for h in handed(stmt):
        ways = (h.yielded, h.init) if isinstance(h, ins.Carried) else (h.then, h.otherwise)
        names = (h.result, *((h.inner,) if isinstance(h, ins.Carried) else ()), *ways)
        yield [v for v in names if isinstance(v, Value)]


class _Groups:
    """Union by the first tile of each group; explicit layouts that differ keep groups apart."""

    def __init__(self, free: set[Value]) -> None:
        self.free = free
        self.parent: dict[Value, Value] = {}
        self.fixed: dict[Value, Layout | None] = {}

    def add(self, value: Value) -> None:
        self.parent[value] = value
        self.fixed[value] = value.type.layout

    def root(self, value: Value) -> Value:
        while self.parent[value] is not value:
            self.parent[value] = value = self.parent[self.parent[value]]
        return value

    def join(self, a: Value, b: Value) -> None:
        if a in self.free or b in self.free:
            return
        a, b = self.root(a), self.root(b)
        mine, theirs = self.fixed[a], self.fixed[b]
        if a is b or (mine is not None and theirs is not None and mine != theirs):
            return
        self.parent[b] = a
        self.fixed[a] = mine if mine is not None else theirs


def _number(found: Regions, groups: _Groups) -> None:
    by_root: dict[Value, Region] = {}
    for value in found.origin:
        if value in groups.free:
            continue
        root = groups.root(value)
        if root not in by_root:
            by_root[root] = Region(value.type.shape, len(by_root), groups.fixed[root])
        found.of[value] = by_root[root]
    found.all.extend(by_root.values())
