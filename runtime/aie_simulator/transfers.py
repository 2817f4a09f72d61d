"""What a sequence tells a configured device: copies and tasks that are pushed, and waits for them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dslc.compiler.mlir import Number, Use
from dslc.runtime.aie_simulator.channels import Channel, Task
from dslc.runtime.aie_simulator.configuration import Configuration
from dslc.runtime.aie_simulator.control.register_commands import RegisterCommands
from dslc.runtime.aie_simulator.descriptors import Descriptor, check_descriptor
from dslc.runtime.aie_simulator.device import kind_of_tile
from dslc.runtime.aie_simulator.engine import Engine, Steps
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.explicit import builder, chain_of, known, packet_of
from dslc.runtime.aie_simulator.machine import QUEUE
from dslc.runtime.aie_simulator.parts import Lock, Memory, Tile
from dslc.runtime.aie_simulator.reader import Operation

Values = dict[str, object]


@dataclass(slots=True, eq=False)
class Configured:
    """A task of `aiex.dma_configure_task`, and the descriptors that it holds until it is freed."""

    channel: Channel
    task: Task
    numbers: list[tuple[Tile, int]]


class Transfers:
    """The commands of sequences to a device."""

    def __init__(self, configuration: Configuration, engine: Engine, *, waits: bool) -> None:
        self._device, self._engine, self._waits = configuration.device, engine, waits
        self._descriptors: dict[tuple[Tile, int], Task] = {}
        self._held: set[tuple[Tile, int]] = set()
        self._registers = RegisterCommands(self._device, configuration.registers)

    def command(self, op: Operation, values: Values) -> Steps:
        """One command."""
        match op.name:
            case "aiex.npu.dma_memcpy_nd":
                yield from self._copy(op, values)
            case "aiex.npu.dma_wait":
                yield from self._wait(self._host_channel(op.text("symbol"), op.line))
            case "aiex.npu.sync":
                yield from self._sync(op, values)
            case "aiex.dma_configure_task" | "aiex.dma_configure_task_for":
                values[op.results[0]] = self._configured(op, values)
            case "aiex.dma_start_bd_chain" | "aiex.dma_start_bd_chain_for":
                configured = self._chain(op, values)
                values[op.results[0]] = configured
                yield from self._push(configured.channel, configured.task, op.line)
            case "aiex.dma_start_task":
                configured = self._task(op, values)
                yield from self._push(configured.channel, configured.task, op.line)
            case "aiex.dma_await_task":
                configured = self._task(op, values)
                if not configured.task.token:
                    raise AieFault("token", "the task issues no token", line=op.line)
                yield from self._wait(configured.channel)
                self._held.difference_update(configured.numbers)
            case "aiex.dma_free_task":
                self._held.difference_update(self._task(op, values).numbers)
            case "aiex.set_lock":
                lock = self._device.values.get(op.operands[0])
                if not isinstance(lock, Lock):
                    raise AieFault("symbol", f"{op.operands[0]} is no lock", line=op.line)
                lock.set(self._engine, known(op.attributes["value"], values, op.line))
            case _:
                self._registers.command(op, values)

    def _push(self, channel: Channel, task: Task, line: int) -> Steps:
        """A task is pushed, where the host waits for it when there is a place."""
        while self._waits and len(channel.tasks) >= QUEUE:
            yield channel.room
        channel.push(self._engine, task, line)

    def _host_channel(self, name: str, line: int) -> Channel:
        if name not in self._device.host:
            raise AieFault("symbol", f"@{name} has no end in a shim tile", line=line)
        return self._device.host[name]

    def _copy(self, op: Operation, values: Values) -> Steps:
        line, name = op.line, op.text("metadata", "")
        channel = self._host_channel(name, line)
        memory = values.get(op.operands[0])
        if not isinstance(memory, Memory):
            raise AieFault("symbol", f"{op.operands[0]} is no argument", line=line)
        offsets, sizes, strides = (
            [
                known(e if isinstance(e, Use) else Number(e), values, line)
                for e in op.attributes[part]
            ]
            for part in ("offsets", "sizes", "strides")
        )
        loops = tuple(zip(sizes, strides, strict=True))
        start = sum(o * s for o, s in zip(offsets, strides, strict=True))
        descriptor = Descriptor(memory, start, math.prod(sizes), loops, line=line)
        if (packet := op.fields("packet")) is not None:
            descriptor.packet, descriptor.packet_type = packet_of(packet)
        elif name in self._device.packets:
            descriptor.packet = self._device.packets[name]
        number = op.integer("id", 0)
        check_descriptor(descriptor, channel.tile, task=True)
        # Channels that receive always tell, those that send where they are asked to.
        token = op.flag("issue_token") or channel.direction == "S2MM"
        task = Task([descriptor], token=token, line=line)
        self._write(channel.tile, number, task, line)
        yield from self._push(channel, task, line)

    def _write(self, tile: Tile, number: int, task: Task, line: int) -> None:
        """A descriptor is written: its last task must have ended."""
        kind = kind_of_tile(tile, line)
        if not 0 <= number < kind.descriptors:
            text = f"a {kind.name} tile has no descriptor {number}"
            raise AieFault("descriptors", text, line=line)
        before = self._descriptors.get((tile, number))
        if before is not None and before is not task and not before.ended:
            text = f"descriptor {number} of tile {tile[0]}, {tile[1]} is still in use"
            raise AieFault("descriptor-reuse", text, line=line)
        self._descriptors[tile, number] = task

    def _configured(self, op: Operation, values: Values) -> Configured:
        if op.name.endswith("_for"):
            channel = self._host_channel(op.text("alloc"), op.line)
        else:
            channel = self._channel(op)
        runs = op.integer("repeat_count", 0) + 1
        if op.operands[1 if not op.name.endswith("_for") else 0 :]:
            runs = known(Use(op.operands[-1]), values, op.line) + 1
        configured = self._made(op, channel, values, runs)
        packet = op.fields("packet")
        if packet is None and op.name.endswith("_for"):
            number = self._device.packets.get(op.text("alloc"))
            packet = None if number is None else {"pkt_id": Number(number)}
        for descriptor in configured.task.chain:
            if descriptor.packet is None and packet is not None:
                descriptor.packet, descriptor.packet_type = packet_of(packet)
        return configured

    def _channel(self, op: Operation) -> Channel:
        tile = self._device.tile(
            op.operands[-1] if "bd_chain" in op.name else op.operands[0], op.line
        )
        return self._device.channel(tile, op.text("direction"), op.line, op.integer("channel"))

    def _chain(self, op: Operation, values: Values) -> Configured:
        """`aie.bd_chain` with what it is given."""
        chain = self._device.symbols.get(op.text("symbol"))
        if not isinstance(chain, Operation) or chain.name != "aie.bd_chain":
            raise AieFault("symbol", f"@{op.text('symbol')} is no chain", line=op.line)
        arguments = chain.regions[0][0].arguments
        here = op.name.endswith("_for")
        channel = self._host_channel(op.text("alloc"), op.line) if here else self._channel(op)
        given = op.operands if here else op.operands[:-1]
        if len(given) != len(arguments):
            text = f"{len(given)} arguments for {len(arguments)}"
            raise AieFault("argument", text, line=op.line)
        own = {name: values.get(n) for (name, _), n in zip(arguments, given, strict=True)}
        configured = self._made(
            chain, channel, {**values, **own}, op.integer("repeat_count", 0) + 1
        )
        configured.task.token = op.flag("issue_token")
        return configured

    def _made(
        self, op: Operation, channel: Channel, values: Mapping[str, object], runs: int
    ) -> Configured:
        blocks = {block.label: block for block in op.regions[0]}
        scope = {**self._device.values, **values}
        first = op.regions[0][0].label
        build = builder(self._device, channel.tile, scope)
        chain, back = chain_of(blocks, first, op.line, build)
        task = Task(chain, runs, back, op.flag("issue_token"), line=op.line)
        configured = Configured(channel, task, [])
        for descriptor in chain:
            check_descriptor(descriptor, channel.tile, channel.direction)
            place = channel.tile, self._number(channel, descriptor, op.line)
            self._write(*place, task, descriptor.line)
            self._held.add(place)
            configured.numbers.append(place)
        return configured

    def _number(self, channel: Channel, descriptor: Descriptor, line: int) -> int:
        """The descriptor's own number, or the first that nobody holds."""
        if descriptor.number is not None:
            return descriptor.number
        kind = kind_of_tile(channel.tile, line)
        half = kind.descriptors // 2 if kind.dims == 4 else 0
        first = half if half and channel.number % 2 else 0
        for number in range(first, first + (half or kind.descriptors)):
            last = self._descriptors.get((channel.tile, number))
            if (channel.tile, number) not in self._held and (last is None or last.ended):
                return number
        text = f"no descriptor of tile {channel.tile[0]}, {channel.tile[1]} is free"
        raise AieFault("descriptors", text, line=line)

    def _task(self, op: Operation, values: Values) -> Configured:
        configured = values.get(op.operands[0])
        if not isinstance(configured, Configured):
            raise AieFault("symbol", f"{op.operands[0]} is no task", line=op.line)
        return configured

    def _sync(self, op: Operation, values: Values) -> Steps:
        names = ("column", "row", "direction", "channel", "column_num", "row_num")
        if op.operands:
            given = [known(Use(n), values, op.line) for n in op.operands]
        else:
            given = [op.integer(n, 1 if n.endswith("num") else None) for n in names]
        column, row, direction, number, columns, rows = given
        for tile in (
            (c, r) for c in range(column, column + columns) for r in range(row, row + rows)
        ):
            way = "MM2S" if direction else "S2MM"
            yield from self._wait(self._device.channel(tile, way, op.line, number))

    @staticmethod
    def _wait(channel: Channel) -> Steps:
        while not channel.tokens:
            channel.told.what = f"a token of {channel.name} ({len(channel.tasks)} tasks left)"
            yield channel.told
        channel.tokens -= 1
