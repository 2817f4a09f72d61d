"""The array as data, on the simulator's side (AIETargetModel.h, August 2026): limits, rates."""

from __future__ import annotations

from dataclasses import dataclass

WORD = 4
QUEUE = 4
LOCK_MOST = 63
ITERATIONS, REPEATS = 64, 256
CASCADE_WIDTH, CASCADE_DEPTH = 64, 4  # bytes of a vector between neighbours, and how many wait
STREAM_WORDS = 4  # that a stream holds beyond what its consumer asked for
PACKET_WORDS = (
    8  # the same of a packet's stream, as was measured (mlir-aie, DeadlockModel.md, 2026)
)
STACK = 1024
INSTRUCTION = 16  # bytes that an operation takes of a core's program, at the most


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of tile. Lengths and steps in 32-bit words, memories in bytes."""

    name: str
    memory: int
    program: int
    channels: dict[str, int]
    descriptors: int
    dims: int
    length: int
    wrap: int
    step: int
    locks: int


SHIM = Kind("shim", 0, 0, {"S2MM": 2, "MM2S": 2}, 16, 3, (1 << 32) - 1, 1023, 1 << 20, 16)
MEMORY = Kind(
    "memory", 512 << 10, 0, {"S2MM": 6, "MM2S": 6}, 48, 4, (1 << 17) - 1, 1023, 1 << 17, 64
)
COMPUTE = Kind(
    "compute", 64 << 10, 16 << 10, {"S2MM": 2, "MM2S": 2}, 16, 3, (1 << 14) - 1, 255, 1 << 13, 16
)
_ROWS = {0: SHIM, 1: MEMORY, 2: COMPUTE, 3: COMPUTE, 4: COMPUTE, 5: COMPUTE}
# Columns by device. npu1 is AIE2: the same tiles as AIE2P's, half as many columns.
DEVICES = {
    "npu1": 4,
    **{f"npu1_{n}col": n for n in range(1, 5)},
    "npu2": 8,
    **{f"npu2_{n}col": n for n in range(1, 8)},
}


def kind_of(row: int) -> Kind | None:
    """The kind of the tiles of a row; None outside of the array."""
    return _ROWS.get(row)


def reaches(tile: tuple[int, int], other: tuple[int, int], *, dma: bool) -> bool:
    """Whether a tile uses memory and locks of another: a core of its own tile and those north, south
    and west; a memory tile's DMA of the memory tiles east and west; a DMA else of its own.
    """
    if tile == other:
        return True
    apart = other[0] - tile[0], other[1] - tile[1]
    kinds = kind_of(tile[1]), kind_of(other[1])
    if dma:
        return kinds == (MEMORY, MEMORY) and apart in ((1, 0), (-1, 0))
    return kinds == (COMPUTE, COMPUTE) and apart in ((0, 1), (0, -1), (-1, 0))


@dataclass(frozen=True, slots=True)
class Rates:
    """Modelled rates in cycles of `clock`: a stream's word, the host's memory, a core's issue slots.

    `host` are bytes a cycle for all columns together, `issue` what a host's command takes, `macs`
    multiply- adds a cycle, `slots` operations of 64 bytes a cycle by slot, and `special` the cycles
    of a function on a vector. `program` are the cycles in which a word of a program gets to its core
    when the array is configured.
    """

    clock: float = 1.8e9
    host: float = 60e9 / 1.8e9
    issue: int = 200
    macs: int = 512
    loads: int = 2
    stores: int = 1
    vector: int = 1
    special: int = 16
    program: int = 1


RATES = Rates()
