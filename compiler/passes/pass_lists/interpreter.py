"""The passes of the interpreter, in the order in which they run.

program = run_passes(program, interpreter_passes())
"""

from __future__ import annotations

from dslc.compiler.passes.low_bit.low_bit_storage import LowBit
from dslc.compiler.passes.memory.masked_accesses import MaskedAccesses
from dslc.compiler.passes.memory.memory_plan import MemoryPlan
from dslc.compiler.passes.pass_manager import Pass
from dslc.compiler.passes.simplification.bounds import Bounds
from dslc.compiler.passes.simplification.simplify import Simplify
from dslc.compiler.passes.tile_scheduling.split_k import SplitReduction
from dslc.compiler.targets import INTERP, Target


def interpreter_passes(target: Target = INTERP) -> tuple[Pass, ...]:
    """From the checker's program to one that the interpreter runs: it stays Tile IR without layouts.

    Bounds that are proved are not checked, weights are packed as a program of their own would store
    them, and buffers get their places. Of the target they know its warps and its shared memory alone.
    """
    shared = target.memory("shared")
    return (
        Simplify(),
        MaskedAccesses(ends=True, masks=True),
        SplitReduction(),
        Simplify(),
        Bounds(),
        LowBit(target.warp_size),
        Bounds(),
        MemoryPlan(shared.bytes if shared else None),
    )
