"""The registers of the tiles: memory, locks, descriptors, queues and controls by their addresses.

The host writes them (register_commands.py), and control packets do (ports.py). Registers of
events, traces and timers change no number and are passed over; others are faults.
"""

from __future__ import annotations

import numpy as np
from dslc.runtime.aie_simulator.channels import Task
from dslc.runtime.aie_simulator.control.register_map import (
    CORE_CONTROL,
    FIELDS,
    MAPS,
    OPEN,
    RESET,
    Map,
    loops_of_fields,
    signed,
)
from dslc.runtime.aie_simulator.control.resets import Resets
from dslc.runtime.aie_simulator.descriptors import Descriptor, check_descriptor
from dslc.runtime.aie_simulator.device import Device, kind_of_tile
from dslc.runtime.aie_simulator.engine import Engine
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.machine import COMPUTE, MEMORY, SHIM, WORD, Kind
from dslc.runtime.aie_simulator.parts import Lock, Memory, Tile, View


class Registers:
    """The registers of a device's tiles: as they were written, or as the device declares."""

    def __init__(self, device: Device, engine: Engine, resets: Resets) -> None:
        self._device, self._engine, self._resets = device, engine, resets
        self._words: dict[tuple[Tile, int], int] = {}
        self._patches: dict[tuple[Tile, int], tuple[Memory, int]] = {}

    # Words

    def store(self, memory: Memory, word: int, value: int, line: int) -> None:
        """A word of a buffer is written."""
        bits = np.array([value & 0xFFFFFFFF], np.uint32).view(np.int32)
        _words(memory, line).store(bits, word, 1, line)

    def word(self, memory: Memory, number: int, line: int) -> int:
        """A word of a buffer, without its sign."""
        return int(_words(memory, line).get(number, line)) & 0xFFFFFFFF

    def read(self, tile: Tile, at: int, line: int) -> int:
        """The word at an address of a tile."""
        kind = kind_of_tile(tile, line)
        layout = MAPS[kind.name]
        if at < kind.memory:
            memory, first = self._memory_at(tile, at, line)
            return self.word(memory, (at - first) // WORD, line)
        if kind is COMPUTE and at == CORE_CONTROL:
            return self._resets.control(tile)
        if 0 <= at - layout.locks < 16 * kind.locks and at % 16 == 0:
            return self._lock(tile, (at - layout.locks) // 16, line).value
        return self._words.get((tile, at), 0)

    def write_masked(self, tile: Tile, at: int, value: int, mask: int, line: int) -> None:
        """Some bits of a word are written."""
        before = self.read(tile, at, line)
        self.write(tile, at, (before & ~mask) | (value & mask), line)

    def write(self, tile: Tile, at: int, value: int, line: int) -> None:
        """A word at an address of a tile is written."""
        kind = kind_of_tile(tile, line)
        layout = MAPS[kind.name]
        value &= 0xFFFFFFFF
        if at < kind.memory:
            memory, first = self._memory_at(tile, at, line)
            self.store(memory, (at - first) // WORD, value, line)
            return
        self._words[tile, at] = value
        if 0 <= at - layout.descriptors < layout.size * kind.descriptors:
            return
        if self._is_control(tile, at, value, line):
            return
        if 0 <= at - layout.locks < 16 * kind.locks and at % 16 == 0:
            self._lock(tile, (at - layout.locks) // 16, line).set(self._engine, value & 0x3F)
        elif not any(low <= at < high for low, high in layout.traces):
            place = f"register {at:#x} of tile {tile[0]}, {tile[1]}"
            raise AieFault("register", f"{place} is written", line=line)

    def _is_control(self, tile: Tile, at: int, value: int, line: int) -> bool:
        """What a control register or a queue does when it is written, if it is one."""
        kind = kind_of_tile(tile, line)
        layout = MAPS[kind.name]
        for direction, base in layout.queues.items():
            number, inside = divmod(at - base, 8)
            if not 0 <= number < kind.channels[direction]:
                continue
            if inside:
                self.push(tile, direction, number, value, line)
            elif layout.resets and value & RESET:
                self._resets.channel(self._device.channel(tile, direction, line, number))
            return True
        sender = (at - layout.senders) // WORD
        if layout.senders and 0 <= sender < kind.channels["MM2S"]:
            channel = self._device.channel(tile, "MM2S", line, sender)
            channel.open(self._engine, is_open=bool(value >> OPEN))
            return True
        if kind is COMPUTE and at == CORE_CONTROL:
            self._resets.core(tile, value)
            return True
        return False

    def _memory_at(self, tile: Tile, at: int, line: int) -> tuple[Memory, int]:
        """The buffer at a byte of a tile and where it begins; words that no buffer has are one too."""
        places = self._device.places(tile)
        for memory, first in places.items():
            if first <= at < first + memory.data.nbytes:
                return memory, first
        if not 0 <= at < kind_of_tile(tile, line).memory:
            text = f"no buffer is at {at:#x} of tile {tile[0]}, {tile[1]}"
            raise AieFault("bounds", text, line=line)
        before = max((p + m.data.nbytes for m, p in places.items() if p <= at), default=0)
        first = -(-before // WORD) * WORD
        end = min((p for p in places.values() if p > at), default=kind_of_tile(tile, line).memory)
        name = f"the memory of tile {tile[0]}, {tile[1]} from {first:#x} on"
        return self._device.memory(tile, name, (end - first) // WORD, "i32", line, first), first

    def _lock(self, tile: Tile, number: int, line: int) -> Lock:
        for lock in self._device.locks.get(tile, ()):
            if lock.number == number:
                return lock
        raise AieFault("locks", f"tile {tile[0]}, {tile[1]} declares no lock {number}", line=line)

    # Descriptors and queues

    def patch(self, tile: Tile, at: int, memory: Memory, offset: int, line: int) -> None:
        """A shim's descriptor begins at a byte of the host's array."""
        layout = MAPS[SHIM.name]
        if tile[1] != 0 or not 0 <= at - layout.descriptors < layout.size * SHIM.descriptors:
            raise AieFault("register", f"an address is written to {at:#x}", line=line)
        self._patches[tile, (at - layout.descriptors) // layout.size] = memory, offset

    def push(self, tile: Tile, direction: str, number: int, word: int, line: int) -> None:
        """A word of a queue: the first descriptor, how often again, and whether it tells."""
        channel = self._device.channel(tile, direction, line, number)
        kind = kind_of_tile(tile, line)
        first, again, token = word & 0x3F, word >> 16 & 0xFF, bool(word >> 31)
        if channel.traced:
            return
        declared = None if self._is_written(tile, kind, first) else self._declared(tile, first)
        chain, back = declared or self._chain(tile, kind, direction, first, line)
        token |= kind is SHIM and direction == "S2MM"
        channel.push(self._engine, Task(chain, again + 1, back, token, line=line), line)

    def _is_written(self, tile: Tile, kind: Kind, number: int) -> bool:
        layout = MAPS[kind.name]
        return (tile, layout.descriptors + number * layout.size) in self._words

    def _declared(self, tile: Tile, number: int) -> tuple[list[Descriptor], int | None] | None:
        """The chain from a descriptor on that the device declares."""
        for chain, back in self._device.chains(tile):
            for at, descriptor in enumerate(chain):
                if descriptor.number == number:
                    rest = chain[at:]
                    if back is None:
                        return rest, None
                    return (rest, back - at) if back >= at else (rest + chain[back:at], 0)
        return None

    def _chain(
        self, tile: Tile, kind: Kind, direction: str, first: int, line: int
    ) -> tuple[list[Descriptor], int | None]:
        """The descriptors from a number on that were written; to which of them the last goes back."""
        chain: list[Descriptor] = []
        seen: dict[int, int] = {}
        at: int | None = first
        while at is not None and at not in seen:
            seen[at] = len(chain)
            descriptor, at = self._decoded(tile, kind, at, line)
            check_descriptor(descriptor, tile, direction)
            chain.append(descriptor)
        return chain, None if at is None else seen[at]

    def _decoded(
        self, tile: Tile, kind: Kind, number: int, line: int
    ) -> tuple[Descriptor, int | None]:
        """What the words of a descriptor say, and the number of the next."""
        layout: Map = MAPS[kind.name]
        base = layout.descriptors + number * layout.size

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
        loops = loops_of_fields(
            [(field(f"d{n}_size"), field(f"d{n}_stride") + 1) for n in range(3)], length
        )
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
            amount = signed(field("lock_acq_val"), 7)
            lock = self._lock_of(tile, kind, field("lock_acq_id"), line)
            descriptor.acquire = lock, abs(amount), amount >= 0
        if release := signed(field("lock_rel_val"), 7):
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
            return _words(memory, line), at // WORD
        byte = offset * WORD - (0x80000 if kind is MEMORY and offset * WORD >= 0x80000 else 0)
        memory, first = self._memory_at(tile, byte, line)
        return _words(memory, line), (byte - first) // WORD


def _words(memory: Memory, line: int) -> View:
    """A memory as words of 32 bits."""
    return View(memory, 0, memory.count * memory.data.dtype.itemsize // WORD, "i32", line)
