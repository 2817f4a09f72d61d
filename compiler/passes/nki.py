"""The passes of a NeuronCore, in the order in which they run.

program = run_passes(program, nki_passes(find_target("nki:trn2")))
"""

from __future__ import annotations

from dslc.compiler.passes.bounds import Bounds
from dslc.compiler.passes.dce import DeadCode
from dslc.compiler.passes.late_scalars import LateScalars
from dslc.compiler.passes.late_slices import LateSlices
from dslc.compiler.passes.late_starts import LateStarts
from dslc.compiler.passes.lowbit import LowBit
from dslc.compiler.passes.nki_layout import PlaceTiles
from dslc.compiler.passes.nki_layout.capacity import CheckCapacity
from dslc.compiler.passes.nki_layout.strip_mining import StripMine
from dslc.compiler.passes.pipeline import Pass
from dslc.compiler.passes.simplify import Simplify
from dslc.compiler.passes.unthread import Unthread
from dslc.compiler.targets import Target


def nki_passes(target: Target) -> tuple[Pass, ...]:
    """From the checker's program to one that the generator writes out as it stands.

    One core runs all turns, so that a reduction is not split. Low-bit parameters are compact rows: a
    partition unpacks its own.
    """
    place = PlaceTiles(target)
    return (
        Unthread(),
        Simplify(),
        LateStarts(),
        LateScalars(),
        LowBit(rows=True),
        Bounds(),
        LateSlices(),
        DeadCode(),
        StripMine(target, place.kernel),
        place,
        Simplify(),
        CheckCapacity(target),
    )
