"""Buffers of machines that read the host's own memory: CPUs, the interpreter, simulators."""

from __future__ import annotations

import numpy as np
from dslc.runtime.elements import Array, as_storage, storage_dtype
from dslc.runtime.memory.buffer import Buffer, Memory, dense_copy


class HostBuffer(Buffer):
    """An array."""

    def __init__(self, memory: Memory, dtype: str, array: Array) -> None:
        super().__init__(memory, dtype, tuple(array.shape))
        self._array = array

    @property
    def argument(self) -> Array:
        """The array."""
        return self._array

    def rows(self, start: int, stop: int) -> HostBuffer:
        """A view."""
        self._check_rows(start, stop)
        return HostBuffer(self.memory, self.dtype, self._array[start:stop])

    def _write(self, array: Array) -> None:
        self._array[...] = array

    def _read(self) -> Array:
        return dense_copy(self._array)


class HostMemory(Memory):
    """The host's memory: what is held is not copied."""

    def empty(self, shape: tuple[int, ...], dtype: str) -> HostBuffer:
        """An array of zeros."""
        return HostBuffer(self, dtype, np.zeros(shape, storage_dtype(dtype)))

    def hold(self, array: Array, dtype: str) -> Buffer:
        """The array itself, if it is row-major and of the dtype."""
        stored = as_storage(array, dtype)
        if stored is None or not stored.flags.c_contiguous:
            return self.put(array, dtype)
        return HostBuffer(self, dtype, stored)
