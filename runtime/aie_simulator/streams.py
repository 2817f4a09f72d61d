"""Streams: from one DMA channel to one or more, by circuit or in packets."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from dslc.runtime.aie_simulator.engine import Engine, Signal, Steps
from dslc.runtime.aie_simulator.machine import PACKET_WORDS, STREAM_WORDS
from dslc.runtime.aie_simulator.parts import HostMemory, moving
from dslc.runtime.elements import Array


@dataclass(slots=True, eq=False)
class Port:
    """The end of streams at one consumer: words that are on the way, and how many more it wants.

    Packets of several streams come one after another: `holder` is the stream whose packet comes.
    """

    consumer: str
    queue: deque[Array] = field(default_factory=deque)
    queued: int = 0
    wanted: int = 0
    depth: int = STREAM_WORDS
    filled: Signal = field(init=False)
    room: Signal = field(init=False)
    free: Signal = field(init=False)
    holder: Stream | None = None

    def __post_init__(self) -> None:
        self.filled = Signal("words")
        self.room = Signal("room", (self.consumer,))
        self.free = Signal(f"the end of a packet to {self.consumer}", (self.consumer,))

    def pull(self, engine: Engine, count: int) -> Steps:
        """Wait for so many words."""
        self.wanted += count
        engine.notify(self.room)
        while self.queued < count:
            yield self.filled

    def take(self, count: int) -> Array:
        """The words that were pulled."""
        parts, rest = [], count
        while rest:
            part = self.queue.popleft()
            if len(part) > rest:
                self.queue.appendleft(part[rest:])
                part = part[:rest]
            parts.append(part)
            rest -= len(part)
        self.queued -= count
        self.wanted -= count
        return np.concatenate(parts) if len(parts) > 1 else parts[0]


class Terminal(Protocol):
    """An end of streams: it sends to `streams`, by the number of a packet, and receives by `port`."""

    streams: dict[int, Stream]
    port: Port | None
    line: int

    @property
    def name(self) -> str:
        """Where it is."""
        ...


class Stream:
    """From one DMA channel to one or more: the slowest consumer holds back all.

    A stream with a packet's number shares its ports with others: a transfer is one packet. Those that
    keep the header send it as the first word.
    """

    def __init__(
        self,
        name: str,
        producer: str,
        ports: tuple[Port, ...],
        packet: int | None = None,
        keeps_header: bool = False,
    ) -> None:
        self.name, self.packet, self.keeps_header = name, packet, keeps_header
        self.ports = tuple(sorted(ports, key=lambda p: p.consumer))
        for port in ports:
            port.filled.what = f"words from the stream {name}"
            port.filled.owners = (*port.filled.owners, producer)
            port.room.what = f"room in the stream {name}"
            if packet is not None:
                port.depth = PACKET_WORDS

    def push(self, engine: Engine, words: Array, host: HostMemory | None) -> Steps:
        """Send words, one a cycle, or as fast as the host's memory gives them."""
        if self.packet is not None:
            for port in self.ports:
                while port.holder is not None:
                    yield port.free
                port.holder = self
        at = 0
        while at < len(words):
            room = len(words)
            for port in self.ports:
                if (more := port.wanted + port.depth - port.queued) < room:
                    room, slowest = more, port
            if room <= 0:
                yield slowest.room
                continue
            part = words[at : at + room]
            yield from moving(len(part), host)
            for port in self.ports:
                port.queue.append(part)
                port.queued += len(part)
                engine.notify(port.filled)
            at += len(part)
        if self.packet is not None:
            self.leave(engine)

    def leave(self, engine: Engine) -> None:
        """Its packet has ended: others may use the ports."""
        for port in self.ports:
            if port.holder is self:
                port.holder = None
                engine.notify(port.free)
