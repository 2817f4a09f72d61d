"""The device of a module: tiles, memories, locks, channels and streams, as they are declared."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from dslc.runtime.aie_simulator.channels import CIRCUIT, Channel
from dslc.runtime.aie_simulator.control.ports import ControlPort
from dslc.runtime.aie_simulator.descriptors import Descriptor, check_descriptor
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.machine import COMPUTE, LOCK_MOST, STACK, Kind, kind_of
from dslc.runtime.aie_simulator.parts import Cascade, Lock, Memory, Tile, element_type
from dslc.runtime.aie_simulator.reader import Operation
from dslc.runtime.aie_simulator.streams import Port, Stream, Terminal


@dataclass(slots=True, eq=False)
class End:
    """A core's end of a FIFO: its objects, and the locks that are acquired and released."""

    name: str
    objects: list[Memory]
    taken: Lock
    given: Lock
    produces: bool
    held: int = 0
    at: int = 0
    checked: bool = True  # whether objects hold values
    first: int = field(init=False)  # where `at` begins

    def __post_init__(self) -> None:
        self.first = self.at

    def begin(self) -> None:
        """As a program finds it that begins."""
        self.at, self.held = self.first, 0


@dataclass(slots=True, eq=False)
class Device:
    """All that is declared. Tiles are (column, row); `values` are what SSA names stand for, `symbols`
    what symbols do: buffers, constants, functions and chains of descriptors.
    """

    columns: int = 8
    values: dict[str, object] = field(default_factory=dict)
    symbols: dict[str, object] = field(default_factory=dict)
    tiles: list[Tile] = field(default_factory=list)
    memories: dict[Tile, list[Memory]] = field(default_factory=dict)
    addresses: dict[Memory, int] = field(default_factory=dict)
    locks: dict[Tile, list[Lock]] = field(default_factory=dict)
    channels: dict[tuple[Tile, str], list[Channel]] = field(default_factory=dict)
    controls: dict[Tile, ControlPort] = field(default_factory=dict)
    controllers: dict[Tile, int] = field(default_factory=dict)  # the packets of control ports
    ends: dict[tuple[str, Tile], End] = field(default_factory=dict)
    host: dict[str, Channel] = field(default_factory=dict)
    packets: dict[str, int] = field(default_factory=dict)  # of host symbols that name one
    cores: list[tuple[Tile, Operation]] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    stacks: dict[Tile, int] = field(default_factory=dict)
    cascades: list[Cascade] = field(default_factory=list)
    zeroed: bool = False  # memories begin with zeros

    def tile(self, name: str, line: int) -> Tile:
        """The tile of an SSA name."""
        tile = self.values.get(name)
        if not isinstance(tile, tuple):
            raise AieFault("symbol", f"{name} is no tile", line=line)
        return tile

    def declare_tile(self, operation: Operation) -> None:
        """`%t = aie.tile(column, row)`."""
        tile = operation.integer("col"), operation.integer("row")
        if not 0 <= tile[0] < self.columns or kind_of(tile[1]) is None:
            raise AieFault("tile", f"there is no tile {tile[0]}, {tile[1]}", line=operation.line)
        if tile in self.tiles:
            text = f"tile {tile[0]}, {tile[1]} is declared twice"
            raise AieFault("symbol", text, line=operation.line)
        self.tiles.append(tile)
        if (controller := operation.fields("controller_id")) is not None:
            self.controllers[tile] = int(controller["pkt_id"].value)
        self.define(operation, tile)

    def define(
        self, operation: Operation, value: object, scope: dict[str, object] | None = None
    ) -> None:
        """The result of an operation, and its symbol if it has one."""
        values = self.values if scope is None else scope
        for name in operation.results:
            if name in values:
                raise AieFault("symbol", f"{name} is defined twice", line=operation.line)
            values[name] = value
        if "sym_name" in operation.attributes:
            self.name(operation.text("sym_name"), value, operation.line)

    def name(self, symbol: str, value: object, line: int) -> None:
        """What a symbol stands for."""
        if symbol in self.symbols:
            raise AieFault("symbol", f"@{symbol} is defined twice", line=line)
        self.symbols[symbol] = value

    def memory(
        self, tile: Tile, name: str, count: int, kind: str, line: int, address: int | None = None
    ) -> Memory:
        """A buffer of a tile; at an address in bytes, or after the others."""
        room = kind_of_tile(tile, line)
        if not room.memory:
            raise AieFault("tile", f"{name} is in a shim tile, which has no memory", line=line)
        memory = Memory(name, kind, np.zeros(count, element_type(kind, line)), tile=tile)
        if self.zeroed:
            memory.mark(np.arange(count))
        self.memories.setdefault(tile, []).append(memory)
        if address is not None:
            self.addresses[memory] = address
        return memory

    def lock(
        self, tile: Tile, name: str, value: int, line: int = 0, number: int | None = None
    ) -> Lock:
        """A lock of a tile with its first value."""
        kind = kind_of_tile(tile, line)
        own = self.locks.setdefault(tile, [])
        if len(own) == kind.locks or (number is not None and number >= kind.locks):
            raise AieFault("locks", f"{name} is one more than a {kind.name} tile has", line=line)
        if number is not None and any(other.number == number for other in own):
            text = f"lock {number} of tile {tile[0]}, {tile[1]} is declared twice"
            raise AieFault("locks", text, line=line)
        if not 0 <= value <= LOCK_MOST:
            raise AieFault("lock-value", f"{name} begins at {value}", line=line)
        lock = Lock(tile, name, value, number)
        own.append(lock)
        return lock

    def channel(self, tile: Tile, direction: str, line: int, number: int | None = None) -> Channel:
        """The next channel of a direction that is free, or the one of that number."""
        kind = kind_of_tile(tile, line)
        own = self.channels.setdefault((tile, direction), [])
        if number is not None:
            for known in own:
                if known.number == number:
                    return known
        else:
            taken = {c.number for c in own}
            number = next(n for n in range(len(own) + 1) if n not in taken)
        if number >= kind.channels[direction]:
            raise AieFault(
                "channels",
                f"{direction} {number} of tile {tile[0]}, {tile[1]}: a {kind.name} tile has "
                f"{kind.channels[direction]}, each for one use",
                line=line,
            )
        channel = Channel(tile, direction, number, line=line)
        own.append(channel)
        return channel

    def control(self, tile: Tile, line: int) -> ControlPort:
        """The control port of a tile."""
        return self.controls.setdefault(tile, ControlPort(tile, line=line))

    def chains(self, tile: Tile) -> list[tuple[list[Descriptor], int | None]]:
        """The chains of descriptors that a tile declares, each with the one that its last goes back to.

        Descriptors without a number take the next that is free, in memory tiles those of odd channels
        from the second half on.
        """
        half = kind_of_tile(tile, 0).descriptors // 2 if kind_of_tile(tile, 0).dims == 4 else 0
        own = [c for (at, _), channels in self.channels.items() if at == tile for c in channels]
        taken = {d.number for c in own for d in c.chain}
        for channel in own:
            for descriptor in channel.chain:
                if descriptor.number is None:
                    first = half * (channel.number % 2)
                    descriptor.number = next(n for n in itertools.count(first) if n not in taken)
                    taken.add(descriptor.number)
        return [task for channel in own for task in channel.declared]

    def flow(self, name: str, source: Channel, targets: list[Channel]) -> None:
        """A stream from a channel to others."""
        for channel in (source, *targets):
            if channel.streams or channel.port is not None:
                raise AieFault("channels", f"{channel.name} is in two streams", line=channel.line)
        source.streams[CIRCUIT] = self._stream(name, source, targets)

    def packet_flow(
        self,
        packet: int,
        source: Terminal,
        targets: Sequence[Terminal],
        line: int,
        *,
        keeps: bool = False,
    ) -> None:
        """The stream of the packets of a number from a channel; others may share its ends."""
        if packet in source.streams or CIRCUIT in source.streams:
            raise AieFault("packet", f"{source.name} has a flow of {packet} already", line=line)
        name = f"{source.name} packet {packet}"
        source.streams[packet] = self._stream(name, source, targets, packet, keeps=keeps)

    def _stream(
        self,
        name: str,
        source: Terminal,
        targets: Sequence[Terminal],
        packet: int | None = None,
        *,
        keeps: bool = False,
    ) -> Stream:
        for target in targets:
            target.port = target.port or Port(target.name)
        ports = tuple(t.port for t in targets if t.port is not None)
        stream = Stream(name, source.name, ports, packet, keeps)
        self.streams.append(stream)
        return stream

    def used(self, tile: Tile) -> int:
        """The bytes of a tile's memory that are taken, a core's stack among them."""
        stack = self.stacks.get(tile, STACK) if kind_of_tile(tile, 0) is COMPUTE else 0
        return stack + sum(m.data.nbytes for m in self.memories.get(tile, ()))

    def places(self, tile: Tile) -> Mapping[Memory, int]:
        """Where each buffer of a tile lies, in bytes: as it is said, or one after another."""
        at = self.stacks.get(tile, STACK) if kind_of_tile(tile, 0) is COMPUTE else 0
        places = {}
        for memory in self.memories.get(tile, ()):
            places[memory] = self.addresses.get(memory, at)
            at = max(at, -(-(places[memory] + memory.data.nbytes) // 32) * 32)
        return places

    # What must hold of all of it

    def check(self) -> None:
        """AieFault where a tile has not room for what it is given."""
        for tile, memories in self.memories.items():
            kind, used = kind_of_tile(tile, 0), self.used(tile)
            if used > kind.memory:
                largest = max(memories, key=lambda m: m.data.nbytes)
                raise AieFault(
                    "memory",
                    f"tile {tile[0]}, {tile[1]} holds {used} bytes of {kind.memory}, the largest are "
                    f"{largest.data.nbytes} of {largest.name}",
                )
        for tile in self.tiles:
            self._check_descriptors(tile)

    def _check_descriptors(self, tile: Tile) -> None:
        kind = kind_of_tile(tile, 0)
        counts = [0, 0]
        for (owner, direction), channels in self.channels.items():
            if owner == tile:
                for channel in channels:
                    own = {id(d): d for d in channel.chain}
                    counts[channel.number % 2] += len(own)
                    for descriptor in own.values():
                        check_descriptor(descriptor, tile, direction)
        halves = kind.dims == 4  # memory tiles give half to the odd channels
        if (max(counts) > kind.descriptors // 2) if halves else (sum(counts) > kind.descriptors):
            raise AieFault(
                "descriptors",
                f"tile {tile[0]}, {tile[1]} takes {counts[0]} on even and {counts[1]} on odd "
                f"channels, a {kind.name} tile has {kind.descriptors}",
            )


def kind_of_tile(tile: Tile, line: int) -> Kind:
    """The kind of a tile of the array."""
    kind = kind_of(tile[1])
    if kind is None:
        raise AieFault("tile", f"there is no tile {tile[0]}, {tile[1]}", line=line)
    return kind
