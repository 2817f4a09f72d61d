"""Barriers for what threads do to tensors, which those for shared memory are as well.

Accesses of global memory before __syncthreads() are seen by the block after it, and those before
__syncwarp() by the warp (CUDA C++ Programming Guide, "Synchronization Functions").
"""

from __future__ import annotations

from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.compiler.ir import instructions as ins


def memory_barrier(e: Emission, s: ins.MemoryBarrier) -> None:
    """What was done to tensors is over for the block, or for each warp."""
    if s.warp:
        e.out.line("__syncwarp();")
    else:
        e.barrier()


EMITTERS: dict[type, Emitter] = {ins.MemoryBarrier: memory_barrier}
