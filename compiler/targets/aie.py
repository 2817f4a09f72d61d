"""AMD Ryzen AI (AIE2P): the array of tiles, and the matrix shapes of a core.

Each matrix shape is a dense row-major tile of a core's memory. The array has a row of shim tiles, which
reach the host's memory, a row of memory tiles and four rows of cores. Sources: AIETargetModel.h of
mlir-aie (August 2026); how fast a core multiplies in bf16 follows the block floating-point path.
"""

from __future__ import annotations

from dataclasses import dataclass

from dslc.compiler.layout import local
from dslc.compiler.targets.target import Atom, MemorySpace, Target

_BF16 = (("bf16", "bf16", "f32"),)
_INT8 = (("i8", "i8", "i32"),)
_INT16 = (("i16", "i16", "i32"),)
_INT8_INT4 = (("i8", "i4", "i32"),)


@dataclass(frozen=True, slots=True)
class TileKind:
    """What a tile of one kind has.

    `memory` and `program` are bytes, `inputs` and `outputs` DMA channels (S2MM and MM2S), `descriptors`
    buffer descriptors (BDs), each of `dims` dimensions; `length` is the most 32-bit words of one,
    `wrap` the most steps of a dimension, `step` the most words between two. `ports` are the
    switch's masters by direction.
    """

    name: str
    rows: range
    memory: int
    program: int
    inputs: int
    outputs: int
    descriptors: int
    dims: int
    length: int
    wrap: int
    step: int
    locks: int
    ports: tuple[tuple[str, int], ...]

    def masters(self, direction: str) -> int:
        """The switch's outgoing ports towards N, S, E or W."""
        return dict(self.ports).get(direction, 0)


@dataclass(frozen=True, slots=True)
class TileArray:
    """The array: its tiles and what holds for all of them.

    A task is what a sequence pushes to a channel's queue of `queue` places: a descriptor, run up to
    `repeats` times, its address moved on up to `iterations` times. `stack` are bytes of a core's
    memory. A cycle is that of `clock`, in Hz; `stream` bytes pass a stream in one, `multiply_adds`
    are a core's by operand bits, and `host` is what the host's memory gives all columns together,
    in bytes a second.
    """

    columns: int
    shim: TileKind
    memory: TileKind
    compute: TileKind
    lock_value: int
    queue: int
    repeats: int
    iterations: int
    stack: int
    clock: float
    stream: int
    multiply_adds: tuple[tuple[int, int], ...]
    host: float

    def kind(self, row: int) -> TileKind:
        """The kind of the tiles of a row."""
        return next(k for k in (self.shim, self.memory, self.compute) if row in k.rows)


NPU2_ARRAY = TileArray(
    columns=8,
    shim=TileKind(
        "shim", range(1), 0, 0, 2, 2, 16, 3, 2**32 - 1, 1023, 2**20, 16,
        (("N", 6), ("S", 6), ("E", 4), ("W", 4)),
    ),
    memory=TileKind(
        "memory", range(1, 2), 512 * 1024, 0, 6, 6, 48, 4, 2**17 - 1, 1023, 2**17, 64,
        (("N", 6), ("S", 4)),
    ),
    compute=TileKind(
        "compute", range(2, 6), 64 * 1024, 16 * 1024, 2, 2, 16, 3, 2**14 - 1, 255, 2**13, 16,
        (("N", 6), ("S", 4), ("E", 4), ("W", 4)),
    ),
    lock_value=63,
    queue=4,
    repeats=256,
    iterations=64,
    stack=1024,
    clock=1.8e9,
    stream=4,
    multiply_adds=((16, 512), (8, 512)),
    host=60e9,
)  # fmt: skip


def matmul(m: int, n: int, k: int, types: tuple[tuple[str, str, str], ...]) -> Atom:
    """The core's product of row-major tiles m x k and k x n."""
    name = f"matmul_aie2p.{types[0][0]}.{m}x{k}x{n}"
    return Atom(name, m, n, k, types, local(m, k), local(k, n), local(m, n))


# The shapes of the manual are m x k x n.
_ATOMS = (
    *(
        matmul(m, n, k, _BF16)
        for m, k, n in ((8, 8, 8), (4, 8, 4), (4, 8, 8), (8, 1, 8), (8, 8, 4))
    ),
    matmul(8, 8, 8, _INT8),
    matmul(8, 8, 2, _INT16),
    matmul(4, 16, 16, _INT8_INT4),
)
NPU2 = Target(
    "aie:npu2", "aie", "AMD Ryzen AI NPU2 (AIE2P)", 1, 1,
    (
        MemorySpace("core", NPU2_ARRAY.compute.memory, "core tile"),
        MemorySpace("shared", NPU2_ARRAY.memory.memory, "memory tile"),
    ),
    _ATOMS,
    units=32,
    static=True,
)  # fmt: skip
TARGETS = (NPU2,)
_ARRAYS = {NPU2.name: NPU2_ARRAY}


def array_of(target: Target) -> TileArray:
    """The array of a target of this family."""
    return _ARRAYS[target.name]
