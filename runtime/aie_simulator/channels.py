"""DMA channels: tasks one after another, each a chain of buffer descriptors."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from dslc.runtime.aie_simulator.descriptors import Descriptor
from dslc.runtime.aie_simulator.engine import Engine, Signal, Steps
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.machine import QUEUE, WORD
from dslc.runtime.aie_simulator.parts import HostMemory, Tile, View, moving
from dslc.runtime.aie_simulator.streams import Port, Stream

CIRCUIT = -1  # the key of a channel's stream that is no packet stream


@dataclass(slots=True, eq=False)
class Task:
    """A chain of descriptors, run `runs` times; with `back` its end goes on there for ever.

    The host's tasks say whether they tell of their end by a token.
    """

    chain: Sequence[Descriptor]
    runs: int = 1
    back: int | None = None
    token: bool = False
    ended: bool = False
    line: int = 0


@dataclass(slots=True, eq=False)
class Channel:
    """One direction of a tile's DMA.

    `chain` are the descriptors that its device declares, by tasks `declared`. What it sends goes to one
    of its `streams`, by the number of the packet; what it receives comes by its `port`.
    """

    tile: Tile
    direction: str
    number: int
    chain: list[Descriptor] = field(default_factory=list)
    declared: list[tuple[list[Descriptor], int | None]] = field(default_factory=list)
    streams: dict[int, Stream] = field(default_factory=dict)
    port: Port | None = None
    tasks: deque[Task] = field(default_factory=deque)
    pushed: Signal = field(init=False)
    tokens: int = 0
    told: Signal = field(init=False)
    moved: int = 0
    values: bool = True
    host: HostMemory | None = None  # of a shim's
    line: int = 0
    traced: bool = False  # only traces come here, which nobody sends
    opened: Signal | None = None  # that its way into the switch is open again
    room: Signal = field(init=False)

    def __post_init__(self) -> None:
        self.pushed = Signal(f"a task for {self.name}", ("the host",))
        self.told = Signal(f"a token of {self.name}", (self.name,))
        self.room = Signal(f"a place in the queue of {self.name}", (self.name,))

    @property
    def name(self) -> str:
        """Where it is."""
        return f"{self.direction} {self.number} of tile {self.tile[0]}, {self.tile[1]}"

    @property
    def is_endless(self) -> bool:
        """Whether what it was declared to do has no end."""
        return any(t.back is not None for t in self.tasks)

    def declare(self, chain: list[Descriptor], runs: int = 1, back: int | None = 0) -> None:
        """A task that begins with the device."""
        self.chain += chain
        self.declared.append((chain, back))
        self.tasks.append(Task(chain, runs, back))

    def process(self, engine: Engine) -> Steps:
        """Run tasks as they come."""
        while True:
            while not self.tasks:
                yield self.pushed
            task = self.tasks[0]
            yield from self._run(engine, task)
            self.tasks.popleft()
            engine.notify(self.room)
            task.ended = True
            if task.token:
                self.tokens += 1
                engine.notify(self.told)

    def _run(self, engine: Engine, task: Task) -> Steps:
        for _ in range(task.runs):
            for descriptor in task.chain:
                yield from self.transfer(engine, descriptor)
        while task.back is not None:
            for descriptor in task.chain[task.back :]:
                yield from self.transfer(engine, descriptor)

    def transfer(self, engine: Engine, descriptor: Descriptor) -> Steps:
        """One descriptor from lock to lock."""
        if descriptor.acquire is not None:
            lock, amount, equal = descriptor.acquire
            yield from lock.acquire(amount, equal=equal)
        memory = descriptor.memory
        width = memory.data.dtype.itemsize
        if not self.values:
            yield from self._pass(engine, descriptor.count * width // WORD, descriptor)
            self._release(engine, descriptor)
            return
        places = descriptor.words()
        count = len(places) * width // WORD
        if self.direction == "MM2S":
            if memory.unwritten and not memory.mask[places].all():
                self._refuse_unwritten(descriptor)
            if isinstance(memory, View) and not memory.holds(descriptor.sources()):
                text = f"{self.name} sends what {memory.name} does not hold yet"
                raise AieFault("unwritten", text, line=descriptor.line)
            words = descriptor.gathered()
            stream = self._stream(descriptor)
            while self.opened is not None:
                yield self.opened
            if stream.keeps_header:
                words = np.concatenate([np.array([descriptor.header], np.uint32), words])
            yield from stream.push(engine, words, self.host)
        else:
            port = self._inlet(descriptor)
            yield from port.pull(engine, count)
            words = port.take(count)
            memory.data[places] = words.view(memory.data.dtype)
            memory.mark(places)
            yield from self._written(count)
        self.moved += count
        self._release(engine, descriptor)

    def _refuse_unwritten(self, descriptor: Descriptor) -> None:
        memory, places = descriptor.memory, descriptor.sources()
        if not memory.mask[places].all():
            at = int(places[int(np.argmin(memory.mask[places]))])
            text = f"{self.name} sends element {at} of {memory.name}"
            raise AieFault("unwritten", text, line=descriptor.line)

    def _stream(self, descriptor: Descriptor) -> Stream:
        key = CIRCUIT if descriptor.packet is None else descriptor.packet
        if key not in self.streams:
            what = f"{self.name} leads nowhere"
            if self.streams:
                what += " with" + ("out a packet" if key == CIRCUIT else f" packet {key}")
            raise AieFault("symbol", what, line=descriptor.line)
        return self.streams[key]

    def _inlet(self, descriptor: Descriptor) -> Port:
        if self.port is None:
            raise AieFault("symbol", f"{self.name} leads nowhere", line=descriptor.line)
        return self.port

    def _pass(self, engine: Engine, count: int, descriptor: Descriptor) -> Steps:
        """So many words without their values."""
        if self.direction == "MM2S":
            stream = self._stream(descriptor)
            blank = np.broadcast_to(np.uint32(0), (count + stream.keeps_header,))
            yield from stream.push(engine, blank, self.host)
        else:
            port = self._inlet(descriptor)
            yield from port.pull(engine, count)
            port.take(count)
            yield from self._written(count)
        self.moved += count

    def _written(self, count: int) -> Steps:
        """Into the host's memory the words go as it takes them, after they came."""
        if self.host is not None:
            yield from moving(count, self.host)

    @staticmethod
    def _release(engine: Engine, descriptor: Descriptor) -> None:
        descriptor.next_turn()
        if descriptor.release is not None:
            descriptor.release[0].release(engine, descriptor.release[1])

    def open(self, engine: Engine, *, is_open: bool) -> None:
        """Its way into the stream switch is opened or shut."""
        if not is_open:
            self.opened = self.opened or Signal(f"the switch to take {self.name}", ("the host",))
        elif self.opened is not None:
            engine.notify(self.opened)
            self.opened = None

    def forget(self, engine: Engine) -> None:
        """All tasks are gone, and packets that were under way have ended."""
        for task in self.tasks:
            task.ended = True
        self.tasks.clear()
        engine.notify(self.room)
        for stream in self.streams.values():
            stream.leave(engine)

    def push(self, engine: Engine, task: Task, line: int) -> None:
        """A task of the host; the hardware would drop one that finds the queue full."""
        if self.traced:
            task.ended = True
            return
        if len(self.tasks) >= QUEUE:
            raise AieFault("queue", f"a fifth task is pushed to {self.name}", line=line)
        self.tasks.append(task)
        engine.notify(self.pushed)
