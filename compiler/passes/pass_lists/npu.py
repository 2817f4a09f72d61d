"""The passes of an NPU, in the order in which they run.

program = run_passes(program, aie_passes(find_target("aie:npu2")))
"""

from __future__ import annotations

from dslc.compiler.passes.dynamic_values.bounded_grid import BoundedGrid
from dslc.compiler.passes.dynamic_values.branch_loops import BranchLoops
from dslc.compiler.passes.dynamic_values.dynamic_slices import DynamicSlices
from dslc.compiler.passes.layouts.unthread import Unthread
from dslc.compiler.passes.low_bit.low_bit_storage import LowBit
from dslc.compiler.passes.memory.masked_accesses import MaskedAccesses
from dslc.compiler.passes.npu.gather_panels import GatherPanels
from dslc.compiler.passes.npu.resident_tensors import ResidentTensors
from dslc.compiler.passes.npu.wide_halves import WideHalves
from dslc.compiler.passes.padding.short_tiles import ShortTiles
from dslc.compiler.passes.padding.zero_padding import ZeroPadding
from dslc.compiler.passes.pass_manager import Pass
from dslc.compiler.passes.simplification.bounds import Bounds
from dslc.compiler.passes.simplification.dead_code import DeadCode
from dslc.compiler.passes.simplification.simplify import Simplify
from dslc.compiler.targets import Target
from dslc.compiler.targets.aie import array_of

_WORD = 4  # bytes, which a DMA moves whole


def aie_passes(target: Target) -> tuple[Pass, ...]:
    """From the checker's program to one that the generator places on the array.

    A core runs a turn alone, so that tiles have no layout over threads, and the order of turns
    along k is the program's. What is touched in no order that is known beforehand stays in its memory.
    Low-bit parameters are compact rows. Tiles are moved whole: what sticks out of a tensor is cut
    off, or written as zeros.
    """
    memory = array_of(target).compute.memory
    return (
        Unthread(floats=True),
        MaskedAccesses(),
        Simplify(),
        BoundedGrid(),
        BranchLoops(),
        ResidentTensors(memory * 3 // 4, memory // 4, _WORD),
        DynamicSlices(every=True),
        GatherPanels(memory // 8),
        ShortTiles(),
        LowBit(rows=True),
        Bounds(),
        ZeroPadding(),
        WideHalves(),
        DeadCode(),
        Simplify(),
    )
