"""DMA channels: buffer descriptors one after another, words gathered and scattered by loops."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np
from dslc.runtime.aie_simulator.engine import Engine, Signal, Steps
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.machine import (
    ITERATIONS,
    QUEUE,
    REPEATS,
    WORD,
    kind_of,
)
from dslc.runtime.aie_simulator.parts import HostMemory, Lock, Memory, Stream, Tile, moving
from dslc.runtime.elements import Array

Loops = tuple[tuple[int, int], ...]


@dataclass(slots=True, eq=False)
class Descriptor:
    """One transfer: `length` elements of a memory from `offset` on, by loops (size, stride) of
    elements.

    It waits for a lock before and releases one after.
    """

    memory: Memory
    offset: int
    length: int
    loops: Loops = ()
    acquire: tuple[Lock, int] | None = None
    release: tuple[Lock, int] | None = None
    line: int = 0
    places: Array | None = None

    @property
    def count(self) -> int:
        """The elements that it moves."""
        return math.prod(n for n, _ in self.loops) if self.loops else self.length

    def words(self) -> Array:
        """The elements in the order in which they go, as indices into the memory."""
        if self.places is None:
            self.places = addresses(self.offset, self.loops or ((self.length, 1),))
            low, high = int(self.places.min()), int(self.places.max())
            if low < 0 or high >= self.memory.count:
                raise AieFault(
                    "bounds",
                    f"a DMA touches element {low if low < 0 else high} of {self.memory.name}, "
                    f"which has "
                    f"{self.memory.count}",
                    line=self.line,
                )
        return self.places


def addresses(offset: int, loops: Loops) -> Array:
    """The numbers of the elements that loops pass, outermost first."""
    found = np.array([offset], np.int64)
    for size, stride in loops:
        found = (found[:, None] + np.arange(size) * stride).reshape(-1)
    return found


@dataclass(slots=True, eq=False)
class HostTask:
    """What the host pushed: a descriptor by its number, run `repeats` times, and whether it tells."""

    descriptor: Descriptor
    number: int
    token: bool
    ended: bool = False


@dataclass(slots=True, eq=False)
class Channel:
    """One direction of a tile's DMA. `chain` repeats for ever; a shim's takes tasks from the host."""

    tile: Tile
    direction: str
    number: int
    chain: list[Descriptor] = field(default_factory=list)
    stream: Stream | None = None
    tasks: deque[HostTask] = field(default_factory=deque)
    pushed: Signal = field(init=False)
    tokens: int = 0
    told: Signal = field(init=False)
    moved: int = 0
    values: bool = True
    host: HostMemory | None = None  # of a shim's
    line: int = 0

    def __post_init__(self) -> None:
        self.pushed = Signal(f"a task for {self.name}", ("the host",))
        self.told = Signal(f"a token of {self.name}", (self.name,))

    @property
    def name(self) -> str:
        """Where it is."""
        return f"{self.direction} {self.number} of tile {self.tile[0]}, {self.tile[1]}"

    def process(self, engine: Engine) -> Steps:
        """Run descriptors, those of the chain or of tasks."""
        if self.chain:
            while True:
                for descriptor in self.chain:
                    yield from self.transfer(engine, descriptor)
        while True:
            while not self.tasks:
                yield self.pushed
            task = self.tasks[0]
            yield from self.transfer(engine, task.descriptor)
            self.tasks.popleft()
            task.ended = True
            if task.token:
                self.tokens += 1
                engine.notify(self.told)

    def transfer(self, engine: Engine, descriptor: Descriptor) -> Steps:
        """One descriptor from lock to lock."""
        if descriptor.acquire is not None:
            yield from descriptor.acquire[0].acquire(descriptor.acquire[1])
        if self.stream is None:
            raise AieFault("symbol", f"{self.name} leads nowhere", line=descriptor.line)
        memory = descriptor.memory
        width = memory.data.dtype.itemsize
        if not self.values:
            yield from self._pass(engine, descriptor.count * width // WORD)
            self._release(engine, descriptor)
            return
        places = descriptor.words()
        count = len(places) * width // WORD
        if self.direction == "MM2S":
            if memory.unwritten and not memory.mask[places].all():
                at = int(places[int(np.argmin(memory.mask[places]))])
                raise AieFault(
                    "unwritten",
                    f"{self.name} sends element {at} of {memory.name}",
                    line=descriptor.line,
                )
            words = np.ascontiguousarray(memory.data[places]).view(np.uint32)
            yield from self.stream.push(engine, words, self.host)
        else:
            yield from self.stream.pull(engine, self.name, count)
            words = self.stream.take(self.name, count)
            memory.data[places] = words.view(memory.data.dtype)
            memory.mark(places)
            yield from self._written(count)
        self.moved += count
        self._release(engine, descriptor)

    def _pass(self, engine: Engine, count: int) -> Steps:
        """So many words without their values."""
        assert self.stream is not None
        if self.direction == "MM2S":
            blank = np.broadcast_to(np.uint32(0), (count,))
            yield from self.stream.push(engine, blank, self.host)
        else:
            yield from self.stream.pull(engine, self.name, count)
            self.stream.take(self.name, count)
            yield from self._written(count)
        self.moved += count

    def _written(self, count: int) -> Steps:
        """Into the host's memory the words go as it takes them, after they came."""
        if self.host is not None:
            yield from moving(count, self.host)

    @staticmethod
    def _release(engine: Engine, descriptor: Descriptor) -> None:
        if descriptor.release is not None:
            descriptor.release[0].release(engine, descriptor.release[1])

    def push(self, engine: Engine, task: HostTask, line: int) -> None:
        """A task of the host; the hardware would drop one that finds the queue full."""
        if len(self.tasks) >= QUEUE:
            raise AieFault("queue", f"a fifth task is pushed to {self.name}", line=line)
        self.tasks.append(task)
        engine.notify(self.pushed)


def check_descriptor(descriptor: Descriptor, row: int, *, task: bool = False) -> None:
    """AieFault for what a descriptor of a tile cannot say. A task's first loop is its iteration."""
    kind = kind_of(row)
    assert kind is not None
    width = descriptor.memory.data.dtype.itemsize
    loops = descriptor.loops
    line = descriptor.line

    def refuse(rule: str, message: str) -> None:
        raise AieFault(rule, f"{message} ({descriptor.memory.name})", line=line)

    if task and loops:
        (count, step), *rest = loops
        if count > (ITERATIONS if step else REPEATS) or step < 0:
            refuse("iteration", f"{count} times, {step} elements on")
        if step * width % WORD:
            refuse("word", f"an iteration of {step * width} bytes")
        if step * width // WORD > kind.step:
            refuse("step", f"an iteration of {step * width // WORD} words")
        loops = tuple(rest)
    total = math.prod(size for size, _ in loops) if loops else descriptor.length
    if descriptor.loops and not task and total != descriptor.length:
        refuse("length", f"{descriptor.length} elements by loops of {total}")
    if total * width % WORD or descriptor.offset * width % WORD:
        refuse("word", f"{total} elements of {width} bytes from element {descriptor.offset}")
    if not 1 <= total * width // WORD <= kind.length:
        refuse("length", f"{total * width // WORD} words")
    own = [loop for number, loop in enumerate(loops) if loop[0] > 1 or number == len(loops) - 1]
    if len(own) > kind.dims:
        refuse("dims", f"{len(own)} dimensions")
    if len(own) > 1 or (own and own[0][1] != 1):
        _check_loops(own, width, kind.wrap, kind.step, refuse)


def _check_loops(
    own: list[tuple[int, int]], width: int, wrap: int, most: int, refuse: object
) -> None:
    assert callable(refuse)
    for number, (size, stride) in enumerate(own):
        inner = number == len(own) - 1
        if stride < 1:
            refuse("step", f"a stride of {stride}")
        if inner and width < WORD and (stride != 1 or size * width % WORD):
            refuse("word", f"an innermost run of {size} elements of {width} bytes, stride {stride}")
        if not inner and stride * width % WORD:
            refuse("word", f"a stride of {stride * width} bytes")
        steps = size * width // WORD if inner and width < WORD else size
        if steps > wrap:
            refuse("wrap", f"{steps} steps")
        if stride * width // WORD > most:
            refuse("step", f"a stride of {stride * width // WORD} words")
