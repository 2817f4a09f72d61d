"""Where registers lie and what their bits say (AM025, AIE-ML's register reference)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

COLUMN, ROW = 25, 20  # the bits of an address at which column and row begin
INSIDE = (1 << ROW) - 1  # the bits of an address within a tile
CORE_CONTROL = 0x32000
ENABLE, RESET = 1, 2  # bits of a control register
OPEN = 31  # the bit with which a port of the stream switch is open


@dataclass(frozen=True, slots=True)
class Map:
    """Where a kind of tile has its DMA: descriptors (each `size` bytes), controls and queues, locks.

    A channel has a control register and a queue, 8 bytes in all; bit 1 of the control resets it where
    `resets`. `senders` is where its MM2S channels enter the stream switch. Writes to `traces` change no
    number.
    """

    descriptors: int
    size: int
    queues: Mapping[str, int]
    locks: int
    senders: int
    resets: bool
    traces: tuple[tuple[int, int], ...]


MAPS = {
    "shim": Map(0x1D000, 0x20, {"S2MM": 0x1D200, "MM2S": 0x1D210}, 0x14000, 0, False,
                ((0x34000, 0x35000), (0x31000, 0x32000), (0x3FF00, 0x3FF40))),
    "memory": Map(0xA0000, 0x20, {"S2MM": 0xA0600, "MM2S": 0xA0630}, 0xC0000, 0xB0100, True,
                  ((0x91000, 0x92000), (0x94000, 0x95000), (0xB0F00, 0xB0F40))),
    "compute": Map(0x1D000, 0x20, {"S2MM": 0x1DE00, "MM2S": 0x1DE10}, 0x1F000, 0x3F104, True,
                   ((0x11000, 0x12000), (0x14000, 0x15000), (0x31000, 0x32000), (0x34000, 0x35000),
                    (0x3FF00, 0x3FF40))),
}  # fmt: skip


def signed(value: int, bits: int) -> int:
    """The number of two's complement that so many bits hold."""
    return value - (1 << bits) if value >> (bits - 1) else value


def loops_of_fields(dims: list[tuple[int, int]], length: int) -> tuple[tuple[int, int], ...]:
    """Loops, outermost first: a size of 0 is what is left of the length."""
    steps: list[tuple[int, int]] = []
    left = length
    for size, stride in dims:
        if not size:
            steps.append((left, stride))
            break
        steps.append((size, stride))
        left //= size
    else:
        steps[-1] = (steps[-1][0] * left, steps[-1][1])
    loops = tuple(reversed([loop for loop in steps if loop[0] != 1]))
    return () if loops in ((), ((length, 1),)) else loops


# Fields of a descriptor by kind: word, lowest bit, bits.
FIELDS: Mapping[str, Mapping[str, tuple[tuple[int, int, int], ...]]] = {
    "shim": {
        "buffer_length": ((0, 0, 32),), "buffer_offset": ((1, 0, 32),),
        "enable_packet": ((2, 30, 1),), "packet_id": ((2, 19, 5),), "packet_type": ((2, 16, 3),),
        "d0_size": ((3, 20, 10),), "d0_stride": ((3, 0, 20),),
        "d1_size": ((4, 20, 10),), "d1_stride": ((4, 0, 20),), "d2_stride": ((5, 0, 20),),
        "iteration_current": ((6, 26, 6),), "iteration_size": ((6, 20, 6),),
        "iteration_stride": ((6, 0, 20),),
        "next_bd": ((7, 27, 4),), "use_next_bd": ((7, 26, 1),), "valid_bd": ((7, 25, 1),),
        "lock_rel_val": ((7, 18, 7),), "lock_rel_id": ((7, 13, 4),), "lock_acq_enable": ((7, 12, 1),),
        "lock_acq_val": ((7, 5, 7),), "lock_acq_id": ((7, 0, 4),),
    },
    "memory": {
        "enable_packet": ((0, 31, 1),), "packet_type": ((0, 28, 3),), "packet_id": ((0, 23, 5),),
        "buffer_length": ((0, 0, 17),), "d0_zero_before": ((1, 26, 6),), "next_bd": ((1, 20, 6),),
        "use_next_bd": ((1, 19, 1),), "buffer_offset": ((1, 0, 19),),
        "d0_size": ((2, 17, 10),), "d0_stride": ((2, 0, 17),), "d1_zero_before": ((3, 27, 5),),
        "d1_size": ((3, 17, 10),), "d1_stride": ((3, 0, 17),), "d2_zero_before": ((4, 27, 4),),
        "d2_size": ((4, 17, 10),), "d2_stride": ((4, 0, 17),), "d2_zero_after": ((5, 28, 4),),
        "d1_zero_after": ((5, 23, 5),), "d0_zero_after": ((5, 17, 6),), "d3_stride": ((5, 0, 17),),
        "iteration_current": ((6, 23, 6),), "iteration_size": ((6, 17, 6),),
        "iteration_stride": ((6, 0, 17),), "valid_bd": ((7, 31, 1),), "lock_rel_val": ((7, 24, 7),),
        "lock_rel_id": ((7, 16, 8),), "lock_acq_enable": ((7, 15, 1),), "lock_acq_val": ((7, 8, 7),),
        "lock_acq_id": ((7, 0, 8),),
    },
    "compute": {
        "buffer_offset": ((0, 14, 14),), "buffer_length": ((0, 0, 14),), "enable_packet": ((1, 30, 1),),
        "packet_id": ((1, 19, 5),), "packet_type": ((1, 16, 3),), "d1_stride": ((2, 13, 13),),
        "d0_stride": ((2, 0, 13),), "d1_size": ((3, 21, 8),), "d0_size": ((3, 13, 8),),
        "d2_stride": ((3, 0, 13),), "iteration_current": ((4, 19, 6),), "iteration_size": ((4, 13, 6),),
        "iteration_stride": ((4, 0, 13),), "next_bd": ((5, 27, 4),), "use_next_bd": ((5, 26, 1),),
        "valid_bd": ((5, 25, 1),), "lock_rel_val": ((5, 18, 7),), "lock_rel_id": ((5, 13, 4),),
        "lock_acq_enable": ((5, 12, 1),), "lock_acq_val": ((5, 5, 7),), "lock_acq_id": ((5, 0, 4),),
    },
}  # fmt: skip
