"""The memory of a run: buffers at addresses of their own, so that pointers are numbers.

Buffers are far apart: an address that is past the end of one is in none.
"""

from __future__ import annotations

import bisect

import numpy as np
from dslc.compiler.dtypes import storage_dtype
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.vector.evaluation import from_bits
from dslc.compiler.vector.faults import VectorFault
from dslc.compiler.vector.types import PointerType, Type, memory_bytes

_GAP = 1 << 16
_FIRST = 1 << 32


class Memory:
    """Bytes by their addresses."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._buffers: list[Array] = []
        self._next = _FIRST

    def add(self, buffer: Array, align: int = 64) -> int:
        """The address of a buffer, a one-dimensional array of uint8 that accesses read and write."""
        start = -(-self._next // align) * align
        self._starts.append(start)
        self._buffers.append(buffer)
        self._next = start + len(buffer) + _GAP
        return start

    def _at(self, addresses: Array, size: int) -> tuple[Array, Array]:
        """The buffer that holds `size` bytes from each address on, and their positions in it."""
        number = bisect.bisect_right(self._starts, int(addresses.min())) - 1
        buffer = self._buffers[max(number, 0)]
        places = addresses - self._starts[max(number, 0)]
        if number < 0 or places.max() + size > len(buffer) or places.min() < 0:
            raise VectorFault("an access outside memory")
        return buffer, places[:, None] + np.arange(size)

    def read(self, addresses: Array, type_: Type) -> Array:
        """The elements at these addresses, as a storage array; pointers are int64."""
        size = memory_bytes(type_)
        if not len(addresses):
            return np.zeros(0, _storage(type_))
        buffer, places = self._at(addresses, size)
        raw = np.ascontiguousarray(buffer[places]).reshape(-1)
        if isinstance(type_, PointerType):
            return raw.view(np.int64)
        return from_bits(raw.view(f"u{size}"), type_.dtype)

    def write(self, addresses: Array, codes: Array, type_: Type) -> None:
        """Elements of a storage array to these addresses, the first first."""
        size = memory_bytes(type_)
        if not len(addresses):
            return
        buffer, places = self._at(addresses, size)
        if not buffer.flags.writeable:
            raise VectorFault("a store to constant memory")
        raw = np.ascontiguousarray(codes).reshape(-1, 1).view(np.uint8)
        for place, row in zip(places, raw, strict=True):
            buffer[place] = row

    def read_bytes(self, address: int, size: int) -> Array:
        """So many bytes."""
        buffer, places = self._at(np.asarray([address]), size)
        return np.asarray(buffer[places[0]])

    def write_bytes(self, address: int, content: Array) -> None:
        """These bytes from the address on."""
        buffer, places = self._at(np.asarray([address]), len(content))
        buffer[places[0]] = content


def _storage(type_: Type) -> np.dtype[np.generic]:
    return np.dtype(np.int64) if isinstance(type_, PointerType) else storage_dtype(type_.dtype)
