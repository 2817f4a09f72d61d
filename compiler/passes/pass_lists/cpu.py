"""The passes of a CPU, in the order in which they run.

program = run_passes(program, cpu_passes())
"""

from __future__ import annotations

from dslc.compiler.passes.cpu.single_row import SingleRow
from dslc.compiler.passes.cpu.weight_order import WeightOrder
from dslc.compiler.passes.low_bit.low_bit_storage import LowBit
from dslc.compiler.passes.memory.masked_accesses import MaskedAccesses
from dslc.compiler.passes.pass_manager import Pass
from dslc.compiler.passes.simplification.bounds import Bounds
from dslc.compiler.passes.simplification.dead_code import DeadCode
from dslc.compiler.passes.simplification.simplify import Simplify
from dslc.compiler.passes.tile_scheduling.split_k import SplitReduction

COLUMNS = 16
"""The columns of a block of weights: a vector of 512 bits has them as words, narrower ones a part."""


def cpu_passes() -> tuple[Pass, ...]:
    """Those for code that LLVM makes, whose lanes are columns."""
    return _passes(WeightOrder(COLUMNS, floats=True))


def aarch64_passes() -> tuple[Pass, ...]:
    """Those for assembly, whose matrix units take squares."""
    return _passes(WeightOrder())


def _passes(order: WeightOrder) -> tuple[Pass, ...]:
    """From the checker's program to one that a generator writes out as loops over vectors.

    One thread runs a turn, so that of a tile's layout only the order is left, and that matters where
    the compiler chooses the storage: for weights. What is kept where the generator decides, since a
    tile's elements pass through registers a chunk at a time.
    """
    return (
        Simplify(),
        MaskedAccesses(ends=True),
        SplitReduction(),
        Simplify(),
        Bounds(),
        SingleRow(),
        order,
        LowBit(1),
        Bounds(),
        DeadCode(),
    )
