"""Warp specialization: producer warps only copy, beside consumer warps, which multiply.

Before (tests/ir/warp-specialization/persistent.tir), without layouts where the unit reads a tile:

    grid m in range(0, M, 64), n in range(0, N, 64)
    %acc_5 = for k in range(0, K, 32) carry (%acc_1 : f32[64, 64] `...` = %acc) {
      %acc_2 = load @a[m : +64, k : +32] : f16[64, 32]
      %acc_3 = load @b[k : +32, n : +64] : f16[32, 64]
      %acc_4 = dot %acc_2, %acc_3, acc=%acc_1, atom="wgmma.m64n64k16.ss" : f32[64, 64] `...`
      wait_dots pending=0
      yield %acc_4
    }

After, with 3 stages:

    grid block in range(0, min(max((M + 63) // 64, 0) * max((N + 63) // 64, 0) * 2, 2), 1)
    ...
    init_barriers @full[0 : +3!], arrivals=1
    ...
    init_barriers @empty[0 : +3!], arrivals=1
    ...
    warp_specialize warps=4 registers=40 {
      fill_2, freed_2 = for round in range(0, cast(rounds, index), 1) stages=1 carry (...) {
        ...
        fill_1, freed_1 = for k_1 in range(cast(first_step, index) * 32, ..., 32) stages=1 carry (...) {
          await_phase @empty[fill!], freed
          arrive @full[fill!], bytes=8192
          copy_async @a_ring[fill!, 0 : +64!, 0 : +32!], @a[...], barrier=@full[fill!]
          copy_async @b_ring[fill!, 0 : +32!, 0 : +64!], @b[...], barrier=@full[fill!]
          yield (fill + 1) % 3, (freed + (fill + 1) // 3) % 2
        }
        ...
    }
    slot_2, phase_2 = for round_1 in range(0, cast(rounds, index), 1) stages=1 carry (...) {
      ...
      %acc_5, slot_1, phase_1 = for k in range(cast(first_step_1, index) * 32, ..., 32) ... {
        await_phase @full[slot!], phase
        %acc_2 = load @a_ring[slot!, 0 : +64!, 0 : +32!] : f16[64, 32]
        %acc_3 = load @b_ring[slot!, 0 : +32!, 0 : +64!] : f16[32, 64]
        %acc_4 = dot %acc_2, %acc_3, acc=%acc_1, atom="wgmma.m64n64k16.ss" : f32[64, 64] `...`
        wait_dots pending=1
        if k > cast(first_step_1, index) * 32 {
          arrive @empty[(slot + 2) % 3!], together
        }
        ...
      }
      wait_dots pending=0
      ...

No warp that multiplies waits to start a copy. That is for kernels whose one loop feeds asynchronous
products by bulk copies. Scalars of which subscripts are made, such as the ids of pages, are read by the
warps that copy; what else a loop loads must be little, and its own warps load it an iteration ahead.
Where products do nothing but add up, and all turns are alike, blocks take turn after turn
(`persistent`): the copies of a turn begin while the turn before still computes and stores its results.
Otherwise the grid stays (`one_tile_per_block`), unless two blocks on a multiprocessor fill each other's
gaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dslc.compiler.analysis.accumulation import ADD, accumulators
from dslc.compiler.analysis.scalar_facts import Facts, kernel_facts
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import map_kernels, scalar_names
from dslc.compiler.ir.traverse import Body, users, walk, writes
from dslc.compiler.passes.pipelining.cluster_multicast import cluster_for
from dslc.compiler.passes.pipelining.prefetchable_loads import (
    Ahead,
    constant_memories,
    loads_ahead,
    thread_bytes,
)
from dslc.compiler.passes.pipelining.ring_layout import (
    Placement,
    box_placement,
    place,
    swizzled_placement,
)
from dslc.compiler.passes.pipelining.stage_count import MOST_STAGES, Room, converted_bytes
from dslc.compiler.passes.pipelining.tma_copies import is_box, is_loaded_in_bulk, is_run
from dslc.compiler.passes.products.async_products import deferred, is_paced, is_paired, settle
from dslc.compiler.passes.products.placed_operands import place_operands, placed_bytes
from dslc.compiler.passes.tile_scheduling.persistent import Persistent
from dslc.compiler.passes.tile_scheduling.tile_scheduler import is_even
from dslc.compiler.passes.warp_specialization.epilogue_stores import outgoing
from dslc.compiler.passes.warp_specialization.one_tile_per_block import (
    beside,
    is_scalar,
    scalars_for,
)
from dslc.compiler.passes.warp_specialization.producer_rings import Placed, ProducerRings
from dslc.compiler.targets import Target

_WARPS, _REGISTERS = 4, 40  # aside: a warpgroup, since these hand on registers together
_FEWEST = 3  # stages: one is read, one is being freed, one comes
_FEWEST_BESIDE = 2  # of loops whose operands are free before the iteration ends
_BESIDE = 2048  # bytes for barriers and scratch
_FEW = 16  # elements of a thread for what its own warps load
_LITTLE = 32  # bytes of registers of a thread for what its own warps load
_UNMOVED = (
    ins.Sync,
    ins.MemoryBarrier,
    ins.CopyAsync,
    ins.Alloc,
    ins.Print,
    ins.SemaphoreWait,
    ins.SemaphoreRelease,
)


@dataclass(frozen=True, slots=True)
class WarpSpecialization:
    """Gives the copies of products to warps of their own; `stages` as `SoftwarePipeline` takes them.

    With a `cluster` so many blocks share what they read in common, where they do. With `wanted` 0 no
    warps are set aside, with 1 also where two blocks on a multiprocessor would fill each other's gaps;
    None is the pass's own judgement, which knows no sizes.
    """

    target: Target
    stages: int | None = None
    cluster: int | None = None
    wanted: int | None = None
    name: str = "warp-specialization"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with producers where all of a loop's copies can be theirs."""
        able = self.target.bulk_copies and self.wanted != 0
        return map_kernels(program, self._kernel) if able else program

    def _kernel(self, kernel: Kernel) -> Kernel:
        loops = [s for s in walk(kernel.body) if isinstance(s, ins.For | ins.While)]
        if len(loops) != 1 or loops[0] not in kernel.body or kernel.threads is None:
            return kernel
        (loop,) = loops
        if not isinstance(loop, ins.For) or not is_paced(loop):
            return kernel
        if any(isinstance(s, _UNMOVED) for s in walk(kernel.body)):
            return kernel
        if kernel.threads + _WARPS * self.target.warp_size > self.target.threads:
            return kernel
        chosen = self._loads(kernel, loop)
        if chosen is None:
            return kernel
        loads, early = chosen
        adds_up = deferred(loop) or set(accumulators(loop)) == {ADD}
        if adds_up and is_even(kernel, loop):
            return self._persistent(kernel, loop, loads, early)
        # Parts of turns that a program splits for clusters are a wave of blocks, one turn each.
        if deferred(loop) and kernel.cluster is None:
            return kernel
        return self._beside(kernel, loop, loads, early)

    def _persistent(
        self, kernel: Kernel, loop: ins.For, loads: Sequence[Placed], early: Sequence[Ahead]
    ) -> Kernel:
        """In turns of blocks, where several may do what stands before and in the loop for one turn."""
        at = kernel.body.index(loop)
        before = kernel.body[:at]
        if any(writes(s) for s in walk((*before, loop))) or _operands(before):
            return kernel
        unwritten = constant_memories(kernel.body, kernel.tensors)
        scalars = scalars_for(before, loop, loads, unwritten)
        # Tiles that ids choose for each turn came slower so than by the grid's order (`grouped` forms).
        if scalars is None or any(isinstance(s, ins.Load) for s in scalars):
            return kernel
        shared = self.target.memory("shared")
        room = (shared.bytes if shared else 0) - _BESIDE
        after = kernel.body[at + 1 :]
        sent = outgoing(kernel, after, room)
        kept = sum(o.bytes for o in sent) + converted_bytes(after, self.target.warp_size)
        kept += placed_bytes((*before, loop))
        stages = self._stages(loop, loads, room - kept)
        if stages < _FEWEST:
            return kernel
        taken = scalar_names(kernel)
        size = min(self.cluster or 1, self.target.clusters)
        cluster = cluster_for(kernel, loads, size, taken) if size > 1 else None
        rings = ProducerRings(loop, loads, stages, taken, cluster, early)
        persistent = Persistent(kernel, rings, sent, self.target)
        return place_operands(persistent.kernel(_WARPS, _REGISTERS))

    def _beside(
        self, kernel: Kernel, loop: ins.For, loads: Sequence[Placed], early: Sequence[Ahead]
    ) -> Kernel:
        """In the grid as it is, but for loops of which two blocks fill each other's gaps."""
        assert kernel.threads is not None
        before = kernel.body[: kernel.body.index(loop)]
        facts = kernel_facts(kernel)
        if not all(is_box(s.region, kernel.tensors, facts) for s in _operands(before)):
            return kernel  # threads would have to copy them, before the two sides part
        unwritten = constant_memories(kernel.body, kernel.tensors)
        scalars = scalars_for(before, loop, loads, unwritten)
        stages = self._stages(loop, loads, Room.of(kernel, self.target).bytes - _BESIDE)
        # Threads would wait for the scalars that subscripts are made of; producer warps read ahead.
        reads = any(isinstance(s, ins.Load) for ahead, _ in loads for s in ahead.needs)
        paired = not self.wanted and is_paired(loop, kernel.threads, self.target.rates)
        paired = paired and not reads
        if scalars is None or paired or stages < _FEWEST_BESIDE:
            return kernel
        rings = ProducerRings(loop, loads, stages, scalar_names(kernel), early=early)
        specialized = settle(beside(kernel, rings, scalars, _WARPS, _REGISTERS), bulk=True)
        return place_operands(specialized)

    def _stages(self, loop: ins.For, loads: Sequence[Placed], room: int) -> int:
        asked = loop.stages or self.stages or MOST_STAGES
        return min(asked, room // sum(ahead.bytes for ahead, _ in loads))

    def _loads(self, kernel: Kernel, loop: ins.For) -> tuple[list[Placed], list[Ahead]] | None:
        """The loads of the loop that the unit copies, and those that threads make an iteration ahead.

        Boxes for units and threads, runs for threads; scalars from which subscripts are made are of the
        warps that copy. None where the unit copies nothing, or threads would have to wait for much.
        Rows that serve several iterations, such as scales, are copied in each: nobody waits for that.
        """
        facts = kernel_facts(kernel)
        facts.assume_range(loop.var, loop.start, loop.stop, loop.step)
        ahead = loads_ahead(loop, facts, constant_memories(kernel.body, kernel.tensors))
        able = [
            (a, placed)
            for a in ahead
            if a.width
            and all(map(is_scalar, a.needs))
            and is_loaded_in_bulk(a.load, kernel.tensors, facts)
            if (placed := self._placed(kernel, a, facts)) is not None
        ]
        copied = {load for a, _ in able for load in a.loads}
        if not copied:
            return None
        needed = _needed(loop, [a for a, _ in able])
        rest = [s for s in walk(loop.body) if isinstance(s, ins.Load) and s not in copied | needed]
        early = [a for a in ahead if a.load in rest and _is_quick(a.load)]
        little = sum(thread_bytes(a.load.out, kernel.threads) for a in early) <= _LITTLE
        return (able, early) if little and len(early) == len(rest) else None

    def _placed(self, kernel: Kernel, ahead: Ahead, facts: Facts) -> Placement | None:
        """How a slot lies in shared memory: as the unit reads it, or for threads."""
        type_, bits = ahead.load.out.type, ahead.load.region.memory.dtype.bits
        if type_.layout is None:
            assert kernel.threads is not None
            return swizzled_placement(type_.shape, bits, ahead.width, kernel.threads)
        if not is_run(ahead.load.region, kernel.tensors, facts):
            return box_placement(type_.shape, bits, type_.layout, self.target.banks)
        # Runs of bytes come as they lie in memory: the unit scatters nothing for threads to read.
        placed = place(type_.shape, bits, ahead.width, type_.layout, self.target.banks)
        return replace(placed, layout=None, conflicts=())


def _is_quick(load: ins.Load) -> bool:
    """Whether a thread loads its part by few accesses."""
    layout = load.out.type.layout
    return layout is not None and layout.locals <= _FEW


def _needed(loop: ins.For, copied: Sequence[Ahead]) -> set[Stmt]:
    """The loads of scalars that subscripts of what is copied are made of, and nothing else is."""
    inside = {load for a in copied for load in a.loads} | {s for a in copied for s in a.needs}
    readers = users((loop,))
    return {
        s
        for a in copied
        for s in a.needs
        if isinstance(s, ins.Load) and not s.out.type.shape and inside.issuperset(readers[s.out])
    }


def _operands(before: Body) -> list[ins.Load]:
    """The loads of what units read in every iteration."""
    return [s for s in before if isinstance(s, ins.Load) and s.out.type.layout is None]
