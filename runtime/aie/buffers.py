"""Buffers in the DDR memory that an NPU's shims reach, each padded as its launches want it.

A module's transfers move whole tiles, so that a tensor lies padded with zeros: rows at its ends, and
elements at the ends of each row where tiles stick out there. Modules keep the zeros. Rows are appended
for a module that wants more of them; where modules want rows of different lengths the tensor is laid
out anew, through the host, which `traffic` shows. One row
lies alike for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.runtime.elements import Array, storage_dtype
from dslc.runtime.memory.buffer import Buffer, Memory, dense_copy


class _Storage:
    """A tensor's memory: `array` has the padded extents, `shape` are its own, from `origin` on."""

    def __init__(self, memory: Memory, dtype: str, shape: tuple[int, ...]) -> None:
        self.memory, self.shape = memory, shape
        self.origin = (0,) * len(shape)
        self.array: Array = np.zeros(shape, storage_dtype(dtype))

    @property
    def elements(self) -> Array:
        """The tensor without its padding."""
        ends = zip(self.origin, self.shape, strict=True)
        return self.array[tuple(slice(o, o + n) for o, n in ends)]

    def arrange(self, rows: int, inner: tuple[int, ...], origin: tuple[int, ...]) -> None:
        """Have so many rows at least from the first on, of these extents, and what lies ahead."""
        before, first = self.array, self.origin[0]
        alike = before.shape[1:] == inner and self.origin[1:] == origin[1:]
        if alike and before.shape[0] - first >= rows and first >= origin[0]:
            return
        if math.prod(self.shape[:-1]) == 1 and not any((*origin, *self.origin)):
            flat = np.zeros(max(before.size, rows * math.prod(inner)), before.dtype)
            flat[: before.size] = before.reshape(-1)
            whole = flat.size // math.prod(inner) * math.prod(inner)
            self.array = flat[:whole].reshape(-1, *inner)
            return
        own, moves = self.elements, not alike or origin[0] > first
        count = max(rows, before.shape[0] - first)
        self.origin = (max(first, origin[0]), *origin[1:])
        self.array = np.zeros((self.origin[0] + count, *inner), before.dtype)
        self.elements[...] = own
        if moves and before.any():
            bytes_ = math.prod(self.shape) * before.itemsize
            self.memory.traffic.read += bytes_
            self.memory.traffic.written += bytes_


class NpuBuffer(Buffer):
    """A tensor that the array reaches, or rows of one from `first` on."""

    def __init__(
        self, memory: Memory, dtype: str, shape: tuple[int, ...], storage: _Storage, first: int = 0
    ) -> None:
        super().__init__(memory, dtype, shape)
        self._storage, self._first = storage, first

    @property
    def argument(self) -> NpuBuffer:
        """Itself."""
        return self

    def rows(self, start: int, stop: int) -> NpuBuffer:
        """A view."""
        self._check_rows(start, stop)
        shape = (stop - start, *self.shape[1:])
        return NpuBuffer(self.memory, self.dtype, shape, self._storage, self._first + start)

    def shares_memory(self, other: NpuBuffer) -> bool:
        """Whether some element is in both."""
        if self._storage is not other._storage or 0 in (*self.shape, *other.shape):
            return False
        if not self.shape:
            return True
        starts, ends = zip(*((b._first, b._first + b.shape[0]) for b in (self, other)), strict=True)
        return bool(max(starts) < min(ends))

    def lying(self, shape: Sequence[int], origin: Sequence[int], needed: int, param: str) -> Array:
        """The elements of a padded shape, in place; those beyond `needed` rows may be anything.

        DSL0793 where the padding would reach into rows of the tensor that are not this buffer's.
        """
        if not shape:
            return self._storage.array
        ahead, last, whole = origin[0], self._first + self.shape[0], self._storage.shape[0]
        if (needed > self.shape[0] and last < whole) or (ahead and self._first):
            raise error(
                "DSL0793",
                f"{param}: the kernel moves {ahead + needed} rows, and this buffer is rows "
                f"{self._first} to {last} of {whole}",
                hint="take rows that its blocks divide, or a tensor of its own",
            )
        rows = shape[0] - ahead
        self._storage.arrange(self._first + rows, tuple(shape[1:]), tuple(origin))
        first = self._storage.origin[0] + self._first
        return self._storage.array[first - ahead : first + rows]

    @property
    def _own(self) -> Array:
        elements = self._storage.elements
        return elements[self._first : self._first + self.shape[0]] if self.shape else elements

    def _write(self, array: Array) -> None:
        self._own[...] = array

    def _read(self) -> Array:
        return dense_copy(self._own)


class NpuMemory(Memory):
    """The DDR memory of the simulated NPU."""

    def empty(self, shape: tuple[int, ...], dtype: str) -> NpuBuffer:
        """A tensor of zeros."""
        return NpuBuffer(self, dtype, tuple(shape), _Storage(self, dtype, tuple(shape)))
