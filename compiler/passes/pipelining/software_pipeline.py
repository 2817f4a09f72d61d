"""Software pipelining: loads of later iterations run while an iteration computes.

Before (tests/ir/software-pipeline/three_stages.tir):

    %acc = full f32(0.0) : f32[16, 8] `local(2, 1).spatial(8, 4).local(1, 2)`
    %acc_5 = for k in range(0, K, 16) carry (%acc_1 : f32[16, 8] `...` = %acc) {
      %acc_2 = load @a[m : +16, k : +16] : f16[16, 16] `...`
      %acc_3 = load @b[k : +16, n : +8!] : f16[16, 8] `local(2, 1).column_spatial(4, 8).local(2, 1)`
      %acc_4 = dot %acc_2, %acc_3, acc=%acc_1, atom="mma.m16n8k16" : f32[16, 8] `...`
      yield %acc_4
    }

After, with 3 stages:

    %acc = full f32(0.0) : f32[16, 8] `local(2, 1).spatial(8, 4).local(1, 2)`
    alloc @a_ring: buffer shared f16[3, 16, 16] `...`
    alloc @b_ring: buffer shared f16[3, 16, 8]
    for stage in range(0, 2, 1) stages=1 {
      if stage * 16 < K {
        copy_async @a_ring[stage!, 0 : +16!, 0 : +16!], @a[m : +16, stage * 16 : +16], layout=`...`
        copy_async @b_ring[stage!, 0 : +16!, 0 : +8!], @b[stage * 16 : +16, n : +8!], layout=`...`
      }
      commit_group
    }
    %acc_5, slot_1, fill_1 = for k in range(0, K, 16) stages=1 carry (...) {
      wait_group pending=1
      sync
      if k + 32 < K {
        copy_async @a_ring[fill!, 0 : +16!, 0 : +16!], @a[m : +16, k + 32 : +16], layout=`...`
        copy_async @b_ring[fill!, 0 : +16!, 0 : +8!], @b[k + 32 : +16, n : +8!], layout=`...`
      }
      commit_group
      %acc_2 = load @a_ring[slot!, 0 : +16!, 0 : +16!] : f16[16, 16] `...`
      %acc_3 = load @b_ring[slot!, 0 : +16!, 0 : +8!] : f16[16, 8] `...`
      %acc_4 = dot %acc_2, %acc_3, acc=%acc_1, atom="mma.m16n8k16" : f32[16, 8] `...`
      yield %acc_4, (slot + 1) % 3, slot
    }

An iteration waits for its own group alone: `stages - 2` newer ones may be under way. The one barrier
makes what all threads copied visible, and says that all have read the slot that is filled next: the one
of the iteration before. Groups are committed in every iteration, empty ones too, so the count stays
right at the end. Where each thread reads only what it copied itself there is no barrier. Nothing is
left to wait for after the loop, since no copy is issued past its end.

Where products end later (`async_products`), the slot that is filled is that of two iterations before,
and one group fewer is under way: the products of the iteration before may still read theirs.

What the machine has a unit for is copied in bulk (`tma_copies`): one arrival announces the bytes of a
slot, and instead of its group an iteration waits for the phase of that slot's barrier. Beside the
operands of an asynchronous product these are runs of bytes that threads read, such as packed weights.
Where all is copied in bulk there is no barrier of the block: warps arrive at a second barrier of the
slot when asynchronous products have read it, and its next filling waits for that phase, so that warps
may be an iteration apart.

A load that stays the same for several iterations is copied once for all of them, into a ring of its own
count. What cannot be copied asynchronously is loaded into registers an iteration ahead
(`prefetchable_loads` has the rules, `ring_layout` the layouts), and where no load gains by shared
memory all are, several iterations ahead (`register_prefetch`). Kernels with copies or barriers of their
own are left as they are, as are those with shared buffers for which the compiler places the barriers.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace

from dslc.compiler.analysis.scalar_facts import Facts, FactsRewriter
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Const
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import map_kernels, scalar_names, with_body
from dslc.compiler.ir.traverse import Body, Use, walk
from dslc.compiler.ir.workload import range_of
from dslc.compiler.passes.pipelining.pipelined_loop import PipelinedLoop
from dslc.compiler.passes.pipelining.prefetchable_loads import (
    Ahead,
    constant_memories,
    is_explicit,
    is_prefetched,
    loads_ahead,
)
from dslc.compiler.passes.pipelining.register_prefetch import iterations_ahead
from dslc.compiler.passes.pipelining.ring_buffers import Ring
from dslc.compiler.passes.pipelining.ring_layout import Placement, place, swizzled_placement
from dslc.compiler.passes.pipelining.stage_count import (
    Room,
    around_last_loop,
    choose_stages,
    exchanges_much,
)
from dslc.compiler.passes.pipelining.tma_copies import is_loaded_in_bulk, is_run
from dslc.compiler.passes.products.async_products import (
    deferred,
    in_registers,
    is_paced,
    is_paired,
    last_wait,
    settle,
)
from dslc.compiler.passes.products.placed_operands import place_operands
from dslc.compiler.targets import Target

_LAGGING = 2  # stages up to which no product may run on into the next iteration


@dataclass(frozen=True, slots=True)
class SoftwarePipeline:
    """Pipelines the sequential loops of every kernel.

    A loop's own `stages=` is obeyed, else `stages`, else the number is chosen; 1 leaves a loop alone.
    """

    target: Target
    stages: int | None = None
    name: str = "software-pipeline"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with its loops pipelined."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        if is_explicit(kernel):
            return kernel
        body = _Loops(kernel, self.target, self.stages).body(kernel.body)
        pipelined = with_body(kernel, body)
        return place_operands(settle(pipelined, self.target.bulk_copies))


class _Loops(FactsRewriter):
    """Pipelines the loops of one kernel, inner ones first."""

    def __init__(self, kernel: Kernel, target: Target, stages: int | None) -> None:
        super().__init__(kernel)
        self.target, self.stages = target, stages
        self.taken, self.tensors = scalar_names(kernel), kernel.tensors
        self.unwritten = constant_memories(kernel.body, kernel.tensors)
        self.room = Room.of(kernel, target)
        loops = (s for s in walk(kernel.body) if isinstance(s, ins.For))
        self.more = sum(not any(isinstance(t, ins.For) for t in walk(s.body)) for s in loops) > 1
        _, after = around_last_loop(kernel.body)
        self.freed = exchanges_much(after, target.warp_size)
        # What blocks of a cluster exchange takes the memory of rings, too.
        self.more |= any(isinstance(s, ins.ClusterReduce) for s in after)
        self.used = [0]  # bytes of rings that live at once in each body around, so far
        self.inner = 0  # in the loop that was left last
        self.depth = 0

    def nested(self, stmt: Stmt, which: int, handed: list[Use]) -> tuple[Body, list[Use]]:
        """A body, with the number of loops around it."""
        inside = isinstance(stmt, ins.For | ins.While)
        self.depth += inside
        if inside:
            self.used.append(0)
        rewritten = super().nested(stmt, which, handed)
        self.depth -= inside
        if inside:
            self.inner = self.used.pop()
        return rewritten

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A loop that can be pipelined gives its prologue and itself."""
        rebuilt = self.rebuild(stmt)
        if not isinstance(rebuilt, ins.For | ins.While):
            return (rebuilt,)
        inner, pipelined = self.inner, None
        if isinstance(rebuilt, ins.For):
            # Rings of loops one after another lie in one place.
            room = replace(self.room, bytes=self.room.bytes - inner)
            own, pipelined = self._loop(rebuilt, room)
            inner += own
        self.used[-1] = max(self.used[-1], inner)
        return pipelined or (rebuilt,)

    def _loop(self, loop: ins.For, room: Room) -> tuple[int, Body | None]:
        """The bytes of its rings, and what stands in its place; None for a loop that stays."""
        asked = loop.stages or self.stages
        nested = any(isinstance(s, ins.For | ins.While) for s in walk(loop.body))
        if asked == 1 or (nested and asked is None) or not _is_counted(loop):
            return 0, None
        facts = self.facts.copy()
        facts.assume_range(loop.var, loop.start, loop.stop, loop.step)
        ahead = loads_ahead(loop, facts, self.unwritten)
        if held := iterations_ahead(ahead, asked, room):
            direct = PipelinedLoop(loop, 1, (), ahead, self.taken, held=held)
            return 0, direct.body(self.depth > 0, self.more)
        staged = [a for a in ahead if a.width]
        async_dots = deferred(loop)
        bulk = self._in_bulk(staged, facts)
        paced = is_paced(loop) and len(bulk) == len(staged)
        lag = int(paced or bool(async_dots))
        paired = is_paired(loop, self.room.threads, self.target.rates)
        stages = asked or choose_stages(loop, staged, room, lag, paired=paired)
        if stages == 1 and asked is None and (paced or async_dots):
            stages = choose_stages(loop, staged, room)
        if stages == 1:
            staged = []
        elif asked is None and (trips := range_of(loop.start, loop.stop, loop.step)) is not None:
            stages = min(stages, max(2, len(trips)))
        if stages <= _LAGGING or not staged:
            async_dots, paced = (), False
        kept = {load for a in staged for load in a.loads}
        # With two blocks the other fills the pause, and registers under way would be too many.
        two = paired and stages * sum(a.bytes for a in staged) <= room.half
        last = last_wait(loop) if paced and not two and _are_kept(loop, kept) else None
        threads = self.room.threads
        left = (a for a in ahead if a.load not in kept and a.load.out.type.layout is not None)
        prefetched = [a for a in left if is_prefetched(a, threads)]
        if not staged and not prefetched:
            return 0, None
        under_way = {x for d in async_dots for x in in_registers(d)}
        if any(
            a.load.out in under_way for a in prefetched
        ):  # the next iteration's take the same registers
            async_dots, paced, last = (), False, None
        rings = [self._ring(a, stages, a in bulk) for a in staged]
        pipelined = PipelinedLoop(
            loop, stages, rings, prefetched, self.taken, async_dots, paced, last
        )
        return sum(r.bytes for r in rings), pipelined.body(self.depth > 0, self.more, self.freed)

    def _ring(self, ahead: Ahead, stages: int, bulk: bool) -> Ring:
        slots = stages
        if ahead.run > 1:  # as many runs as the iterations under way can touch
            slots = 1 << (-(-(stages - 1) // ahead.run)).bit_length()
        return Ring.of(ahead, self._placed(ahead), slots, bulk=bulk)

    def _placed(self, ahead: Ahead) -> Placement:
        type_, bits = ahead.load.out.type, ahead.load.region.memory.dtype.bits
        if type_.layout is None and self.room.threads is not None:
            return swizzled_placement(type_.shape, bits, ahead.width, self.room.threads)
        linear, banks = self.target.linear_copies, self.target.banks
        return place(type_.shape, bits, ahead.width, type_.layout, banks, linear)

    def _in_bulk(self, staged: Sequence[Ahead], facts: Facts) -> list[Ahead]:
        """What the machine's unit copies: operands, and beside them what threads read."""
        # Barriers begin their life once: a loop within a loop is left to the threads' copies.
        if not self.target.bulk_copies or self.depth:
            return []
        able = [a for a in staged if a.run == 1 and is_loaded_in_bulk(a.load, self.tensors, facts)]
        boxes = [a for a in able if a.load.out.type.layout is None]
        runs = [a for a in able if is_run(a.load.region, self.tensors, facts)]
        return [
            a for a in able if a in boxes or (boxes and a in runs and not self._placed(a).layout)
        ]


def _are_kept(loop: ins.For, staged: Container[Stmt]) -> bool:
    """Whether all that units read where it lies is in rings, if the loop loads it."""
    loads = (s for s in loop.body if isinstance(s, ins.Load) and s.out.type.layout is None)
    return all(s in staged for s in loads)


def _is_counted(loop: ins.For) -> bool:
    """Whether the iterations can be counted: an index that advances by a constant."""
    return loop.var.dtype == INDEX and isinstance(loop.step, Const) and loop.step.value != 0
