"""How many stages a loop gets.

Enough that a multiprocessor has the bytes under way that hide the latency of its memory: 32 KiB where
the machine moves a few TB/s (Little's law: about 700 ns times 4.5 TB/s over 132 multiprocessors is 24
KB). More stages than that only take shared memory from other blocks.

Where threads compute between the products of a loop, a block leaves the matrix unit idle meanwhile, and
a second one on the multiprocessor fills the gaps: such loops get only stages that leave room for two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.traverse import walk
from dslc.compiler.passes.late_products import operand_bytes
from dslc.compiler.passes.staging import Ahead, tile_bytes
from dslc.compiler.targets import Target

BYTES_IN_FLIGHT = 32 * 1024
_BYTES_OF_UNITS = 96 * 1024  # where a unit of several warps eats them: its tiles come by tens of KB
MOST_STAGES = 8
_FEWEST = 3  # with 2, a turn waits for what was issued one turn ago
_BLOCKS = 2  # that share a multiprocessor, as far as is counted on
_RESERVED = 1024  # bytes of shared memory that a block takes beyond what it asks for
_THREADS = 128  # of a kernel that does not say
_REGISTERS = 65536 // 128  # threads of a multiprocessor that can have 128 registers each


@dataclass(slots=True)
class Room:
    """The shared memory that a kernel has left, in bytes, and its threads, where known.

    `kept` is what it takes beside; each block takes `_RESERVED` more.
    """

    bytes: int
    threads: int | None
    kept: int = 0

    @property
    def half(self) -> int:
        """What each of two blocks has left."""
        return (self.bytes + self.kept) // 2 - self.kept - _RESERVED

    @classmethod
    def of(cls, kernel: Kernel, target: Target) -> Room:
        """All but the scratch that conversions of layouts may need, and operands that stay."""
        shared = target.memory("shared")
        stmts = list(walk(kernel.body))
        converted = [tile_bytes(s.out) for s in stmts if isinstance(s, ins.ConvertLayout)]
        kept = max(converted, default=0) + operand_bytes(kernel)
        return cls((shared.bytes if shared else 0) - kept, kernel.threads, kept)


def choose_stages(
    loop: ins.For, staged: Sequence[Ahead], room: Room, lag: int = 0, *, paired: bool = False
) -> int:
    """The fewest stages with enough bytes under way; 1 where not even two stages fit.

    A slot is filled `lag` turns after the one that read it. `paired` blocks fill each other's gaps.
    """
    stage = sum(math.ceil(a.bytes / a.run) for a in staged)
    if not stage or 2 * stage > room.bytes:
        return 1
    most = room.half // stage
    if paired and most >= _FEWEST:
        enough = math.ceil(_BYTES_OF_UNITS / (2 * stage)) + 1 + lag
        return max(_FEWEST, min(most, enough, MOST_STAGES))
    best, most = 1, 0
    wanted = _BYTES_OF_UNITS if lag else BYTES_IN_FLIGHT
    for stages in range(2, MOST_STAGES + 1):
        if stages * stage > room.bytes:
            break
        fitting = room.bytes // (stages * stage)
        blocks = max(1, min(_BLOCKS, fitting, _REGISTERS // (room.threads or _THREADS)))
        under_way = blocks * (stages - 1 - lag) * stage
        if under_way > most:
            best, most = stages, under_way
        if under_way >= wanted and stages >= _FEWEST + lag:
            break
    return best
