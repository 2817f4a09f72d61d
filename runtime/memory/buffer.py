"""What a buffer of any machine can do."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.runtime.elements import Array, as_storage, storage_dtype


@dataclass(slots=True)
class Traffic:
    """Bytes that the host has moved: `written` to buffers, `read` from them."""

    written: int = 0
    read: int = 0


class Buffer(ABC):
    """A dense row-major tensor in a machine's memory: `dtype` is an element type's name (`bf16`)."""

    def __init__(self, memory: Memory, dtype: str, shape: tuple[int, ...]) -> None:
        self.memory, self.dtype, self.shape = memory, dtype, shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of its elements."""
        return math.prod(self.shape) * storage_dtype(self.dtype).itemsize

    @property
    @abstractmethod
    def argument(self) -> object:
        """What a launch takes."""

    @abstractmethod
    def rows(self, start: int, stop: int) -> Buffer:
        """The same memory's rows from `start` up to `stop`; DSL0792 beyond its own."""

    def write(self, array: Array) -> None:
        """Fill it from an array of its shape; DSL0752 and DSL0761 for another."""
        if tuple(array.shape) != self.shape:
            shapes = f"{list(self.shape)}, not {list(array.shape)}"
            raise error("DSL0752", f"a buffer of shape {shapes}, is written")
        stored = as_storage(array, self.dtype)
        if stored is None:
            raise error("DSL0761", f"a buffer of {self.dtype} is written from {array.dtype.name}")
        self._write(stored)
        self.memory.traffic.written += self.nbytes

    def read(self) -> Array:
        """Its elements as an array of the host's own."""
        self.memory.traffic.read += self.nbytes
        return self._read()

    @abstractmethod
    def _write(self, array: Array) -> None: ...

    @abstractmethod
    def _read(self) -> Array: ...

    def _check_rows(self, start: int, stop: int) -> None:
        if not self.shape or not 0 <= start <= stop <= self.shape[0]:
            text = f"rows {start} to {stop} of a buffer of shape {list(self.shape)}"
            raise error("DSL0792", text)

    def __repr__(self) -> str:
        return f"<buffer {self.dtype}{list(self.shape)}>"


class Memory(ABC):
    """A machine's memory, which gives out buffers; they are freed when nobody holds them."""

    def __init__(self) -> None:
        self.traffic = Traffic()

    @abstractmethod
    def empty(self, shape: tuple[int, ...], dtype: str) -> Buffer:
        """A new buffer of zeros."""

    def put(self, array: Array, dtype: str) -> Buffer:
        """A new buffer with a copy of an array's elements."""
        buffer = self.empty(tuple(array.shape), dtype)
        buffer.write(array)
        return buffer

    def hold(self, array: Array, dtype: str) -> Buffer:
        """A buffer with an array's elements that nobody writes: the array itself where that serves.

        A memory-mapped array is read from its file's pages straight into the buffer.
        """
        return self.put(array, dtype)

    def recorded(self, run: Callable[[object], None]) -> Callable[[], None]:
        """What `run(stream)` launches over buffers of this memory, to be launched again and again.

        Where the machine can, it is one dispatch from the second time on. `stream` is None where the
        machine has none.
        """
        return lambda: run(None)


def dense_copy(array: Array) -> Array:
    """An array of the host's own, row-major."""
    return np.array(array, order="C")
