"""Rings that producer warps fill and the others read, with barriers for each group of loads.

    %x = load @k[l : +128, ...]
    %s = dot %q, %x
    wait_dots pending=0
    (threads compute)
    %y = load @v[l : +128, ...]
    %d = dot %p, %y, acc=%o

What an iteration reads before a wait and after it are two groups: the second one need not have come
when the iteration begins, and the slot of the first one is free as soon as its products have ended. So
there are

    await_phase @full[slot]         where a group is read first
    arrive @empty[slot], together   where all products that read it have ended

for each group; all have the same number of slots, and one number counts the slots of all. What the
blocks of a cluster share (`clusters`) each copies a part of, and frees `everywhere`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import add, mod
from dslc.compiler.ir.expr import Binary, Expr, Var, index
from dslc.compiler.ir.instructions import Carried, Stmt
from dslc.compiler.ir.rewrite import clone_body, fresh_name
from dslc.compiler.ir.traverse import Body, operands, walk
from dslc.compiler.ir.values import Region, Value
from dslc.compiler.passes.pipelining.cluster_multicast import Cluster
from dslc.compiler.passes.pipelining.pipelined_loop import loaded_early
from dslc.compiler.passes.pipelining.prefetchable_loads import Ahead
from dslc.compiler.passes.pipelining.ring_buffers import Barriers, Ring
from dslc.compiler.passes.pipelining.ring_layout import Placement
from dslc.compiler.passes.products.async_products import deferred, last_wait

Placed = tuple[Ahead, Placement]


@dataclass(frozen=True, slots=True)
class Group:
    """Loads that are awaited and freed together: read from statement `first` of an iteration on.

    Free after the wait with number `freed` of the iteration, or `later`, after the first of the next
    iteration, of all blocks of a cluster where some are `shared`.
    """

    rings: tuple[Ring, ...]
    full: Barriers
    empty: Barriers
    first: int
    freed: int
    later: bool
    shared: bool

    def free(self, slot: Expr) -> ins.Arrive:
        """The slot has been read."""
        return ins.Arrive(self.empty.at(slot), together=True, everywhere=self.shared)

    @property
    def bytes(self) -> int:
        """The bytes of a slot."""
        return sum(r.bytes // r.slots for r in self.rings)


class ProducerRings:
    """The rings of one loop: what fills them, and an iteration that reads them."""

    def __init__(
        self,
        loop: ins.For,
        loads: Sequence[Placed],
        stages: int,
        taken: set[str],
        cluster: Cluster | None = None,
        early: Sequence[Ahead] = (),
    ) -> None:
        """What is `early` the others load themselves, an iteration ahead."""
        self._early = early
        self.loop, self.stages, self.taken, self.cluster = loop, stages, taken, cluster
        self.async_dots = deferred(loop)
        by_threads = [s for a, _ in loads for s in a.loads if s.out.type.layout is not None]
        self.body = _sunk(_with_waits(loop, self.async_dots), by_threads)
        self.phase, self.freed = self._var("phase"), self._var("freed")
        self.groups = self._groups(loads)

    def begin(self) -> Body:
        """Their memory and barriers; a barrier of the block must follow."""
        rings = (r for g in self.groups for r in g.rings)
        allocs: list[Stmt] = [ins.Alloc(r.memory, loc=r.ahead.load.loc) for r in rings]
        for group in self.groups:
            readers = self.cluster.size if self.cluster and group.shared else 1
            allocs += [*group.full.begin(), *group.empty.begin(readers)]
        return tuple(allocs)

    # The producer warps

    def fill(
        self,
        fill: Expr,
        own: Iterable[Stmt],
        scalars: dict[Var, Expr],
    ) -> Body:
        """All copies of an iteration, each as soon as its slot is free; subscripts may be of `own`."""
        body: list[Stmt] = []
        loads = [r.ahead.load for g in self.groups for r in g.rings]
        needs = {s for g in self.groups for r in g.rings for s in r.ahead.needs}
        read = any(isinstance(s, ins.Load) for s in needs)
        sources: dict[ins.Load, Region] = {}
        if read:  # what is read from memory once for all copies
            every = (*own, *(s for s in self.body if s in needs))
            body, sources = self._sources(every, loads, scalars)
        for group in self.groups:
            body += [group.empty.wait(fill), ins.Arrive(group.full.at(fill), group.bytes)]
            for ring in group.rings:
                full = group.full.at(fill)
                load = ring.ahead.load
                if not read:
                    computed, sources = self._sources((*own, *ring.ahead.needs), [load], scalars)
                    body += computed
                source = sources[load]
                tile, shared = ring.region(fill), self._is_shared(ring)
                if self.cluster is not None and shared:
                    tile, source = (self.cluster.part(load, r) for r in (tile, source))
                body.append(
                    ins.CopyAsync(tile, source, barrier=full, multicast=shared, loc=load.loc)
                )
        return tuple(body)

    def _sources(
        self,
        own: Body,
        loads: Sequence[ins.Load],
        scalars: dict[Var, Expr],
    ) -> tuple[list[Stmt], dict[ins.Load, Region]]:
        """The regions that loads read, and before them the scalars of which these are made."""
        places = [e for load in loads for e in load.region.subscripts]
        needs, uses = clone_body(own, self.taken, scalars=scalars, outputs=places)
        numbers = (simplify(u) for u in uses if not isinstance(u, Value))
        sources: dict[ins.Load, Region] = {}
        for load in loads:
            sources[load] = load.region.with_subscripts(
                [next(numbers) for _ in load.region.subscripts]
            )
        return list(needs), sources

    def early_ids(self, copies: ins.For) -> Body:
        """The loop that copies, with the scalars that it reads from memory an iteration ahead."""
        ahead: list[Ahead] = []
        needs: list[Stmt] = []
        for stmt in copies.body:
            if isinstance(stmt, ins.AwaitPhase):
                break
            if isinstance(stmt, ins.Load):
                ahead.append(Ahead(stmt, tuple(needs), 0))
            needs.append(stmt)
        return loaded_early(copies, ahead, self.taken)

    # The others

    def early(self, loop: ins.For) -> Body:
        """The loop that computes, with what its own warps load an iteration ahead."""
        return loaded_early(loop, self._early, self.taken)

    def iteration(self, slot: Var, first: Expr) -> Body:
        """The loop's body as it reads its slot; `first` is its variable in the first iteration."""
        rings = [r for g in self.groups for r in g.rings]
        regions = {load: r.region(slot) for r in rings for load in r.ahead.loads}
        begun = Binary("gt", self.loop.var, first, BOOL)
        waits = 0
        body: list[Stmt] = []
        for at, stmt in enumerate(self.body):
            body += [g.full.wait(slot) for g in self.groups if g.first == at]
            if isinstance(stmt, ins.Load) and stmt in regions:
                body.append(replace(stmt, region=regions[stmt], other=None))
            else:
                body.append(stmt)
            if isinstance(stmt, ins.WaitDots):
                here = [g for g in self.groups if not g.later and g.freed == waits]
                body += [g.free(slot) for g in here]
                if not waits:
                    before = self.before(slot)
                    body += [ins.If(begun, free) for free in [self.free(before)] if free]
                waits += 1
        return tuple(body)

    def free(self, slot: Expr) -> Body:
        """What products read that the iteration of this slot has left running."""
        return tuple(g.free(slot) for g in self.groups if g.later)

    # Counters

    def reading(self, slot: Var) -> list[Carried]:
        """The slot that an iteration reads and its phase, for the loop of those that multiply."""
        return self._counters(slot, self.groups[0].full, 0)

    def filling(self, fill: Var) -> list[Carried]:
        """The slot that is filled and its phase, for the loop aside."""
        return self._counters(fill, self.groups[0].empty, 1)

    def before(self, slot: Expr) -> Expr:
        """The slot of the iteration before."""
        return simplify(mod(add(slot, self.stages - 1), self.stages))

    def _counters(self, slot: Var, barriers: Barriers, first: int) -> list[Carried]:
        after = simplify(mod(add(slot, 1), self.stages))
        return [
            Carried(self._var(slot.name), slot, index(0), after),
            barriers.counter(self._var(barriers.phase.name), slot, first),
        ]

    # Groups

    def _groups(self, loads: Sequence[Placed]) -> tuple[Group, ...]:
        """The loads by how many waits an iteration has had when it reads them."""
        waits = [i for i, s in enumerate(self.body) if isinstance(s, ins.WaitDots)]
        by_key: dict[int, list[tuple[Ring, int, int | None]]] = {}
        for ahead, placed in loads:
            places = [self._read(load) for load in ahead.loads]
            first, last = min(at for at, _ in places), max(at for _, at in places)
            freed = next((n for n, w in enumerate(waits) if w > last), None)
            if self.async_dots:
                freed = None  # the wait in the loop is for the iteration before
            key = sum(w < first for w in waits)
            by_key.setdefault(key, []).append(
                (Ring.of(ahead, placed, self.stages, bulk=True), first, freed)
            )
        groups: list[Group] = []
        for members in by_key.values():
            ends = [freed for _, _, freed in members]
            rings = tuple(ring for ring, _, _ in members)
            number = "" if not groups else f"_{len(groups)}"
            full = Barriers(f"full{number}", self.stages, self.phase)
            empty = Barriers(f"empty{number}", self.stages, self.freed)
            groups.append(
                Group(
                    rings,
                    full,
                    empty,
                    min(first for _, first, _ in members),
                    max((e for e in ends if e is not None), default=0),
                    None in ends,
                    any(map(self._is_shared, rings)),
                )
            )
        return tuple(groups)

    def _read(self, load: ins.Load) -> tuple[int, int]:
        """The load's place, and that of the last statement that reads its memory."""
        at = last = self.body.index(load)
        if load.out.type.layout is not None:
            return at, at
        seen = {load.out}
        for number, stmt in enumerate(self.body):
            if seen.intersection(v for s in walk((stmt,)) for v in operands(s)):
                last = number
                if isinstance(stmt, ins.Transpose | ins.View):  # the same memory by another name
                    seen.add(stmt.out)
        return at, last

    def _is_shared(self, ring: Ring) -> bool:
        return self.cluster is not None and ring.ahead.load in self.cluster.parts

    def _var(self, hint: str) -> Var:
        return Var(fresh_name(hint, self.taken), INDEX)


def _with_waits(loop: ins.For, async_dots: tuple[ins.Dot, ...]) -> Body:
    """The body with the waits that it needs, and loads of what units read where that is read first."""
    gone = last_wait(loop)
    body = [s for s in loop.body if s is not gone and not (async_dots and _is_wait(s))]
    if async_dots:
        last = max(i for i, s in enumerate(body) if s in async_dots)
        body.insert(last + 1, ins.WaitDots(len(async_dots), loc=async_dots[-1].loc))
    for load in [s for s in body if isinstance(s, ins.Load) and s.out.type.layout is None]:
        body.remove(load)
        reads = (
            i
            for i, s in enumerate(body)
            if load.out in {v for t in walk((s,)) for v in operands(t)}
        )
        body.insert(next(reads, len(body)), load)
    return tuple(body)


def _sunk(body: Body, loads: Iterable[ins.Load]) -> Body:
    """The body with the loads of threads after the last wait that comes before their readers.

    Over a product that is waited for they would take registers for nothing.
    """
    sunk = list(body)
    for load in loads:
        at = sunk.index(load)
        reads = (
            i
            for i, s in enumerate(sunk)
            if load.out in {v for t in walk((s,)) for v in operands(t)}
        )
        first = next(reads, at)
        waits = [i for i in range(at, first) if _ends_products(sunk[i])]
        if waits:
            sunk.insert(waits[-1] + 1, load)
            del sunk[at]
    return tuple(sunk)


def _ends_products(stmt: Stmt) -> bool:
    return isinstance(stmt, ins.WaitDots) and not stmt.pending


def _is_wait(stmt: Stmt) -> bool:
    return isinstance(stmt, ins.WaitDots)
