"""How many waves of a kernel a SIMD holds at once, and what limits it.

A lane of a SIMD has 512 vector registers, AGPRs among them, given out by eights; a SIMD holds up to
eight waves, a compute unit has four SIMDs (AMD Instinct MI300 and CDNA4 instruction set references,
"Kernel state").
"""

from __future__ import annotations

from dataclasses import dataclass

from dslc.codegen.hip.resources import Resources
from dslc.compiler.targets import Target
from dslc.compiler.targets.hip_rates import LANE_REGISTERS, SIMD_WAVES, SIMDS

_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Workgroups of a compute unit, waves of a SIMD; `limit` is the reason."""

    workgroups: int
    waves: float
    limit: str


def occupancy(target: Target, resources: Resources, threads: int) -> Occupancy:
    """For workgroups of so many threads."""
    waves = -(-threads // target.warp_size)
    each = max(_AT_ONCE, -(-resources.registers // _AT_ONCE) * _AT_ONCE)
    lds = target.memory("shared")
    by_registers = min(SIMD_WAVES, LANE_REGISTERS // each) * SIMDS // waves
    limits = {"registers": by_registers, "waves": SIMD_WAVES * SIMDS // waves}
    if lds is not None and resources.shared:
        limits["LDS"] = lds.bytes // resources.shared
    limit = min(limits, key=lambda name: (limits[name], name != "waves"))
    return Occupancy(limits[limit], limits[limit] * waves / SIMDS, limit)
