"""The passes of a GPU, in the order in which they run.

program = run_passes(program, gpu_passes(find_target("cuda:sm_90a")))
"""

from __future__ import annotations

from dslc.compiler.passes.block_scales import BlockScales
from dslc.compiler.passes.bounds import Bounds
from dslc.compiler.passes.bulk import BulkStores
from dslc.compiler.passes.cluster_sums import ClusterSums
from dslc.compiler.passes.dce import DeadCode
from dslc.compiler.passes.divisions import NameDivisions
from dslc.compiler.passes.fuse_sums import FuseSums
from dslc.compiler.passes.gpu_layout import AssignLayouts
from dslc.compiler.passes.hoist import Hoist
from dslc.compiler.passes.longest_first import LongestFirst
from dslc.compiler.passes.lowbit import LowBit
from dslc.compiler.passes.memory_order import MemoryOrder
from dslc.compiler.passes.memory_plan import MemoryPlan
from dslc.compiler.passes.overlap import OverlapLaunches
from dslc.compiler.passes.pad_extents import PadExtents
from dslc.compiler.passes.ping_pong import PingPong
from dslc.compiler.passes.pipeline import Pass
from dslc.compiler.passes.pipelining import Pipeline
from dslc.compiler.passes.producers import Producers
from dslc.compiler.passes.reach import CopyReach
from dslc.compiler.passes.register_limit import RegisterLimit
from dslc.compiler.passes.simplify import Simplify
from dslc.compiler.passes.slices import SliceProducts
from dslc.compiler.passes.split import SplitReduction
from dslc.compiler.passes.strips import Strips
from dslc.compiler.passes.sum_pieces import SumPieces
from dslc.compiler.passes.uniform_masks import UniformMasks
from dslc.compiler.targets import Target


def gpu_passes(
    target: Target,
    *,
    warps: int | None = None,
    stages: int | None = None,
    producers: int | None = None,
    cluster: int | None = None,
) -> tuple[Pass, ...]:
    """From the checker's program to one that a generator writes out as it stands.

    Padding gives layouts extents that threads divide. Layouts come before low-bit storage, which packs
    in the order of the registers, and both before pipelining, which copies what the loads by then are.
    Bounds are proved before it, since copies fill
    with zeros alone, and after it, since copies run ahead. `warps` and `stages` are for all kernels and
    loops that do not say themselves; `producers` and `cluster` are as `Producers` takes them.
    """
    shared, registers = target.memory("shared"), target.memory("register")
    f8 = any(atom.takes("f8e4m3", "f8e4m3") for atom in target.atoms)
    return (
        Simplify(),
        SplitReduction.of(target, cluster),
        Simplify(),
        Bounds(),
        FuseSums(),
        BlockScales(target),
        PadExtents(target, warps),
        AssignLayouts(target, warps),
        *((RegisterLimit(registers.bytes),) if registers else ()),
        LowBit(target.warp_size, lanes=True, f8=f8),
        Bounds(),
        MemoryOrder(target),
        SumPieces(target),
        Producers(target, stages, cluster, producers),
        Pipeline(target, stages),
        ClusterSums(),
        Hoist(),
        SliceProducts(target),
        UniformMasks(),
        PingPong(target),
        BulkStores(target.bulk_copies),
        Strips(target),
        LongestFirst(),
        *((CopyReach(),) if target.linear_copies else ()),
        Simplify(),
        Bounds(),
        NameDivisions(),
        DeadCode(),
        OverlapLaunches(target.dependent_launches),
        MemoryPlan(shared.bytes if shared else None),
    )
