"""Barriers for what threads do to tensors.

A wave's accesses of global memory happen in order, so that within it the compiler alone must keep to
that. Those of a block's waves meet in the cache of their compute unit, which a fence at workgroup scope
relies on (LLVM, "User Guide for AMDGPU Backend", Memory Model GFX90A and GFX942): it waits for LDS
alone. A barrier for tensors waits until every access is acknowledged, and so holds however waves lie.
"""

from __future__ import annotations

from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.compiler.ir import instructions as ins


def memory_barrier(e: Emission, s: ins.MemoryBarrier) -> None:
    """What was done to tensors is over for the block, or for each wave."""
    if s.warp:
        e.out.line("wave_barrier();")
    else:
        e.barrier("memory_barrier();")


EMITTERS: dict[type, Emitter] = {ins.MemoryBarrier: memory_barrier}
