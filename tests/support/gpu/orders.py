"""Programs whose statements touch one tensor twice in a turn (turn_order.tile), as GPUs' Tile IR."""

from __future__ import annotations

from pathlib import Path

from dslc.checker import check_module
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import walk
from dslc.compiler.passes.memory.memory_order import MemoryOrder
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import schedule
from dslc.compiler.targets import find_target
from dslc.frontend import parse_tile

from support.features import Feature, features

ORDERS = features(Path(__file__).with_name("turn_order.tile"))


def ordered(feature: Feature, target: str = "cuda:sm_90a") -> Kernel:
    """A program right after its barriers have been placed."""
    passes = gpu_passes(find_target(target))
    (last,) = (i for i, p in enumerate(passes) if isinstance(p, MemoryOrder))
    (template,) = check_module(parse_tile(feature.source, "order.tile")).templates.values()
    found = schedule(template.elaborate({}, {}), passes[: last + 1])
    assert isinstance(found, Kernel)
    return found


def barriers(kernel: Kernel) -> list[ins.MemoryBarrier]:
    """The barriers of a kernel between accesses of tensors."""
    return [s for s in walk(kernel.body) if isinstance(s, ins.MemoryBarrier)]
