"""Tensors of a kernel: storages in HBM, SBUF or PSUM, with a mark for each element that is written.

A tensor is a view: shape, strides and offset in elements of a storage. It keeps the box of the storage
that it touches, by which accesses are ordered (accesses.py): exact for slices, the smallest around
other views. Names of the methods are those of `nki.language.NkiTensor`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NoReturn

import numpy as np
from dslc.runtime.binding import dense_strides
from dslc.runtime.nki_simulator.accesses import Accesses, Box
from dslc.runtime.nki_simulator.elements import Array, array_dtype

HBM, SBUF, PSUM = "hbm", "sbuf", "psum"
Fail = Callable[[str, str], NoReturn]


class Storage:
    """Memory that tensors lie in, row-major; the first axis of SBUF and PSUM is the partition.

    Floats begin as NaN. `marks` says what is written; it is None where all of it is. What is `given`,
    an argument's array, is read alone, so that nothing waits for it. Without `values` there are no
    elements.
    """

    __slots__ = (
        "accesses", "bytes", "data", "dtype", "fail", "given", "marks", "name", "shape", "space",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        space: str,
        shape: tuple[int, ...],
        dtype: str,
        fail: Fail,
        array: Array | None = None,
        values: bool = True,
    ) -> None:
        self.name, self.space, self.shape, self.dtype, self.fail = name, space, shape, dtype, fail
        held = array_dtype(dtype)
        self.bytes = math.prod(shape[1:]) * held.itemsize  # of a partition
        self.data = self.marks = None
        self.given = array is not None
        if array is not None and values:
            self.data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        elif array is None and values:
            blank = 0 if np.issubdtype(held, np.integer) else np.nan
            fresh = np.full(shape, blank, held)
            self.data = fresh.reshape(-1).view(np.uint8)
            self.marks = np.zeros(math.prod(shape), bool)
        self.accesses = Accesses(shape)

    @property
    def on_chip(self) -> bool:
        """In SBUF or PSUM."""
        return self.space != HBM


class Tensor:
    """A view of a storage. `steps` are strides in elements of `dtype`, `offset` the first element."""

    __slots__ = ("axes", "box", "dtype", "itemsize", "name", "offset", "shape", "steps", "storage")

    def __init__(
        self,
        storage: Storage,
        shape: tuple[int, ...],
        steps: tuple[int, ...],
        offset: int,
        box: Box | None = None,
        axes: tuple[int, ...] | None = None,
        dtype: str | None = None,
    ) -> None:
        self.storage, self.shape, self.steps, self.offset = storage, shape, steps, offset
        self.dtype = dtype or storage.dtype
        self.itemsize = array_dtype(self.dtype).itemsize
        self.axes = axes  # the storage's axis that each axis slices; None for other views
        self.box = box if box is not None else self._around()
        self.name = storage.name

    @classmethod
    def whole(cls, storage: Storage) -> Tensor:
        """All of a storage."""
        shape = storage.shape
        axes = tuple(range(len(shape)))
        return cls(storage, shape, dense_strides(shape), 0, tuple((0, n) for n in shape), axes)

    @property
    def buffer(self) -> str:
        """hbm, sbuf or psum."""
        return self.storage.space

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """In elements, by axis."""
        return self.steps

    @property
    def free(self) -> int:
        """Elements in a partition."""
        return math.prod(self.shape[1:])

    @property
    def partition(self) -> int:
        """The first partition, on the chip."""
        return self.offset * self.itemsize // max(1, self.storage.bytes)

    def __repr__(self) -> str:
        return f"{self.name} ({self.buffer} {self.dtype}[{', '.join(map(str, self.shape))}])"

    def __bool__(self) -> NoReturn:  # noqa: PLE0304 - it never returns
        self.storage.fail("scalar", f"{self} has no truth value while the kernel is built")

    def values(self) -> Array:
        """The elements: a NumPy view."""
        size = self.itemsize
        strides = tuple(step * size for step in self.steps)
        return np.ndarray(
            self.shape, array_dtype(self.dtype), self.storage.data, self.offset * size, strides
        )

    def written(self) -> bool:
        """Whether every element is."""
        marks = self.storage.marks
        if marks is None:
            return True
        if self.dtype == self.storage.dtype:
            return bool(np.ndarray(self.shape, bool, marks, self.offset, self.steps).all())
        return bool(marks[self._elements()].all())

    def mark(self) -> None:
        """All of its elements are written."""
        marks = self.storage.marks
        if marks is None:
            return
        if self.dtype != self.storage.dtype:
            marks[self._elements()] = True
        elif self.size == marks.size:
            self.storage.marks = None
        else:
            np.ndarray(self.shape, bool, marks, self.offset, self.steps)[...] = True

    def first_unwritten(self) -> tuple[int, ...]:
        """Where the first element is that is not written."""
        marks = self.storage.marks
        assert marks is not None
        flat = marks[self._elements()]
        return tuple(int(i) for i in np.unravel_index(int(np.argmin(flat)), self.shape))

    def _elements(self) -> Array:
        """The numbers of its elements in the storage, in the view's shape."""
        at = np.full(self.shape, self.offset, np.int64)
        for axis, (n, step) in enumerate(zip(self.shape, self.steps, strict=True)):
            at += (np.arange(n) * step).reshape((n, *(1,) * (self.ndim - axis - 1)))
        return at * self.itemsize // array_dtype(self.storage.dtype).itemsize

    def _around(self) -> Box:
        """The smallest box around a view that is no slice."""
        base = self.storage.shape
        held = array_dtype(self.storage.dtype).itemsize
        lo = self.offset
        if self.storage.on_chip and self.shape:
            row = math.prod(base[1:])
            first = lo * self.itemsize // held // max(1, row)
            reach = sum((n - 1) * s for n, s in zip(self.shape[1:], self.steps[1:], strict=True))
            lo = lo * self.itemsize // held - first * row
            hi = lo + max(0, reach) * self.itemsize // held
            return ((first, first + self.shape[0]), *_block(base[1:], lo, hi))
        reach = sum((n - 1) * s for n, s in zip(self.shape, self.steps, strict=True))
        return _block(
            base, lo * self.itemsize // held, (lo + max(0, reach)) * self.itemsize // held
        )


def _block(shape: tuple[int, ...], lo: int, hi: int) -> Box:
    """The smallest box that holds the elements lo to hi (both in it) of a row-major array."""
    box: list[tuple[int, int]] = []
    exact = True
    for n, step in zip(shape, dense_strides(shape), strict=True):
        first, last = lo // step % n, hi // step % n
        box.append((first, last + 1) if exact else (0, n))
        exact = exact and first == last
    return tuple(box)


def is_dense(shape: tuple[int, ...], steps: tuple[int, ...]) -> bool:
    """Whether the axes of more than one element lie one after another without a gap."""
    want = 1
    for n, step in zip(reversed(shape), reversed(steps), strict=True):
        if n != 1:
            if step != want:
                return False
            want *= n
    return True


def contiguous_run(tensor: Tensor) -> int:
    """The elements of a row: how many lie next to one another before the first jump."""
    run = 1
    for n, step in zip(reversed(tensor.shape), reversed(tensor.steps), strict=True):
        if n != 1:
            if step != run:
                break
            run *= n
    return run
