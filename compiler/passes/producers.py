"""Warps that only copy, beside those that multiply, in blocks that take turn after turn.

    grid m in range(0, M, 128), n in range(0, N, 256)
    %zero = full f32(0.0) : f32[128, 256]
    %sum = for k in range(0, K, 64) carry (%acc = %zero) {
      %x = load @a[m : +128, k : +64] : f16[128, 64]            (no layout: the unit reads it)
      %y = load @b[k : +64, n : +256] : f16[64, 256]
      %d = dot %x, %y, acc=%acc, atom="wgmma.m64n256k16.ss" : f32[128, 256] `...`
    }
    store @c[m : +128, n : +256], %sum

becomes, with 4 stages,

    grid block in range(0, 132)
    init_barriers @full[0 : +4], arrivals=1
    init_barriers @empty[0 : +4], arrivals=1
    sync
    aside warps=4 registers=40 {
      for round in range(0, rounds) {
        let m = ...
        for k in range(0, K, 64) carry (fill = done % 4, freed = (done // 4 + 1) % 2) {
          await_phase @empty[fill], freed
          arrive @full[fill], bytes=49152
          copy_async @a_ring[fill, ...], @a[m : +128, k : +64], barrier=@full[fill]
          copy_async @b_ring[fill, ...], @b[k : +64, n : +256], barrier=@full[fill]
        }
      }
    }
    for round in range(0, rounds) {
      let m = ...
      for k in range(0, K, 64) carry (%acc = %zero, slot = done % 4, phase = done // 4 % 2) {
        await_phase @full[slot], phase
        %x = load @a_ring[slot, ...]
        %y = load @b_ring[slot, ...]
        %d = dot %x, %y, acc=%acc
        wait_dots pending=1
        if k > 0 { arrive @empty[slot before], together }
      }
      wait_dots pending=0
      arrive @empty[slot before], together
      store ...
    }

The copies of a turn begin while the turn before still computes and stores its results, and no warp that
multiplies waits to start one. That is for kernels whose one loop feeds late products by bulk copies
alone: whatever else a loop loads, its own warps would have to wait for. `even_work` says which turns a
block takes and adds up those that several share; results leave by `bulk` in pieces, for which there is
room beside the rings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.affine import simplify
from dslc.compiler.ir.expr import Binary, Expr, Read, Var, index
from dslc.compiler.ir.expr import walk as expressions
from dslc.compiler.ir.instructions import Carried, Stmt
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import clone_body, fresh_name, map_kernels, scalar_names
from dslc.compiler.ir.traverse import Body, walk, writes
from dslc.compiler.ir.values import Memory, Place, Region, Role, Value
from dslc.compiler.passes.bulk import is_loaded_in_bulk
from dslc.compiler.passes.even_work import EvenWork, Part, add, div, is_even, least, mod, mul
from dslc.compiler.passes.facts import Facts, kernel_facts
from dslc.compiler.passes.late_products import deferred, is_made_anew
from dslc.compiler.passes.outgoing import Outgoing, outgoing
from dslc.compiler.passes.parts import joined, most_shares
from dslc.compiler.passes.pipelined_loop import Barriers, Ring
from dslc.compiler.passes.rings import in_panels
from dslc.compiler.passes.stages import MOST_STAGES
from dslc.compiler.passes.staging import Ahead, constant_memories, loads_ahead
from dslc.compiler.targets import Target

_WARPS, _REGISTERS = 4, 40  # aside: a warpgroup, since these hand on registers together
_FEWEST = 3  # stages: one is read, one is being freed, one comes
_BESIDE = 2048  # bytes for barriers and scratch
_UNMOVED = (ins.Sync, ins.CopyAsync, ins.Alloc, ins.Print, ins.SemaphoreWait, ins.SemaphoreRelease)


@dataclass(frozen=True, slots=True)
class Producers:
    """Gives the bulk copies of products to warps of their own; `stages` as `Pipeline` takes them."""

    target: Target
    stages: int | None = None
    name: str = "producers"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with producers where all of a loop's copies can be theirs."""
        return map_kernels(program, self._kernel) if self.target.bulk_copies else program

    def _kernel(self, kernel: Kernel) -> Kernel:
        loops = [s for s in walk(kernel.body) if isinstance(s, ins.For | ins.While)]
        if len(loops) != 1 or loops[0] not in kernel.body or kernel.threads is None:
            return kernel
        (loop,) = loops
        if not isinstance(loop, ins.For) or not is_even(kernel, loop) or not deferred(loop):
            return kernel
        # What threads make ready for a product has the registers of two turns: a loop unrolled by two.
        if is_made_anew(loop, deferred(loop)):
            return kernel
        if any(isinstance(s, _UNMOVED) for s in walk(kernel.body)):
            return kernel
        if kernel.threads + _WARPS * self.target.warp_size > self.target.threads:
            return kernel
        facts = kernel_facts(kernel)
        facts.assume_range(loop.var, loop.start, loop.stop, loop.step)
        ahead = loads_ahead(loop, facts, constant_memories(kernel.body, kernel.tensors))
        loads = [s for s in walk(loop.body) if isinstance(s, ins.Load)]
        if not _all_in_bulk(ahead, loads, kernel, facts):
            return kernel
        at = kernel.body.index(loop)
        if not _is_repeatable(kernel.body[:at], loop) or not _is_scalar(kernel.body[:at], ahead):
            return kernel
        shared = self.target.memory("shared")
        room = (shared.bytes if shared else 0) - _BESIDE
        sent = outgoing(kernel, kernel.body[at + 1 :], room)
        stage = sum(a.bytes for a in ahead)
        asked = loop.stages or self.stages
        stages = min(asked or MOST_STAGES, (room - sum(o.bytes for o in sent)) // stage)
        if stages < _FEWEST:
            return kernel
        return _Sides(kernel, loop, ahead, sent, stages, self.target).kernel()


def _all_in_bulk(
    ahead: Sequence[Ahead], loads: Sequence[ins.Load], kernel: Kernel, facts: Facts
) -> bool:
    """Whether the unit makes all copies of the loop, each in every turn."""
    found = {
        a.load
        for a in ahead
        if a.run == 1 and a.width and is_loaded_in_bulk(a.load, kernel.tensors, facts)
    }
    return bool(loads) and found == set(loads)


def _is_repeatable(before: Body, loop: ins.For) -> bool:
    """Whether several blocks may do what stands before and in the loop for one turn."""
    return not any(writes(s) for s in walk((*before, loop)))


def _is_scalar(before: Body, ahead: Sequence[Ahead]) -> bool:
    """Whether subscripts are made of scalars alone, which warps aside can compute again."""
    needs = [s for a in ahead for s in a.needs]
    if any(not isinstance(s, ins.Let) for s in needs):
        return False
    lets = [s.value for s in (*needs, *before) if isinstance(s, ins.Let)]
    starts = [x.start for a in ahead for x in a.load.region.axes]
    return not any(isinstance(n, Read) for e in (*lets, *starts) for n in expressions(e))


class _Sides:
    """Builds both sides of one kernel."""

    def __init__(
        self,
        kernel: Kernel,
        loop: ins.For,
        ahead: Sequence[Ahead],
        sent: Sequence[Outgoing],
        stages: int,
        target: Target,
    ) -> None:
        self.source, self.loop, self.sent, self.stages = kernel, loop, sent, stages
        self.taken = scalar_names(kernel)
        at = kernel.body.index(loop)
        self.before, self.after = kernel.body[:at], kernel.body[at + 1 :]
        self.rings = [self._ring(a) for a in ahead]
        self.late = deferred(loop)
        most = most_shares(kernel, loop, target)
        self.work = EvenWork(kernel, loop, target.units, most, self.taken)
        self.full = Barriers("full", stages, self._var("phase"))
        self.empty = Barriers("empty", stages, self._var("freed"))

    def kernel(self) -> Kernel:
        """The kernel in turns of blocks."""
        allocs = [ins.Alloc(r.memory, loc=r.ahead.load.loc) for r in self.rings]
        allocs += [ins.Alloc(o.memory, loc=o.store.loc) for o in self.sent]
        begin = (*self.work.lets, *allocs, *self.full.begin(), *self.empty.begin(), ins.Sync())
        aside = ins.Aside((self._producer(),), _WARPS, _REGISTERS, loc=self.loop.loc)
        consumer, spaces = self._consumer()
        # What left last may still be read from shared memory, which ends with the block.
        end = (ins.WaitGroup(0),) if self.sent else ()
        return replace(
            self.source,
            grid=self.work.grid,
            body=(*begin, aside, consumer, *end),
            workspaces=(*self.source.workspaces, *spaces),
        )

    def _ring(self, ahead: Ahead) -> Ring:
        load, threads = ahead.load, self.source.threads
        memory, shape = load.region.memory, load.out.type.shape
        assert threads is not None
        placed = in_panels(shape, memory.dtype.bits, ahead.width, threads)
        extents, layout = placed.ring(self.stages)
        ring = Memory(
            f"{memory.name}_ring", memory.dtype, tuple(map(index, extents)), Role.BUFFER,
            Place.SHARED, layout=layout, loc=load.loc,
        )  # fmt: skip
        return Ring(ahead, ring, placed, self.stages, bulk=True)

    # The warps aside

    def _producer(self) -> ins.For:
        """All copies of all turns, each as soon as its slot is free."""
        round_, k = self._var("round"), self._var(self.loop.var.name)
        part = self.work.part(round_)
        fill = self._var("fill")
        counters = self._counters(part, fill, self.empty, 1)
        size = sum(r.bytes // r.slots for r in self.rings)
        inside: list[Stmt] = [self.empty.wait(fill), ins.Arrive(self.full.at(fill), size)]
        places = {a.var: e for a, e in zip(self.source.grid, part.at, strict=True)}
        for ring in self.rings:
            inside += self._copy(ring, fill, {**places, self.loop.var: k})
        steps = self._steps(part, k, tuple(inside), counters)
        return self._rounds(round_, (*part.lets, steps))

    def _copy(self, ring: Ring, slot: Expr, scalars: dict[Var, Expr]) -> Body:
        load = ring.ahead.load
        own = tuple(s for s in self.before if isinstance(s, ins.Let))  # subscripts may be of them
        starts = [a.start for a in load.region.axes]
        needs, uses = clone_body(
            (*own, *ring.ahead.needs), self.taken, scalars=scalars, outputs=starts
        )
        axes = [
            replace(a, start=simplify(u))
            for a, u in zip(load.region.axes, uses, strict=True)
            if not isinstance(u, Value)
        ]
        source = Region(load.region.memory, tuple(axes))
        copy = ins.CopyAsync(ring.region(slot), source, barrier=self.full.at(slot), loc=load.loc)
        return (*needs, copy)

    # The others

    def _consumer(self) -> tuple[ins.For, tuple[Memory, ...]]:
        """The turns without their copies, and the workspaces for those that blocks share."""
        round_, slot = self._var("round"), self._var("slot")
        part = self.work.part(round_)
        lets = [ins.Let(a.var, e) for a, e in zip(self.source.grid, part.at, strict=True)]
        counters = self._counters(part, slot, self.full, 0)
        steps = self._steps(part, self.loop.var, self._turn(part, slot), counters, own=True)
        freed = ins.If(
            Binary("lt", steps.start, steps.stop, BOOL),
            (ins.Arrive(self.empty.at(self._before(self._result(steps, slot))), together=True),),
        )
        after = tuple(t for s in self.after for t in self._leaving(s))
        ending, spaces = joined(self.work, part, self.loop, self.source, after, self.taken)
        body = (*part.lets, *lets, *self.before, steps, ins.WaitDots(0), freed, *ending)
        return self._rounds(round_, body), spaces

    def _turn(self, part: Part, slot: Var) -> Body:
        """A step: wait for the slot, multiply, free the slot of the step before."""
        reads = {r.ahead.load: r for r in self.rings}
        body: list[Stmt] = [self.full.wait(slot)]
        for stmt in self.loop.body:
            if isinstance(stmt, ins.Load):
                region = reads[stmt].region(slot)
                body.append(replace(stmt, region=region, other=None))
            elif not isinstance(stmt, ins.WaitDots):
                body.append(stmt)
        last = max(i for i, s in enumerate(body) if s in self.late)
        first = self._at(part.first)
        arrive = ins.Arrive(self.empty.at(self._before(slot)), together=True)
        later = ins.If(Binary("gt", self.loop.var, first, BOOL), (arrive,))
        wait = ins.WaitDots(len(self.late), loc=self.late[-1].loc)
        return (*body[: last + 1], wait, later, *body[last + 1 :])

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
        return ins.For(
            var, simplify(self._at(part.first)), simplify(stop), self.loop.step, body, carried,
            stages=1, loc=self.loop.loc,
        )  # fmt: skip

    def _rounds(self, var: Var, body: Body) -> ins.For:
        """The loop over a block's turns."""
        return ins.For(var, index(0), self.work.rounds, index(1), body, stages=1, loc=self.loop.loc)

    def _at(self, step: Expr) -> Expr:
        return simplify(add(self.loop.start, mul(step, self.loop.step)))

    def _counters(self, part: Part, slot: Var, barriers: Barriers, first: int) -> list[Carried]:
        """The slot and the parity of its phase, as the steps before a part have left them."""
        stages = index(self.stages)
        after = simplify(mod(add(slot, index(1)), stages))
        begin = simplify(mod(part.done, stages))
        phase = barriers.counter(self._var(barriers.phase.name), slot, first)
        runs = simplify(mod(add(div(part.done, stages), index(first)), index(2)))
        return [Carried(self._var(slot.name), slot, begin, after), replace(phase, init=runs)]

    def _before(self, slot: Expr) -> Expr:
        return simplify(mod(add(slot, index(self.stages - 1)), index(self.stages)))

    def _result(self, loop: ins.For, inner: Var) -> Var:
        (found,) = (c.result for c in loop.carried if c.inner is inner)
        assert isinstance(found, Var)
        return found

    def _var(self, hint: str) -> Var:
        return Var(fresh_name(hint, self.taken), INDEX)
