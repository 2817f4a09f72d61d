"""How many blocks of a kernel a multiprocessor holds at once, and what limits it.

The limits of each compute capability are those of the CUDA C++ Programming Guide ("Technical
Specifications per Compute Capability"), the granularities those of NVIDIA's occupancy calculator.
"""

from __future__ import annotations

from dataclasses import dataclass

from dslc.codegen.cuda.tools.resources import Resources

_REGISTERS = 65536  # of a multiprocessor
_REGISTERS_AT_ONCE = 256  # are given to a warp
_SHARED_AT_ONCE = 128  # bytes
_RESERVED = 1024  # bytes of shared memory that each block costs beyond its own
_WARP = 32


@dataclass(frozen=True, slots=True)
class Multiprocessor:
    """What one holds: warps, blocks, bytes of shared memory."""

    warps: int
    blocks: int
    shared: int


_LIMITS = {
    "80": Multiprocessor(64, 32, 164 << 10),
    "86": Multiprocessor(48, 16, 100 << 10),
    "87": Multiprocessor(48, 16, 164 << 10),
    "89": Multiprocessor(48, 24, 100 << 10),
    "90": Multiprocessor(64, 32, 228 << 10),
    "100": Multiprocessor(64, 32, 228 << 10),
    "103": Multiprocessor(64, 32, 228 << 10),
    "120": Multiprocessor(48, 24, 100 << 10),
    "121": Multiprocessor(48, 24, 100 << 10),
}


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Blocks and warps at once; `fraction` of the warps that there could be; `limit` is the reason."""

    blocks: int
    warps: int
    fraction: float
    limit: str


def occupancy(
    architecture: str, resources: Resources, threads: int, shared: int
) -> Occupancy | None:
    """For blocks of so many threads with so many bytes of shared memory from the launch.

    None for an architecture whose limits are not known here.
    """
    machine = _LIMITS.get(architecture.removeprefix("sm_").rstrip("af"))
    if machine is None:
        return None
    warps = -(-threads // _WARP)
    registers = warps * _up(resources.registers * _WARP, _REGISTERS_AT_ONCE)
    memory = _up(resources.shared + shared + _RESERVED, _SHARED_AT_ONCE)
    limits = {
        "warps": machine.warps // warps,
        "blocks": machine.blocks,
        "registers": _REGISTERS // max(1, registers),
        "shared memory": machine.shared // memory,
    }
    limit = min(limits, key=lambda name: limits[name])
    blocks = limits[limit]
    return Occupancy(blocks, blocks * warps, blocks * warps / machine.warps, limit)


def _up(value: int, step: int) -> int:
    return -(-value // step) * step
