"""Memories at run time: codes in storage, with observers that check each access."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from dslc.compiler.dtypes import (
    BOOL,
    DType,
    Kind,
    decode,
    pack_bits,
    storage_dtype,
    unpack_bits,
)
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.interpreter.hazards.observers import Observer
from dslc.compiler.interpreter.scope import Site
from dslc.compiler.interpreter.windows import Index, Window
from dslc.compiler.ir import Memory
from numpy.lib.stride_tricks import as_strided

if TYPE_CHECKING:
    from dslc.compiler.interpreter.turn import Turn


@dataclass(slots=True)
class Tensor:
    """A memory's elements: `codes` in storage form, of the memory's shape.

    `frozen` says that nothing writes the array during the launch, so that tiles may share it.
    `published` is what turns have released at elements (see `clocks`).
    """

    memory: Memory
    codes: Array
    frozen: bool = False
    observers: tuple[Observer, ...] = ()
    published: dict[tuple[int, ...], dict[int, int]] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the axes."""
        return tuple(self.codes.shape)

    def view(
        self, memory: Memory, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> Tensor:
        """A tensor of some of the elements, which knows what was written of them."""
        observers = tuple(
            x
            for o in self.observers
            if self.memory.strides is None and (x := o.of_view(memory, offset, shape, strides))
        )
        return Tensor(memory, strided(self.codes, offset, shape, strides), observers=observers)

    def get(self, index: Index) -> Array:
        """The codes at an index; a copy unless the tensor is frozen."""
        codes = self.codes[index]
        if self.frozen or not isinstance(codes, np.ndarray) or codes.base is None:
            return np.asarray(codes)
        return codes.copy()

    def put(self, index: Index, codes: Array) -> None:
        """Set the codes at an index."""
        self.codes[index] = codes

    def read(self, turn: Turn, window: Window, site: Site) -> Array:
        """The codes in the window; not for an empty one."""
        for observer in self.observers:
            observer.read(turn, window, site)
        return self.get(window.index)

    def write(self, turn: Turn, window: Window, codes: Array, site: Site) -> None:
        """Codes in the shape of the window's part in bounds."""
        for observer in self.observers:
            observer.write(turn, window, site)
        self.put(window.index, codes)

    def update(
        self, turn: Turn, window: Window, change: Callable[[Array], Array], site: Site
    ) -> Array:
        """Replace the codes by `change` of them, atomically; gives what stood there before."""
        for observer in self.observers:
            observer.update(turn, window, site)
        before = self.get(window.index)
        self.put(window.index, change(before))
        return before

    def synchronise(self, turn: Turn, window: Window, acquire: bool, release: bool) -> None:
        """Order turns through the window's element; a window of several orders nothing."""
        element = window.only
        if element is None:
            return
        published = self.published.setdefault(element, {})
        if acquire:
            turn.clock.acquire(published)
        if release:
            turn.clock.release(published)


@dataclass(slots=True)
class PackedTensor(Tensor):
    """Codes of fewer than 8 bits kept as compact bits in `data`; `codes` only gives the shape."""

    data: Array = field(kw_only=True)

    def get(self, index: Index) -> Array:
        """The codes at an index, a copy."""
        return np.asarray(self._unpacked()[index])

    def put(self, index: Index, codes: Array) -> None:
        """Set the codes at an index; everything is unpacked and packed for it."""
        everything = self._unpacked()
        everything[index] = codes
        self.data[:] = pack_bits(everything, self.memory.dtype.bits)

    def _unpacked(self) -> Array:
        dtype = self.memory.dtype
        return unpack_codes(self.data, dtype, self.codes.shape)


def unpack_codes(data: Array, dtype: DType, shape: tuple[int, ...]) -> Array:
    """The storage array of compact bits."""
    count = int(np.prod(shape, dtype=np.int64))
    return unpack_bits(data, dtype.bits, count, dtype.kind is Kind.INT).reshape(shape)


def strided(array: Array, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """The elements of an array that lie so, counted in elements from its first."""
    if 0 in shape:
        return np.empty(shape, array.dtype)
    last = sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True))
    size = array.itemsize
    flat = as_strided(array, (last // size + 1,), (size,))
    return as_strided(flat[offset:], shape, tuple(s * size for s in strides))


def garbage(dtype: DType, shape: tuple[int, ...]) -> Array:
    """Codes of all ones, what undefined elements hold: NaN, -1 or the greatest number."""
    storage = storage_dtype(dtype)
    if dtype == BOOL or dtype.bits < 8:
        ones = -1 if dtype.kind is Kind.INT else (1 << dtype.bits) - 1
        return np.full(shape, True if dtype == BOOL else ones, storage)
    count = int(np.prod(shape, dtype=np.int64))
    return np.full(count * storage.itemsize, 0xFF, np.uint8).view(storage).reshape(shape)


def undefined_values(dtype: DType, shape: tuple[int, ...]) -> Array:
    """A tile of undefined elements."""
    return decode(garbage(dtype, shape), dtype)
