"""Barriers between accesses of one tensor by different threads of a turn.

Before (tests/ir/memory-order/example.tir):

    %s = load @x[0!] : f32[] `modes([], spatial=[[128]])`
    %r = load @x[0 : +1024!] : f32[1024] `local(2).spatial(128).local(4)`
    ...
    store @x[0 : +1024!], %y

After:

    %r = load @x[0 : +1024!] : f32[1024] `local(2).spatial(128).local(4)`
    ...
    memory_barrier
    store @x[0 : +1024!], %y

A turn's statements run in order, and its threads each at their own pace: what one writes another may
read or overwrite only beyond a barrier, and what one has read another may overwrite only beyond one.
Accesses that are proved to be the same thread's, or disjoint, need none (`access_relation`); the others
share as few as keep them apart (`barrier_placement`). Where both stay within a warp, or the block has
one, `warp=32` says that its threads alone meet.

The pass comes once tiles have layouts, and before loads are copied ahead: passes move loads of tensors
that nobody writes, and no others. Turns are independent, so that blocks that take several, and warps
aside, need nothing between them. In shared memory the barriers of `buffer` are the generator's affair,
those of `shared` the author's.

Barriers of a block make its threads' earlier accesses of global memory visible to all of it (CUDA C++
Programming Guide, "Synchronization Functions": __syncthreads, __syncwarp). On AMD's GPUs the waves of a
block share the cache of their compute unit, which serves them in order (LLVM, "User Guide for AMDGPU
Backend", Memory Model GFX90A, GFX942). Copies by threads are accesses as any other; the machine's units
copy what nobody writes, and to what nobody else touches, so that no proxy needs a fence (PTX ISA 8.5,
"Async proxy").
"""

from __future__ import annotations

from dataclasses import dataclass

from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import map_kernels, with_body
from dslc.compiler.passes.memory.access_relation import Relations
from dslc.compiler.passes.memory.barrier_placement import Placing
from dslc.compiler.passes.memory.ordered_accesses import accesses
from dslc.compiler.targets import Target


@dataclass(frozen=True, slots=True)
class MemoryOrder:
    """Orders what a turn's threads do to tensors."""

    target: Target
    name: str = "memory-order"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with its barriers."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        threads = kernel.threads or 1
        by_memory = accesses(kernel) if threads > 1 else {}
        if not by_memory:
            return kernel
        relations = Relations(threads, self.target.warp_size)
        return with_body(kernel, Placing(relations, by_memory).body(kernel.body))
