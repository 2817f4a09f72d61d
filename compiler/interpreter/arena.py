"""On-chip memory of a turn: buffers of their own, or parts of one arena a place, once planned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from dslc.compiler.dtypes import BOOL, packed_bytes, storage_dtype
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.interpreter.tensors import PackedTensor, Tensor, garbage
from dslc.compiler.ir import Memory, Place


def buffer_bytes(memory: Memory, shape: tuple[int, ...]) -> int:
    """The bytes that a buffer takes: elements of fewer than 8 bits are packed."""
    count = int(np.prod(shape, dtype=np.int64))
    width = memory.dtype.bits
    return packed_bytes(count, width) if width < 8 else count * width // 8


def arena_sizes(buffers: Iterable[tuple[Memory, tuple[int, ...]]]) -> dict[Place | None, int]:
    """The bytes of each place that planned buffers reach."""
    sizes: dict[Place | None, int] = {}
    for memory, shape in buffers:
        if memory.offset is not None:
            end = memory.offset + buffer_bytes(memory, shape)
            sizes[memory.place] = max(sizes.get(memory.place, 0), end)
    return sizes


@dataclass(slots=True)
class Arenas:
    """The bytes of each place, shared by the buffers that were planned into it.

    A buffer with an offset is a window on these bytes: a plan that lets two live buffers overlap
    corrupts their data here as it would on the machine.
    """

    sizes: Mapping[Place | None, int]
    arenas: dict[Place | None, Array] = field(default_factory=dict)

    def allocate(self, memory: Memory, shape: tuple[int, ...]) -> Tensor:
        """A buffer whose elements are undefined."""
        if memory.offset is None:
            return Tensor(memory, garbage(memory.dtype, shape))
        if memory.place not in self.arenas:
            self.arenas[memory.place] = np.empty(self.sizes[memory.place], np.uint8)
        start, size = memory.offset, buffer_bytes(memory, shape)
        data = self.arenas[memory.place][start : start + size]
        data[:] = 1 if memory.dtype == BOOL else 0xFF
        if memory.dtype.bits < 8:
            return PackedTensor(memory, np.empty(shape, storage_dtype(memory.dtype)), data=data)
        return Tensor(memory, data.view(storage_dtype(memory.dtype)).reshape(shape))
