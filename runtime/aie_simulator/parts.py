"""Parts of the array: memories, locks and streams, with what goes wrong in them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from dslc.runtime.aie_simulator.engine import Engine, Signal, Steps
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.machine import CASCADE_DEPTH, LOCK_MOST, WORD
from dslc.runtime.elements import Array, storage_dtype

TYPES = {
    "bf16": "bf16",
    "f32": "f32",
    "i1": "bool",
    "i8": "i8",
    "i16": "i16",
    "i32": "i32",
    "index": "i64",
    "i64": "i64",
    "ui8": "u8",
    "ui16": "u16",
    "ui32": "u32",
    "f16": "f16",
}
Tile = tuple[int, int]


def element_type(kind: str, line: int) -> np.dtype[Any]:
    """The NumPy type of a memref's elements."""
    if kind not in TYPES:
        raise AieFault("operation", f"elements of {kind}", line=line)
    return storage_dtype(TYPES[kind])


class Memory:
    """A flat memory: a buffer of a tile, or the host's array behind an argument.

    `unwritten` counts the elements that were not written yet; reads of those are faults. bf16 is
    computed with as f32.
    """

    def __init__(
        self, name: str, kind: str, data: Array, written: bool = False, tile: Tile | None = None
    ) -> None:
        self.name, self.kind, self.data, self.tile = name, kind, data, tile
        self.wide = np.dtype(np.float32) if kind == "bf16" else data.dtype
        self.count = len(data)
        self.mask = np.broadcast_to(True, (self.count,)) if written else np.zeros(self.count, bool)
        self.unwritten = 0 if written else self.count

    def begin(self) -> None:
        """From here on nothing of it is written."""
        self.mask[:] = False
        self.unwritten = self.count

    def forget(self, blank: Array) -> None:
        """The elements that are marked hold nothing yet."""
        self.mask = ~blank
        self.unwritten = int(np.count_nonzero(blank))

    def check(self, low: int, high: int, line: int) -> None:
        """Elements from `low` up to `high` may be read."""
        if low < 0 or high > self.count:
            raise AieFault(
                "bounds",
                f"elements {low} to {high - 1} of {self.name}, which has {self.count}",
                line=line,
            )
        if self.unwritten and not self.mask[low:high].all():
            at = low + int(np.argmin(self.mask[low:high]))
            raise AieFault("unwritten", f"element {at} of {self.name} is read", line=line)

    def load(self, at: int, lanes: int, line: int) -> Any:
        """A vector."""
        self.check(at, at + lanes, line)
        return self.data[at : at + lanes].astype(self.wide)

    def get(self, at: int, line: int) -> Any:
        """A scalar."""
        self.check(at, at + 1, line)
        return self.wide.type(self.data[at])

    def store(self, value: Any, at: int, lanes: int, line: int) -> None:
        """A vector, or a scalar for one lane."""
        if at < 0 or at + lanes > self.count:
            raise AieFault(
                "bounds",
                f"elements {at} to {at + lanes - 1} of {self.name}, which has {self.count}",
                line=line,
            )
        self.data[at : at + lanes] = value
        if self.unwritten:
            part = self.mask[at : at + lanes]
            self.unwritten -= lanes - int(np.count_nonzero(part))
            part[:] = True

    def mark(self, places: Array) -> None:
        """Elements are written by a DMA."""
        if self.unwritten:
            self.mask[places] = True
            self.unwritten = self.count - int(np.count_nonzero(self.mask))


class View(Memory):
    """Bytes of a memory as elements of another type: what is written there is known to the memory."""

    def __init__(self, memory: Memory, at: int, count: int, kind: str, line: int) -> None:
        dtype = element_type(kind, line)
        width = memory.data.dtype.itemsize
        size = count * dtype.itemsize
        if at < 0 or at % dtype.itemsize or (at + size) > memory.count * width:
            raise AieFault(
                "bounds",
                f"{size} bytes from byte {at} of {memory.name}, which has {memory.count * width}",
                line=line,
            )
        super().__init__(
            memory.name, kind, memory.data.view(np.uint8)[at : at + size].view(dtype), True
        )
        self._memory, self._at, self._width = memory, at, width

    @property
    def is_partly_written(self) -> bool:
        """Whether the memory behind it holds elements that were not written yet."""
        return self._memory.unwritten > 0

    def check(self, low: int, high: int, line: int) -> None:
        """Elements from `low` up to `high` may be read."""
        super().check(low, high, line)
        first, last = (self._at + n * self.data.dtype.itemsize for n in (low, high))
        self._memory.check(first // self._width, -(-last // self._width), line)

    def holds(self, places: Array) -> bool:
        """Whether all that is at places was written."""
        size = self.data.dtype.itemsize
        first, last = ((self._at + (places + n) * size - n) // self._width for n in (0, 1))
        return bool(self._memory.mask[first].all() and self._memory.mask[last].all())

    def store(self, value: Any, at: int, lanes: int, line: int) -> None:
        """A vector, or a scalar for one lane."""
        super().store(value, at, lanes, line)
        first, last = (self._at + n * self.data.dtype.itemsize for n in (at, at + lanes))
        self._memory.mark(np.arange(first // self._width, -(-last // self._width)))

    def mark(self, places: Array) -> None:
        """Elements are written by a DMA or a function."""
        width = self.data.dtype.itemsize
        first, last = (
            self._at + int(places.min()) * width,
            self._at + (int(places.max()) + 1) * width,
        )
        self._memory.mark(np.arange(first // self._width, -(-last // self._width)))


@dataclass(slots=True, eq=False)
class Lock:
    """A semaphore of a tile."""

    tile: Tile
    name: str
    value: int
    number: int | None = None
    signal: Signal = field(init=False)
    initial: int = field(init=False)

    def __post_init__(self) -> None:
        self.signal = Signal(f"lock {self.name}")
        self.initial = self.value

    def acquire(self, amount: int, *, equal: bool = False) -> Steps:
        """Wait until the value is at least (or exactly) the amount, and subtract it."""
        while (self.value != amount) if equal else (self.value < amount):
            self.signal.what = f"lock {self.name} (now {self.value}, wanted {amount})"
            yield self.signal
        self.value -= amount

    def release(self, engine: Engine, amount: int) -> None:
        """Add to the value."""
        self.value += amount
        if not 0 <= self.value <= LOCK_MOST:
            raise AieFault("lock-value", f"lock {self.name} comes to {self.value}")
        engine.notify(self.signal)

    def set(self, engine: Engine, value: int) -> None:
        """The host writes the value."""
        self.value = 0
        self.release(engine, value)


@dataclass(slots=True, eq=False)
class Cascade:
    """The stream from a core to its neighbour: few vectors wait in it."""

    source: Tile
    target: Tile
    queue: deque[bytes] = field(default_factory=deque)
    room: Signal = field(init=False)
    filled: Signal = field(init=False)

    def __post_init__(self) -> None:
        ends = [f"core {t[0]}, {t[1]}" for t in (self.source, self.target)]
        self.room = Signal(f"room in {self.name}", (ends[1],))
        self.filled = Signal(f"a vector of {self.name}", (ends[0],))

    @property
    def name(self) -> str:
        """Where it leads."""
        return f"the cascade from core {self.source[0]}, {self.source[1]}"

    def put(self, engine: Engine, vector: bytes) -> Steps:
        """Send a vector, when there is room."""
        while len(self.queue) >= CASCADE_DEPTH:
            yield self.room
        self.queue.append(vector)
        engine.notify(self.filled)

    def get(self, engine: Engine) -> Steps:
        """Wait for a vector, which is the first of the queue then."""
        while not self.queue:
            yield self.filled
        engine.notify(self.room)


@dataclass(slots=True, eq=False)
class HostMemory:
    """The host's memory: the channels that use it at one time share its rate."""

    rate: float  # bytes a cycle
    active: int = 0

    @property
    def cycles(self) -> float:
        """Cycles that a word takes one of the channels now."""
        return max(1.0, WORD * self.active / self.rate)


def moving(words: int, host: HostMemory | None) -> Steps:
    """The time in which words pass."""
    if host is None:
        yield float(words)
        return
    host.active += 1
    yield words * host.cycles
    host.active -= 1
