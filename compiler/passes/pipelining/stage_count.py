"""How many stages a pipelined loop gets: the depth of its multi-stage buffers.

Enough that a multiprocessor has the bytes under way that hide the latency of its memory
(`Rates.in_flight`). More stages than that only take shared memory from other blocks.

Where threads compute between the products of a loop, a block leaves the matrix unit idle meanwhile, and
a second one on the multiprocessor fills the gaps: such loops get only stages that leave room for two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dslc.compiler.analysis.thread_products import slab_bytes
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.traverse import Body, walk
from dslc.compiler.layout import Conversion, conversion
from dslc.compiler.layout.conversions import shared_axis
from dslc.compiler.passes.pipelining.prefetchable_loads import Ahead, tile_bytes
from dslc.compiler.passes.products.async_products import operand_bytes
from dslc.compiler.passes.products.placed_operands import is_placed, placed_bytes
from dslc.compiler.targets import Target

_BYTES_IN_FLIGHT = 32 * 1024  # of a machine whose rates are not known
_BYTES_OF_UNITS = 96 * 1024  # where a unit of several warps eats them: its tiles come by tens of KB
MOST_STAGES = 8
_FEWEST = 3  # with 2, an iteration waits for what was issued one iteration ago
_MUCH = 2048  # bytes of an exchange for which it is worth to show that rings are free
_BLOCKS = 2  # that share a multiprocessor, as far as is counted on
_RESERVED = 1024  # bytes of shared memory that a block takes, of a machine that does not say
_THREADS = 128  # of a kernel that does not say
_MANY = 128  # registers of a thread that holds tiles
_REGISTERS = 65536  # of a machine that does not say


@dataclass(slots=True)
class Room:
    """The shared memory that a kernel has left, in bytes, and its threads, where known.

    `kept` is what it takes beside; each block takes `reserved` more. A multiprocessor is to have
    `in_flight` bytes under way, and holds `most_threads` that have many registers.
    """

    bytes: int
    threads: int | None
    kept: int = 0
    reserved: int = _RESERVED
    in_flight: int = _BYTES_IN_FLIGHT
    most_threads: int = _REGISTERS // _MANY

    @property
    def half(self) -> int:
        """What each of two blocks has left."""
        return (self.bytes + self.kept) // 2 - self.kept - self.reserved

    @classmethod
    def of(cls, kernel: Kernel, target: Target) -> Room:
        """All but the scratch that conversions of layouts may need, and operands that stay.

        After the last loop conversions have the memory of its rings.
        """
        shared = target.memory("shared")
        before, _ = around_last_loop(kernel.body)
        kept = converted_bytes(before, target.warp_size) + operand_bytes(kernel)
        kept += placed_bytes(kernel.body)
        room = cls((shared.bytes if shared else 0) - kept, kernel.threads, kept)
        if (rates := target.rates) is not None:
            room.reserved = rates.reserved
            room.in_flight = rates.in_flight(target.units)
            room.most_threads = rates.registers // _MANY
        return room


def around_last_loop(body: Body) -> tuple[Body, Body]:
    """The statements up to the last one that is a loop or holds one, and those after it."""
    loops = [any(isinstance(t, ins.For | ins.While) for t in walk((s,))) for s in body]
    count = len(body) - loops[::-1].index(True) if any(loops) else len(body)
    return body[:count], body[count:]


def converted_bytes(body: Body, warp: int) -> int:
    """The most that one conversion of layouts takes, a whole tile, or a product that threads make.

    Reductions exchange as much at a time as there is room for.
    """
    exchanged = [_exchanged_bytes(s, warp) for s in walk(body) if isinstance(s, ins.ConvertLayout)]
    dots = [s for s in walk(body) if isinstance(s, ins.Dot) and s.atom is None and not s.is_scaled]
    return max([*exchanged, *map(slab_bytes, dots)], default=0)


def exchanges_much(body: Body, warp: int) -> bool:
    """Whether threads exchange more through shared memory than lies beside buffers at no cost."""
    return any(_exchanged_bytes(s, warp) > _MUCH for s in walk(body))


def _exchanged_bytes(s: ins.Stmt, warp: int) -> int:
    match s:
        case ins.ConvertLayout():
            return tile_bytes(s.out) if _meets_memory(s, warp) and not is_placed(s) else 0
        case ins.Reduce(out=out, x=x, axis=axis) if x.type.layout is not None:
            _, warps = shared_axis(x.type.layout, axis, warp)
            return warps * tile_bytes(out) if warps > 1 else 0
        case ins.Scan(out=out):
            return tile_bytes(out)
    return 0


def _meets_memory(s: ins.ConvertLayout, warp: int) -> bool:
    """Whether a conversion may go through shared memory: registers are not renamed alone."""
    source, wanted = s.x.type.layout, s.out.type.layout
    if source is None or wanted is None:
        return True
    return conversion(source, wanted, warp) not in (Conversion.NONE, Conversion.REGISTERS)


def choose_stages(
    loop: ins.For, staged: Sequence[Ahead], room: Room, lag: int = 0, *, paired: bool = False
) -> int:
    """The fewest stages with enough bytes under way; 1 where not even two stages fit.

    A slot is filled `lag` iterations after the one that read it. `paired` blocks fill each other's
    gaps.
    """
    stage = sum(math.ceil(a.bytes / a.run) for a in staged)
    if not stage or 2 * stage > room.bytes:
        return 1
    most = room.half // stage
    if paired and most >= _FEWEST:
        enough = math.ceil(_BYTES_OF_UNITS / (2 * stage)) + 1 + lag
        return max(_FEWEST, min(most, enough, MOST_STAGES))
    best, most = 1, 0
    wanted = _BYTES_OF_UNITS if lag else room.in_flight
    for stages in range(2, MOST_STAGES + 1):
        if stages * stage > room.bytes:
            break
        fitting = room.bytes // (stages * stage)
        blocks = max(1, min(_BLOCKS, fitting, room.most_threads // (room.threads or _THREADS)))
        under_way = blocks * (stages - 1 - lag) * stage
        if under_way > most:
            best, most = stages, under_way
        if under_way >= wanted and stages >= _FEWEST + lag:
            break
    return best
