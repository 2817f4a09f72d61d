"""How many blocks of a kernel a multiprocessor holds at once, and what limits it.

What a multiprocessor has stands in the target's rates; the granularities are those of NVIDIA's
occupancy calculator.
"""

from __future__ import annotations

from dataclasses import dataclass

from dslc.codegen.cuda.tools.resources import Resources
from dslc.compiler.targets import Target

_REGISTERS_AT_ONCE = 256  # are given to a warp
_SHARED_AT_ONCE = 128  # bytes


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Blocks and warps at once; `fraction` of the warps that there could be; `limit` is the reason."""

    blocks: int
    warps: int
    fraction: float
    limit: str


def occupancy(target: Target, resources: Resources, threads: int, shared: int) -> Occupancy | None:
    """For blocks of so many threads with so many bytes of shared memory from the launch.

    None for a target without rates.
    """
    machine = target.rates
    if machine is None:
        return None
    warps = -(-threads // target.warp_size)
    registers = warps * _up(resources.registers * target.warp_size, _REGISTERS_AT_ONCE)
    memory = _up(resources.shared + shared + machine.reserved, _SHARED_AT_ONCE)
    limits = {
        "warps": machine.warps // warps,
        "blocks": machine.blocks,
        "registers": machine.registers // max(1, registers),
        "shared memory": machine.shared_bytes // memory,
    }
    limit = min(limits, key=lambda name: limits[name])
    blocks = limits[limit]
    return Occupancy(blocks, blocks * warps, blocks * warps / machine.warps, limit)


def _up(value: int, step: int) -> int:
    return -(-value // step) * step
