"""What the host writes into the array by address: memory, locks, descriptors and queues.

The addresses and fields are those of AIE-ML's register reference (AM025): a tile's base is its column
and row, descriptors and queues lie at fixed places of its DMA. Registers of events, traces and timers
change no number and are passed over; others are faults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from dslc.compiler.mlir import Use
from dslc.runtime.aie_simulator.channels import Task
from dslc.runtime.aie_simulator.descriptors import Descriptor, check_descriptor
from dslc.runtime.aie_simulator.device import Device, kind_of_tile
from dslc.runtime.aie_simulator.engine import Engine
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.explicit import known
from dslc.runtime.aie_simulator.machine import MEMORY, SHIM, WORD, Kind
from dslc.runtime.aie_simulator.parts import Lock, Memory, Tile, View
from dslc.runtime.aie_simulator.reader import Operation

_COLUMN, _ROW = 25, 20  # the bits of an address at which column and row begin


@dataclass(frozen=True, slots=True)
class Map:
    """Where a kind of tile has its DMA: descriptors (each `size` bytes), queues, locks."""

    descriptors: int
    size: int
    queues: Mapping[str, int]
    locks: int
    traces: tuple[tuple[int, int], ...]


MAPS = {
    "shim": Map(0x1D000, 0x20, {"S2MM": 0x1D200, "MM2S": 0x1D210}, 0x14000,
                ((0x34000, 0x35000), (0x31000, 0x32000), (0x3FF00, 0x3FF40))),
    "memory": Map(0xA0000, 0x20, {"S2MM": 0xA0600, "MM2S": 0xA0630}, 0xC0000,
                  ((0x91000, 0x92000), (0x94000, 0x95000), (0xB0F00, 0xB0F40))),
    "compute": Map(0x1D000, 0x20, {"S2MM": 0x1DE00, "MM2S": 0x1DE10}, 0x1F000,
                   ((0x11000, 0x12000), (0x14000, 0x15000), (0x31000, 0x32000), (0x34000, 0x35000),
                    (0x3FF00, 0x3FF40))),
}  # fmt: skip


class Registers:
    """The registers of a device's tiles as they were written."""

    def __init__(self, device: Device, engine: Engine) -> None:
        self._device, self._engine = device, engine
        self._words: dict[tuple[Tile, int], int] = {}
        self._patches: dict[tuple[Tile, int], tuple[Memory, int]] = {}

    def command(self, op: Operation, values: Mapping[str, object]) -> None:
        """A command that writes."""
        match op.name:
            case "aiex.npu.write32":
                self._write32(op, values)
            case "aiex.npu.maskwrite32":
                self._mask(op, values)
            case "aiex.npu.blockwrite":
                self._block(op, values)
            case "aiex.npu.rtp_write":
                buffer = self._buffer(op)
                value = known(op.attributes["value"], values, op.line)
                self._store(buffer, op.integer("index"), value, op.line)
            case "aiex.npu.address_patch":
                self._patch(op, values)
            case "aiex.npu.writebd":
                self._descriptor(op)
            case "aiex.npu.push_queue":
                self._push_queue(op, values)
            case _:
                raise AieFault("syntax", f"{op.name} in a sequence", line=op.line)

    def _buffer(self, op: Operation) -> Memory:
        memory = self._device.symbols.get(op.text("buffer"))
        if not isinstance(memory, Memory):
            raise AieFault("symbol", f"@{op.text('buffer')} is no buffer", line=op.line)
        return memory

    def _store(self, memory: Memory, word: int, value: int, line: int) -> None:
        """A word of a buffer."""
        words = memory.count * memory.data.dtype.itemsize // WORD
        view = View(memory, 0, words, "i32", line)
        bits = np.array([value & 0xFFFFFFFF], np.uint32).view(np.int32)
        view.store(bits, word, 1, line)

    def _place(self, op: Operation, address: int) -> tuple[Tile, int]:
        if "column" in op.attributes:
            return (op.integer("column"), op.integer("row")), address & 0xFFFFF
        return (address >> _COLUMN, address >> _ROW & 0x1F), address & 0xFFFFF

    def _values(
        self, op: Operation, values: Mapping[str, object], names: tuple[str, ...]
    ) -> list[int]:
        if op.operands:
            return [known(Use(n), values, op.line) for n in op.operands]
        return [op.integer(n) for n in names]

    def _write32(self, op: Operation, values: Mapping[str, object]) -> None:
        address, value = self._values(op, values, ("address", "value"))
        if "buffer" in op.attributes:
            self._store(self._buffer(op), address, value, op.line)
        else:
            self._write(*self._place(op, address), value, op.line)

    def _mask(self, op: Operation, values: Mapping[str, object]) -> None:
        address, value, mask = self._values(op, values, ("address", "value", "mask"))
        tile, at = self._place(op, address)
        before = self._words.get((tile, at), 0)
        self._write(tile, at, (before & ~mask) | (value & mask), op.line)

    def _block(self, op: Operation, values: Mapping[str, object]) -> None:
        data = values.get(op.operands[0])
        if not isinstance(data, Memory):
            raise AieFault("symbol", f"{op.operands[0]} holds no words", line=op.line)
        words = data.data.view(np.uint32)
        address = op.integer("address")
        if "buffer" in op.attributes:
            buffer = self._buffer(op)
            for number, value in enumerate(words):
                self._store(buffer, address + number, int(value), op.line)
            return
        tile, at = self._place(op, address)
        for number, value in enumerate(words):
            self._write(tile, at + number * WORD, int(value), op.line)

    def _patch(self, op: Operation, values: Mapping[str, object]) -> None:
        """The host's array at whose byte a shim's descriptor begins."""
        address = op.integer("addr")
        offset = self._values(op, values, ("arg_plus",))[-1]
        memories = [m for m in values.values() if isinstance(m, Memory) and m.tile is None]
        number = op.integer("arg_idx")
        if not 0 <= number < len(memories):
            raise AieFault("argument", f"there is no argument {number}", line=op.line)
        tile, at = (address >> _COLUMN, address >> _ROW & 0x1F), address & 0xFFFFF
        layout = MAPS["shim"]
        if tile[1] != 0 or not 0 <= at - layout.descriptors < layout.size * SHIM.descriptors:
            raise AieFault("register", f"an address is written to {at:#x}", line=op.line)
        self._patches[tile, (at - layout.descriptors) // layout.size] = memories[number], offset

    def _write(self, tile: Tile, at: int, value: int, line: int) -> None:
        """A word at an address of a tile."""
        kind = kind_of_tile(tile, line)
        layout = MAPS[kind.name]
        value &= 0xFFFFFFFF
        if at < kind.memory:
            self._write_memory(tile, at, value, line)
            return
        self._words[tile, at] = value
        if 0 <= at - layout.descriptors < layout.size * kind.descriptors:
            return
        for direction, base in layout.queues.items():
            if 0 <= at - base < 8 * kind.channels[direction]:
                if (at - base) % 8:
                    self._push(tile, direction, (at - base) // 8, value, line)
                return
        if 0 <= at - layout.locks < 16 * kind.locks and at % 16 == 0:
            self._lock(tile, (at - layout.locks) // 16, line).set(self._engine, value & 0x3F)
        elif not any(low <= at < high for low, high in layout.traces):
            place = f"register {at:#x} of tile {tile[0]}, {tile[1]}"
            raise AieFault("register", f"{place} is written", line=line)

    def _write_memory(self, tile: Tile, at: int, value: int, line: int) -> None:
        for memory, first in self._device.places(tile).items():
            if first <= at < first + memory.data.nbytes:
                self._store(memory, (at - first) // WORD, value, line)
                return
        raise AieFault("bounds", f"no buffer is at {at:#x} of tile {tile[0]}, {tile[1]}", line=line)

    def _lock(self, tile: Tile, number: int, line: int) -> Lock:
        for lock in self._device.locks.get(tile, ()):
            if lock.number == number:
                return lock
        raise AieFault("locks", f"tile {tile[0]}, {tile[1]} declares no lock {number}", line=line)

    # Descriptors and queues

    def _descriptor(self, op: Operation) -> None:
        """`aiex.npu.writebd`: the fields of a descriptor by name."""
        tile = op.integer("column"), op.integer("row")
        kind = kind_of_tile(tile, op.line)
        number, layout = op.integer("bd_id"), MAPS[kind.name]
        if not 0 <= number < kind.descriptors:
            text = f"a {kind.name} tile has no descriptor {number}"
            raise AieFault("descriptors", text, line=op.line)
        for word in range(8):
            self._words[tile, layout.descriptors + number * layout.size + word * WORD] = 0
        for name, fields in FIELDS[kind.name].items():
            value = op.integer(name, 0)
            if kind.name == "compute" and name == "buffer_offset":
                value //= WORD
            for word, low, width in fields:
                at = tile, layout.descriptors + number * layout.size + word * WORD
                self._words[at] = self._words.get(at, 0) | (value & ((1 << width) - 1)) << low

    def _push_queue(self, op: Operation, values: Mapping[str, object]) -> None:
        if op.operands:
            number, repeat = (known(Use(n), values, op.line) for n in op.operands)
        else:
            number, repeat = op.integer("bd_id"), op.integer("repeat_count")
        tile = op.integer("column"), op.integer("row")
        word = number | repeat << 16 | op.flag("issue_token") << 31
        self._push(tile, op.text("direction"), op.integer("channel"), word, op.line)

    def _push(self, tile: Tile, direction: str, number: int, word: int, line: int) -> None:
        """A word of a queue: the first descriptor, how often again, and whether it tells."""
        channel = self._device.channel(tile, direction, line, number)
        kind = kind_of_tile(tile, line)
        first, again, token = word & 0x3F, word >> 16 & 0xFF, bool(word >> 31)
        if channel.traced:
            return
        chain: list[Descriptor] = []
        seen: dict[int, int] = {}
        at: int | None = first
        while at is not None and at not in seen:
            seen[at] = len(chain)
            descriptor, at = self._decoded(tile, kind, at, line)
            check_descriptor(descriptor, tile, direction)
            chain.append(descriptor)
        back = None if at is None else seen[at]
        task = Task(
            chain, again + 1, back, token or (kind is SHIM and direction == "S2MM"), line=line
        )
        channel.push(self._engine, task, line)

    def _decoded(
        self, tile: Tile, kind: Kind, number: int, line: int
    ) -> tuple[Descriptor, int | None]:
        """What the words of a descriptor say, and the number of the next."""
        base = MAPS[kind.name].descriptors + number * MAPS[kind.name].size

        def field(name: str) -> int:
            value = 0
            for word, low, width in FIELDS[kind.name].get(name, ()):
                value |= self._words.get((tile, base + word * WORD), 0) >> low & ((1 << width) - 1)
            return value

        if not field("valid_bd"):
            text = f"descriptor {number} of tile {tile[0]}, {tile[1]} was not written"
            raise AieFault("descriptors", text, line=line)
        memory, offset = self._memory(tile, kind, number, field("buffer_offset"), line)
        length = field("buffer_length")
        loops = _loops([(field(f"d{n}_size"), field(f"d{n}_stride") + 1) for n in range(3)], length)
        if kind is MEMORY and field("d3_stride"):
            raise AieFault("register", "a fourth dimension is written", line=line)
        descriptor = Descriptor(memory, offset, length, loops, line=line)
        if field("iteration_size"):
            step = field("iteration_stride") + 1
            descriptor.iteration = field("iteration_size") + 1, step, field("iteration_current")
        if any(field(f"d{n}_zero_{w}") for n in range(3) for w in ("before", "after")):
            raise AieFault("register", "padding is written", line=line)
        if field("enable_packet"):
            descriptor.packet, descriptor.packet_type = field("packet_id"), field("packet_type")
        if field("lock_acq_enable"):
            amount = _signed(field("lock_acq_val"), 7)
            lock = self._lock_of(tile, kind, field("lock_acq_id"), line)
            descriptor.acquire = lock, abs(amount), amount >= 0
        if release := _signed(field("lock_rel_val"), 7):
            descriptor.release = self._lock_of(tile, kind, field("lock_rel_id"), line), release
        return descriptor, field("next_bd") if field("use_next_bd") else None

    def _lock_of(self, tile: Tile, kind: Kind, number: int, line: int) -> Lock:
        """A memory tile's descriptors number its own locks from 64 on."""
        return self._lock(tile, number - 64 if kind is MEMORY else number, line)

    def _memory(
        self, tile: Tile, kind: Kind, number: int, offset: int, line: int
    ) -> tuple[Memory, int]:
        """The words that a descriptor's address lies in."""
        if kind is SHIM:
            if (tile, number) not in self._patches:
                text = f"descriptor {number} of tile {tile[0]}, 0 has no array"
                raise AieFault("descriptors", text, line=line)
            memory, at = self._patches[tile, number]
        else:
            byte = offset * WORD - (0x80000 if kind is MEMORY and offset * WORD >= 0x80000 else 0)
            for memory, first in self._device.places(tile).items():
                if first <= byte < first + memory.data.nbytes:
                    at = byte - first
                    break
            else:
                text = f"no buffer is at {byte:#x} of tile {tile[0]}, {tile[1]}"
                raise AieFault("bounds", text, line=line)
        words = memory.count * memory.data.dtype.itemsize // WORD
        return View(memory, 0, words, "i32", line), at // WORD


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def _loops(dims: list[tuple[int, int]], length: int) -> tuple[tuple[int, int], ...]:
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
