"""The passes of a NeuronCore, in the order in which they run.

program = run_passes(program, nki_passes(find_target("nki:trn2")))
"""

from __future__ import annotations

from dslc.compiler.ir import Kernel
from dslc.compiler.passes.dynamic_values.dynamic_scalars import DynamicScalars
from dslc.compiler.passes.dynamic_values.dynamic_slices import DynamicSlices
from dslc.compiler.passes.dynamic_values.dynamic_starts import DynamicStarts
from dslc.compiler.passes.layouts.unthread import Unthread
from dslc.compiler.passes.low_bit.low_bit_storage import LowBit
from dslc.compiler.passes.memory.masked_accesses import MaskedAccesses
from dslc.compiler.passes.pass_manager import Pass
from dslc.compiler.passes.simplification.bounds import Bounds
from dslc.compiler.passes.simplification.dead_code import DeadCode
from dslc.compiler.passes.simplification.simplify import Simplify
from dslc.compiler.passes.trainium.batch_turns import BatchTurns
from dslc.compiler.passes.trainium.capacity import CheckCapacity
from dslc.compiler.passes.trainium.common_subexpressions import CommonSubexpressions
from dslc.compiler.passes.trainium.join_turns import JoinTurns
from dslc.compiler.passes.trainium.overlap_turns import OverlapTurns
from dslc.compiler.passes.trainium.place_tiles import PlaceTiles
from dslc.compiler.passes.trainium.row_moments import RowMoments
from dslc.compiler.passes.trainium.select_instructions import SelectInstructions
from dslc.compiler.passes.trainium.strip_mining import StripMine
from dslc.compiler.passes.trainium.whole_masks import WholeMasks
from dslc.compiler.targets import Target


def nki_passes(target: Target) -> tuple[Pass, ...]:
    """From the checker's program to one that the generator writes out as it stands.

    One core runs all turns, so that a reduction is not split. Low-bit parameters are compact rows: a
    partition unpacks its own.
    """
    place, moments, select = PlaceTiles(target), RowMoments(target), SelectInstructions()

    def placed(kernel: Kernel) -> Kernel:
        return select.kernel(moments.kernel(place.kernel(kernel)))

    return (
        Unthread(),
        MaskedAccesses(updates=True),
        Simplify(),
        DynamicStarts(),
        DynamicScalars(),
        LowBit(rows=True),
        WholeMasks(),
        CommonSubexpressions(),
        DeadCode(),
        BatchTurns(target, placed),
        JoinTurns(target, placed),
        Bounds(),
        DynamicSlices(),
        DeadCode(),
        StripMine(target, place.kernel),
        place,
        Simplify(),
        moments,
        select,
        DeadCode(),
        OverlapTurns(target),
        CheckCapacity(target),
    )
