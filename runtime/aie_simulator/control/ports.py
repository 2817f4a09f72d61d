"""Control packets: what arrives at a tile's control port reads and writes its registers.

The first word of a packet is the address within the tile (20 bits), the number of words less one
(bits 20 and 21), the operation (22 and 23) and the number of the packet that answers a read (24 on),
with odd parity in bit 31 (AM020; mlir-aie's host programs make them so).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from dslc.runtime.aie_simulator.control.register_map import INSIDE
from dslc.runtime.aie_simulator.engine import Engine, Steps
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.machine import WORD
from dslc.runtime.aie_simulator.parts import Tile
from dslc.runtime.aie_simulator.streams import Port, Stream

Read = Callable[[Tile, int, int], int]
Write = Callable[[Tile, int, int, int], None]


@dataclass(slots=True, eq=False)
class ControlPort:
    """The control port of a tile: packets come by its `port`, answers go by its `streams`."""

    tile: Tile
    streams: dict[int, Stream] = field(default_factory=dict)
    port: Port | None = None
    line: int = 0

    @property
    def name(self) -> str:
        """Where it is."""
        return f"the control port of tile {self.tile[0]}, {self.tile[1]}"

    def process(self, engine: Engine, read: Read, write: Write, *, values: bool) -> Steps:
        """Take packets as they come; without values nobody knows what they ask for."""
        port = self.port
        while port is not None:
            yield from port.pull(engine, 1)
            (header,) = map(int, port.take(1))
            if not values:
                continue
            if header.bit_count() % 2 == 0:
                text = f"a control packet of even parity, {header:#010x}, comes to {self.name}"
                raise AieFault("packet", text, line=self.line)
            address, count = header & INSIDE, (header >> 20 & 3) + 1
            places = [address + number * WORD for number in range(count)]
            match header >> 22 & 3:
                case 0:
                    yield from port.pull(engine, count)
                    for at, value in zip(places, port.take(count), strict=True):
                        write(self.tile, at, int(value), self.line)
                case 1:
                    words = [read(self.tile, at, self.line) for at in places]
                    answer = self._answer(header >> 24 & 0x1F)
                    yield from answer.push(engine, np.array(words, np.uint32), None)
                case operation:
                    text = f"operation {operation} of a control packet is not known"
                    raise AieFault("register", text, line=self.line)

    def _answer(self, packet: int) -> Stream:
        if packet not in self.streams:
            text = f"{self.name} answers in packet {packet}, which leads nowhere"
            raise AieFault("packet", text, line=self.line)
        return self.streams[packet]
