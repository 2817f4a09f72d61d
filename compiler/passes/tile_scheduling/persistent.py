"""Persistent blocks (CTAs) take turn after turn; producer warps copy for all of these turns.

`producer_warps` shows a kernel before and after. The copies of a turn begin while the turn before still
computes and stores its results. `tile_scheduler` says which turns a block takes, `stream_k` adds up
those that several share; results leave in pieces (`epilogue_stores`), for which there is room beside
the rings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import add, least, mul
from dslc.compiler.ir.expr import TRUE, Binary, Expr, Var, index
from dslc.compiler.ir.instructions import Carried, Stmt
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.rewrite import fresh_name
from dslc.compiler.ir.traverse import Body
from dslc.compiler.ir.values import Memory
from dslc.compiler.passes.products.async_products import is_made_anew
from dslc.compiler.passes.tile_scheduling.stream_k import joined, sharing
from dslc.compiler.passes.tile_scheduling.tile_scheduler import Part, TileScheduler
from dslc.compiler.passes.warp_specialization.epilogue_stores import EpilogueStores
from dslc.compiler.passes.warp_specialization.producer_rings import ProducerRings
from dslc.compiler.targets import Target


class Persistent:
    """Builds both sides of one kernel."""

    def __init__(
        self,
        kernel: Kernel,
        rings: ProducerRings,
        sent: Sequence[EpilogueStores],
        target: Target,
    ) -> None:
        self.source, self.loop, self.rings, self.sent = kernel, rings.loop, rings, sent
        self.taken = rings.taken
        at = kernel.body.index(self.loop)
        self.before, self.after = kernel.body[:at], kernel.body[at + 1 :]
        shared = sharing(kernel, self.loop, target)
        self.cluster = rings.cluster
        self.work = TileScheduler(kernel, self.loop, target.units, shared, self.taken, self.cluster)

    def kernel(self, warps: int, registers: int) -> Kernel:
        """The kernel in turns of blocks, with so many producer warps."""
        allocs = [ins.Alloc(o.memory, loc=o.store.loc) for o in self.sent]
        clusters = self.cluster is not None
        begin = (*self.work.lets, *self.rings.begin(), *allocs, ins.Sync(cluster=clusters))
        producers = ins.WarpSpecialize((self._producer(),), warps, registers, loc=self.loop.loc)
        consumer, spaces = self._consumer()
        # What left last may still be read from shared memory, which ends with the block.
        end = (ins.WaitGroup(0),) if self.sent else ()
        if self.cluster is not None:
            # Others may still arrive at its barriers, which end with the block, too.
            end = (*end, ins.Sync(cluster=True))
        return replace(
            self.source,
            grid=self.work.grid,
            body=(*begin, producers, consumer, *end),
            workspaces=(*self.source.workspaces, *spaces),
            cluster=self.cluster.size if self.cluster is not None else None,
        )

    def _producer(self) -> ins.For:
        """All copies of all turns, each as soon as its slot is free."""
        round_, k, fill = self._var("round"), self._var(self.loop.var.name), self._var("fill")
        part = self.work.part(round_)
        counters, begin = self._from_turn_to_turn(self.rings.filling(fill))
        places = {a.var: e for a, e in zip(self.source.grid, part.at, strict=True)}
        own = tuple(s for s in self.before if isinstance(s, ins.Let))  # subscripts may be of them
        copies = self.rings.fill(fill, own, {**places, self.loop.var: k})
        steps = self.rings.early_ids(self._steps(part, k, copies, counters))
        return self._rounds(round_, (*part.lets, *steps), begin)

    def _consumer(self) -> tuple[ins.For, tuple[Memory, ...]]:
        """The turns without their copies, and the workspaces for those that blocks share."""
        round_, slot = self._var("round"), self._var("slot")
        part = self.work.part(round_)
        lets = [ins.Let(a.var, e) for a, e in zip(self.source.grid, part.at, strict=True)]
        counters, begin = self._from_turn_to_turn(self.rings.reading(slot))
        body = self.rings.iteration(slot, self._at(part.first))
        steps = self._steps(part, self.loop.var, body, counters, own=True)
        last = counters[0].result
        assert isinstance(last, Var)
        free = self.rings.free(self.rings.before(last))
        freed = ins.If(Binary("lt", steps.start, steps.stop, BOOL), free)
        after = tuple(t for s in self.after for t in self._leaving(s))
        if part.own != TRUE:
            after = (ins.If(part.own, after),)
        ending, spaces = joined(self.work, part, self.loop, self.source, after, self.taken)
        loop = self.rings.early(steps)
        body = (*part.lets, *lets, *self.before, *loop, ins.WaitDots(0), freed, *ending)
        return self._rounds(round_, body, begin), spaces

    def _leaving(self, stmt: Stmt) -> Body:
        """A store, in pieces by way of shared memory where it has room there."""
        return next((o.body() for o in self.sent if o.store is stmt), (stmt,))

    # Loops

    def _steps(
        self, part: Part, var: Var, body: Body, counters: list[Carried], *, own: bool = False
    ) -> ins.For:
        """The loop over a part's steps, with its own carried values for the side that computes."""
        stop = least(self.loop.stop, self._at(part.end))
        carried = (*(self.loop.carried if own else ()), *counters)
        # What is made ready for a product lies in the registers of two iterations.
        unroll = 2 if own and is_made_anew(self.loop, self.rings.async_dots) else None
        return ins.For(
            var, simplify(self._at(part.first)), simplify(stop), self.loop.step, body, carried,
            stages=1, unroll=unroll, loc=self.loop.loc,
        )  # fmt: skip

    def _rounds(self, var: Var, body: Body, carried: tuple[Carried, ...]) -> ins.For:
        """The loop over a block's turns."""
        return ins.For(
            var, index(0), self.work.rounds, index(1), body, carried, stages=1, loc=self.loop.loc
        )

    def _at(self, step: Expr) -> Expr:
        return simplify(add(self.loop.start, mul(step, self.loop.step)))

    def _from_turn_to_turn(self, steps: list[Carried]) -> tuple[list[Carried], tuple[Carried, ...]]:
        """The counters of the steps' loop, which go on in the next turn, and those of the turns'."""
        turns: list[Carried] = []
        for at, c in enumerate(steps):
            assert isinstance(c.inner, Var)
            begin = self._var(f"first_{c.inner.name}")
            turns.append(Carried(self._var(c.inner.name), begin, c.init, c.result))
            steps[at] = replace(c, init=begin)
        return steps, tuple(turns)

    def _var(self, hint: str) -> Var:
        return Var(fresh_name(hint, self.taken), INDEX)
