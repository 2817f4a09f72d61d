"""The passes of a GPU, in the order in which they run.

program = run_passes(program, gpu_passes(find_target("cuda:sm_90a")))
"""

from __future__ import annotations

from dslc.compiler.passes.layouts.assign_layouts import AssignLayouts
from dslc.compiler.passes.low_bit.block_scales import BlockScales
from dslc.compiler.passes.low_bit.low_bit_storage import LowBit
from dslc.compiler.passes.memory.masked_accesses import MaskedAccesses
from dslc.compiler.passes.memory.memory_order import MemoryOrder
from dslc.compiler.passes.memory.memory_plan import MemoryPlan
from dslc.compiler.passes.memory.register_limit import RegisterLimit
from dslc.compiler.passes.padding.pad_extents import PadExtents
from dslc.compiler.passes.pass_manager import Pass
from dslc.compiler.passes.pipelining.copy_reach import CopyReach
from dslc.compiler.passes.pipelining.software_pipeline import SoftwarePipeline
from dslc.compiler.passes.pipelining.tma_copies import TmaStores
from dslc.compiler.passes.products.fuse_accumulation import FuseAccumulation
from dslc.compiler.passes.products.k_slices import SliceProducts
from dslc.compiler.passes.products.materialize_operands import MaterializeOperands
from dslc.compiler.passes.products.split_accumulators import SplitAccumulators
from dslc.compiler.passes.products.widen_products import WidenProducts
from dslc.compiler.passes.simplification.bounds import Bounds
from dslc.compiler.passes.simplification.dead_code import DeadCode
from dslc.compiler.passes.simplification.named_divisions import NameDivisions
from dslc.compiler.passes.simplification.simplify import Simplify
from dslc.compiler.passes.simplification.uniform_masks import UniformMasks
from dslc.compiler.passes.tile_scheduling.cluster_reduction import ClusterReduction
from dslc.compiler.passes.tile_scheduling.dependent_launch import DependentLaunch
from dslc.compiler.passes.tile_scheduling.longest_first import LongestFirst
from dslc.compiler.passes.tile_scheduling.rasterization import Rasterize
from dslc.compiler.passes.tile_scheduling.split_k import SplitReduction
from dslc.compiler.passes.warp_specialization.ping_pong import PingPong
from dslc.compiler.passes.warp_specialization.producer_warps import WarpSpecialization
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
    loops that do not say themselves; `producers` and `cluster` are as `WarpSpecialization` takes them.
    """
    shared, registers = target.memory("shared"), target.memory("register")
    f8 = any(atom.takes("f8e4m3", "f8e4m3") for atom in target.atoms)
    return (
        Simplify(),
        MaskedAccesses(ends=True),
        MaterializeOperands(target),
        SplitReduction.of(target, cluster),
        Simplify(),
        Bounds(),
        FuseAccumulation(),
        BlockScales(target),
        WidenProducts(target),
        PadExtents(target, warps),
        AssignLayouts(target, warps),
        *((RegisterLimit(registers.bytes),) if registers else ()),
        LowBit(target.warp_size, lanes=True, f8=f8),
        Bounds(),
        MemoryOrder(target),
        SplitAccumulators(target),
        WarpSpecialization(target, stages, cluster, producers),
        SoftwarePipeline(target, stages),
        ClusterReduction(),
        SliceProducts(target),
        UniformMasks(),
        PingPong(target),
        TmaStores(target.bulk_copies),
        Rasterize(target),
        LongestFirst(),
        *((CopyReach(),) if target.linear_copies else ()),
        Simplify(),
        Bounds(),
        NameDivisions(),
        DeadCode(),
        DependentLaunch(target.dependent_launches),
        MemoryPlan(shared.bytes if shared else None),
    )
