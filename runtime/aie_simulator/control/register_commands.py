"""What a sequence writes into the array: registers by address or name, descriptors, queues, resets."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from dslc.compiler.mlir import Use
from dslc.runtime.aie_simulator.control.register_map import (
    COLUMN,
    CORE_CONTROL,
    FIELDS,
    INSIDE,
    MAPS,
    RESET,
    ROW,
)
from dslc.runtime.aie_simulator.control.registers import Registers
from dslc.runtime.aie_simulator.device import Device, kind_of_tile
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.explicit import known
from dslc.runtime.aie_simulator.machine import WORD
from dslc.runtime.aie_simulator.parts import Memory, Tile
from dslc.runtime.aie_simulator.reader import Operation

Values = Mapping[str, object]


class RegisterCommands:
    """The commands of a sequence that write the registers of a device."""

    def __init__(self, device: Device, registers: Registers) -> None:
        self._device, self._registers = device, registers

    def command(self, op: Operation, values: Values) -> None:
        """A command that writes."""
        match op.name:
            case "aiex.npu.write32":
                address, value = self._values(op, values, ("address", "value"))
                if (buffer := self._buffer(op)) is not None:
                    self._registers.store(buffer, address, value, op.line)
                else:
                    self._registers.write(*self._place(op, address), value, op.line)
            case "aiex.npu.maskwrite32":
                self._mask(op, values)
            case "aiex.npu.blockwrite":
                self._block(op, values)
            case "aiex.npu.rtp_write":
                value = known(op.attributes["value"], values, op.line)
                self._registers.store(self._named(op), op.integer("index"), value, op.line)
            case "aiex.npu.address_patch":
                self._patch(op, values)
            case "aiex.npu.writebd":
                self._descriptor(op)
            case "aiex.npu.push_queue":
                self._push_queue(op, values)
            case "aiex.buffer_clear":
                tile, first = self._device.tile(op.operands[0], op.line), op.integer("offset")
                for number in range(op.integer("words")):
                    self._registers.write(tile, first + number * WORD, 0, op.line)
            case "aiex.core_reset":
                self._pulse(self._device.tile(op.operands[0], op.line), CORE_CONTROL, op.line)
            case "aiex.dma_channel_reset":
                tile = self._device.tile(op.operands[0], op.line)
                queues = MAPS[kind_of_tile(tile, op.line).name].queues
                at = queues[op.text("direction")] + 8 * op.integer("channel")
                self._pulse(tile, at, op.line)
            case _:
                raise AieFault("syntax", f"{op.name} in a sequence", line=op.line)

    def _pulse(self, tile: Tile, at: int, line: int) -> None:
        """A reset, and its end."""
        for value in (RESET, 0):
            self._registers.write_masked(tile, at, value, RESET, line)

    def _buffer(self, op: Operation) -> Memory | None:
        """The buffer of a symbol; None where a command is of an address."""
        return self._named(op) if "buffer" in op.attributes else None

    def _named(self, op: Operation) -> Memory:
        # Until 2025 `rtp_write` had the symbol as `buffer_sym_name`.
        name = op.text("buffer", op.text("buffer_sym_name", ""))
        memory = self._device.symbols.get(name)
        if not isinstance(memory, Memory):
            raise AieFault("symbol", f"@{name} is no buffer", line=op.line)
        return memory

    def _place(self, op: Operation, address: int) -> tuple[Tile, int]:
        if "column" in op.attributes:
            return (op.integer("column"), op.integer("row")), address & INSIDE
        return _split(address)

    def _values(self, op: Operation, values: Values, names: tuple[str, ...]) -> list[int]:
        if op.operands:
            return [known(Use(n), values, op.line) for n in op.operands]
        return [op.integer(n) for n in names]

    def _mask(self, op: Operation, values: Values) -> None:
        address, value, mask = self._values(op, values, ("address", "value", "mask"))
        if (buffer := self._buffer(op)) is not None:
            before = self._registers.word(buffer, address, op.line)
            self._registers.store(buffer, address, (before & ~mask) | (value & mask), op.line)
        else:
            self._registers.write_masked(*self._place(op, address), value, mask, op.line)

    def _block(self, op: Operation, values: Values) -> None:
        data = values.get(op.operands[0])
        if not isinstance(data, Memory):
            raise AieFault("symbol", f"{op.operands[0]} holds no words", line=op.line)
        words = data.data.view(np.uint32)
        address = op.integer("address")
        if (buffer := self._buffer(op)) is not None:
            for number, value in enumerate(words):
                self._registers.store(buffer, address + number, int(value), op.line)
            return
        tile, at = self._place(op, address)
        for number, value in enumerate(words):
            self._registers.write(tile, at + number * WORD, int(value), op.line)

    def _patch(self, op: Operation, values: Values) -> None:
        """The host's array at whose byte a shim's descriptor begins."""
        offset = self._values(op, values, ("arg_plus",))[-1]
        memories = [m for m in values.values() if isinstance(m, Memory) and m.tile is None]
        number = op.integer("arg_idx")
        if not 0 <= number < len(memories):
            raise AieFault("argument", f"there is no argument {number}", line=op.line)
        self._registers.patch(*_split(op.integer("addr")), memories[number], offset, op.line)

    def _descriptor(self, op: Operation) -> None:
        """`aiex.npu.writebd`: the fields of a descriptor by name."""
        tile = op.integer("column"), op.integer("row")
        kind = kind_of_tile(tile, op.line)
        number, layout = op.integer("bd_id"), MAPS[kind.name]
        if not 0 <= number < kind.descriptors:
            text = f"a {kind.name} tile has no descriptor {number}"
            raise AieFault("descriptors", text, line=op.line)
        words = [0] * 8
        for name, fields in FIELDS[kind.name].items():
            value = op.integer(name, 0)
            if kind.name == "compute" and name == "buffer_offset":
                value //= WORD
            for word, low, width in fields:
                words[word] |= (value & ((1 << width) - 1)) << low
        for word, value in enumerate(words[: layout.size // WORD]):
            at = layout.descriptors + number * layout.size + word * WORD
            self._registers.write(tile, at, value, op.line)

    def _push_queue(self, op: Operation, values: Values) -> None:
        if op.operands:
            number, repeat = (known(Use(n), values, op.line) for n in op.operands)
        else:
            number, repeat = op.integer("bd_id"), op.integer("repeat_count")
        tile = op.integer("column"), op.integer("row")
        word = number | repeat << 16 | op.flag("issue_token") << 31
        self._registers.push(tile, op.text("direction"), op.integer("channel"), word, op.line)


def _split(address: int) -> tuple[Tile, int]:
    """The tile of an address, and the place within."""
    return (address >> COLUMN, address >> ROW & 0x1F), address & INSIDE
