"""On-chip memory of a turn: buffers of their own, or parts of one arena a place, once planned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from dslc.compiler.dtypes import packed_bytes, storage_dtype
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.interpreter.hazards.initialised import Initialised, Owned
from dslc.compiler.interpreter.tensors import PackedTensor, Tensor, garbage
from dslc.compiler.ir import Memory, Place


def buffer_bytes(memory: Memory, shape: tuple[int, ...]) -> int:
    """The bytes that a buffer takes: elements of fewer than 8 bits are packed."""
    return packed_bytes(int(np.prod(shape, dtype=np.int64)), memory.dtype.bits)


def byte_spans(memory: Memory, shape: tuple[int, ...]) -> tuple[Array, ...]:
    """For each byte of an element, where it lies in the arena: arrays of the buffer's shape."""
    assert memory.offset is not None
    bits = memory.dtype.bits
    first = np.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape) * bits
    if bits < 8:
        return memory.offset + first // 8, memory.offset + (first + bits - 1) // 8
    return tuple(memory.offset + first // 8 + byte for byte in range(bits // 8))


@dataclass(frozen=True, slots=True)
class Plan:
    """The planned buffers of a launch: the bytes of each place, and each buffer's bytes for checks."""

    sizes: Mapping[Place | None, int]
    spans: Mapping[Memory, tuple[Array, ...]]
    check: bool

    @classmethod
    def of(cls, buffers: Iterable[tuple[Memory, tuple[int, ...]]], check: bool) -> Plan:
        """The plan of a kernel's buffers and their shapes."""
        sizes: dict[Place | None, int] = {}
        spans: dict[Memory, tuple[Array, ...]] = {}
        for memory, shape in buffers:
            if memory.offset is not None:
                end = memory.offset + buffer_bytes(memory, shape)
                sizes[memory.place] = max(sizes.get(memory.place, 0), end)
                if check:
                    spans[memory] = byte_spans(memory, shape)
        return cls(sizes, spans, check)


@dataclass(slots=True)
class Arenas:
    """The bytes of each place in one turn, shared by the buffers that were planned into it.

    A buffer with an offset is a window on these bytes: a plan that lets two live buffers overlap
    corrupts their data here as it would on the machine: beginning to live writes nothing, so that only
    what is stored counts. Without an offset a buffer has bytes of its own.
    Nothing depends on a buffer's `layout`: it permutes the bytes within the buffer, which no
    instruction can see.
    """

    plan: Plan
    arenas: dict[Place | None, Array] = field(default_factory=dict)
    owners: dict[Place | None, Array] = field(default_factory=dict)

    def allocate(self, memory: Memory, shape: tuple[int, ...]) -> Tensor:
        """A buffer whose elements are undefined."""
        if memory.offset is None:
            tensor = Tensor(memory, garbage(memory.dtype, shape))
        else:
            tensor = self._planned(memory, shape)
        if self.plan.check:
            tensor.observers = (self._initialised(memory, shape),)
        return tensor

    def _planned(self, memory: Memory, shape: tuple[int, ...]) -> Tensor:
        place, dtype = memory.place, memory.dtype
        if place not in self.arenas:
            self.arenas[place] = np.full(self.plan.sizes[place], 0xFF, np.uint8)
        start = memory.offset or 0
        data = self.arenas[place][start : start + buffer_bytes(memory, shape)]
        if dtype.bits < 8:
            return PackedTensor(memory, np.empty(shape, storage_dtype(dtype)), data=data)
        return Tensor(memory, data.view(storage_dtype(dtype)).reshape(shape))

    def _initialised(self, memory: Memory, shape: tuple[int, ...]) -> Initialised:
        written = np.zeros(shape, np.bool_)
        if memory.offset is None:
            return Initialised(memory, written)
        if memory.place not in self.owners:
            size = self.plan.sizes[memory.place]
            self.owners[memory.place] = np.zeros(size, np.int32)
        number = list(self.plan.spans).index(memory) + 1
        return Owned(memory, written, self.owners[memory.place], self.plan.spans[memory], number)
