"""The views of a tensor that a kernel can ask for: no data moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

from dslc.runtime.binding import dense_strides
from dslc.runtime.nki_simulator.accesses import Box
from dslc.runtime.nki_simulator.elements import array_dtype, dtype_name
from dslc.runtime.nki_simulator.engines.indirect import IndirectTensor
from dslc.runtime.nki_simulator.scalars import VirtualRegister, number_of
from dslc.runtime.nki_simulator.tensors import Tensor, is_dense


class Slice:
    """`nl.ds(start, size)`: a slice of known size from a start that may be a register."""

    __slots__ = ("size", "start")

    def __init__(self, start: Any, size: int) -> None:
        self.start, self.size = start, size


class NkiTensor(Tensor):
    """A tensor as the kernel sees it."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> NkiTensor:
        """A slice: ranges lie within the tensor, negative indices count from the end.

        Integers drop their axis; on the chip the partitions stay, and one axis beside them.
        """
        items = index if type(index) is tuple else (index,)
        # By identity: a register is equal to nothing that is known while a kernel is built.
        at = next((i for i, item in enumerate(items) if item is Ellipsis), None)
        if at is not None:
            items = (*items[:at], *(slice(None),) * (self.ndim - len(items) + 1), *items[at + 1 :])
        if len(items) > self.ndim:
            self._fail("bounds", f"{self} is indexed with {len(items)} axes")
        shape, steps, kept = [], [], []
        box = list(self.box) if self.axes is not None else None
        offset = self.offset
        for axis, n in enumerate(self.shape):
            item = items[axis] if axis < len(items) else slice(None)
            start, count, by = self._range(item, axis, n)
            step = self.steps[axis]
            offset += start * step
            if box is not None and self.axes is not None:
                base = self.axes[axis]
                unit = step // _step_of(self.storage.shape, base)
                low = box[base][0] + start * unit
                box[base] = (low, low + (max(count, 1) - 1) * by * unit + 1)
            one = count < 0
            if not one or (self.storage.on_chip and self._stays(axis, items)):
                shape.append(1 if one else count)
                steps.append(step * by)
                kept.append(axis)
        axes = tuple(self.axes[a] for a in kept) if self.axes is not None else None
        return NkiTensor(
            self.storage,
            tuple(shape),
            tuple(steps),
            offset,
            tuple(box) if box is not None else None,
            axes,
            self.dtype,
        )

    def _stays(self, axis: int, items: Sequence[Any]) -> bool:
        """Whether an axis that an integer indexes is kept with one element."""
        if axis == 0:
            return True
        free = [i for i in range(1, self.ndim) if i >= len(items) or not _is_one(items[i])]
        return not free and axis == self.ndim - 1

    def _range(self, item: Any, axis: int, n: int) -> tuple[int, int, int]:
        """Start, count and step of one axis; count -1 where the axis is dropped."""
        plain = type(item) is slice and item.step is None
        if (
            plain
            and type(item.start) is type(item.stop) is int
            and 0 <= item.start < item.stop <= n
        ):
            return item.start, item.stop - item.start, 1  # as nearly all are
        if isinstance(item, slice):
            start = 0 if item.start is None else _from_end(item.start, n)
            stop = n if item.stop is None else _from_end(item.stop, n)
            by = 1 if item.step is None else number_of(item.step)
            if by < 1:
                self._fail("bounds", f"{self}: the step {by} of axis {axis} is not positive")
            count = max(0, -(-(stop - start) // by))
        elif isinstance(item, Slice):
            start, by = number_of(item.start), 1
            count, stop = number_of(item.size), start + number_of(item.size)
        elif _is_one(item):
            start, count, by = _from_end(item, n), -1, 1
            stop = start + 1
        else:
            self._fail("signature", f"{self}: axis {axis} is indexed with {type(item).__name__}")
        if start < 0 or stop > n or not count:
            self._fail("bounds", f"{self}: {start}:{stop} is not within 0:{n} of axis {axis}")
        if axis == 0 and self.storage.on_chip and by != 1:
            self._fail("partition-stride", f"{self}: a step of {by} partitions")
        return start, count, by

    def _fail(self, rule: str, message: str) -> NoReturn:
        self.storage.fail(rule, message)

    def _view(
        self,
        shape: Sequence[int],
        steps: Sequence[int],
        offset: int | None = None,
        dtype: str | None = None,
        around: bool = False,
    ) -> NkiTensor:
        """A view that is no slice; it touches the same box, or with `around` the one it spans."""
        box: Box | None = None if around else self.box
        start = self.offset if offset is None else offset
        return NkiTensor(
            self.storage, tuple(shape), tuple(steps), start, box, None, dtype or self.dtype
        )

    def reshape(self, shape: Sequence[int]) -> NkiTensor:
        """The same elements in row-major order; on the chip the partition axis stays."""
        new = tuple(number_of(n) for n in shape)
        if math.prod(new) != self.size:
            self._fail("shape", f"{self} has not the elements of {new}")
        if not self.storage.on_chip:
            if not is_dense(self.shape, self.steps):
                self._fail("shape", f"{self} is no contiguous view: it cannot become {new}")
            return self._view(new, dense_strides(new))
        if new[0] != self.shape[0] or not is_dense(self.shape[1:], self.steps[1:]):
            self._fail(
                "shape", f"{self} cannot become {new}: partitions stay, the rest is contiguous"
            )
        return self._view(new, (self.steps[0], *dense_strides(new[1:])))

    def reshape_dim(self, dim: int, shape: Sequence[int]) -> NkiTensor:
        """One axis as several."""
        if math.prod(shape) != self.shape[dim]:
            self._fail("shape", f"{self}: axis {dim} has not the elements of {tuple(shape)}")
        if dim == 0 and self.storage.on_chip:
            self._fail("partition-stride", f"{self}: the partition axis cannot be split")
        steps = tuple(s * self.steps[dim] for s in dense_strides(tuple(shape)))
        return self._view(
            (*self.shape[:dim], *shape, *self.shape[dim + 1 :]),
            (*self.steps[:dim], *steps, *self.steps[dim + 1 :]),
        )

    def flatten_dims(self, start_dim: int, end_dim: int) -> NkiTensor:
        """The axes start to end (both in it) as one."""
        shape, steps = self.shape[start_dim : end_dim + 1], self.steps[start_dim : end_dim + 1]
        unit = steps[-1]
        if any(s % unit for s in steps) or not is_dense(shape, tuple(s // unit for s in steps)):
            self._fail("shape", f"{self}: axes {start_dim} to {end_dim} are not contiguous")
        return self._view(
            (*self.shape[:start_dim], math.prod(shape), *self.shape[end_dim + 1 :]),
            (*self.steps[:start_dim], unit, *self.steps[end_dim + 1 :]),
        )

    def permute(self, dims: Sequence[int]) -> NkiTensor:
        """The axes in another order; on the chip the partition axis stays first."""
        if sorted(dims) != list(range(self.ndim)) or (self.storage.on_chip and dims[0] != 0):
            self._fail("partition-stride", f"{self} cannot be permuted by {tuple(dims)}")
        return self._view([self.shape[d] for d in dims], [self.steps[d] for d in dims])

    def broadcast(self, dim: int, size: int) -> NkiTensor:
        """An axis of one element repeated."""
        if self.shape[dim] != 1 or (dim == 0 and self.storage.on_chip):
            self._fail("shape", f"{self}: axis {dim} cannot be repeated {size} times")
        shape, steps = list(self.shape), list(self.steps)
        shape[dim], steps[dim] = size, 0
        return self._view(shape, steps)

    def expand_dim(self, dim: int) -> NkiTensor:
        """A new axis of one element before `dim`."""
        return self._view(
            (*self.shape[:dim], 1, *self.shape[dim:]), (*self.steps[:dim], 0, *self.steps[dim:])
        )

    def squeeze_dim(self, dim: int) -> NkiTensor:
        """Without an axis of one element."""
        if self.shape[dim] != 1:
            self._fail("shape", f"{self}: axis {dim} has more than one element")
        return self._view(
            (*self.shape[:dim], *self.shape[dim + 1 :]), (*self.steps[:dim], *self.steps[dim + 1 :])
        )

    def select(self, dim: int, index: Any) -> NkiTensor:
        """Without an axis, at an index of it."""
        return self[(*(slice(None),) * dim, index)]

    def slice(self, dim: int, start: Any, end: Any, step: int = 1) -> NkiTensor:
        """start:end of one axis."""
        return self[(*(slice(None),) * dim, slice(start, end, step))]

    def view(self, dtype: Any) -> NkiTensor:
        """The same bits as another dtype; another width changes the last axis, which is contiguous."""
        name = dtype_name(dtype)
        new, old = array_dtype(name).itemsize, self.itemsize
        if new == old:
            return self._view(self.shape, self.steps, dtype=name)
        if self.steps[-1] != 1 or any(s * old % new for s in (*self.steps[:-1], self.offset)):
            self._fail("dtype", f"{self}: its bits cannot be taken as {name}")
        if self.shape[-1] * old % new:
            self._fail("dtype", f"{self}: a row has not whole elements of {name}")
        steps = (*(s * old // new for s in self.steps[:-1]), 1)
        shape = (*self.shape[:-1], self.shape[-1] * old // new)
        return self._view(shape, steps, self.offset * old // new, name)

    def ap(
        self,
        pattern: Sequence[Sequence[int]],
        offset: Any = 0,
        scalar_offset: Any = None,
        vector_offset: Any = None,
        indirect_dim: int = 0,
        dtype: Any = None,
    ) -> NkiTensor | IndirectTensor:
        """The access pattern [[step, count], ...] in elements from this view's first element.

        On the chip the first pair is the partition. `scalar_offset` is a register or a tensor of
        one element that counts steps of the storage's axis `indirect_dim`; `vector_offset` a column of
        such numbers, one for each index of the first axis (for dma_copy, in HBM).
        """
        at = self if dtype is None else self.view(dtype)
        steps = tuple(number_of(step) for step, _ in pattern)
        shape = tuple(number_of(count) for _, count in pattern)
        start = at.offset + number_of(offset)
        if scalar_offset is not None:
            moved = scalar_offset
            if isinstance(moved, Tensor):
                moved = int(moved.values().reshape(-1)[0])
            start += number_of(moved) * _step_of(self.storage.shape, indirect_dim)
        total = math.prod(self.storage.shape) * array_dtype(self.storage.dtype).itemsize
        reach = [(n - 1) * s for n, s in zip(shape, steps, strict=True)]
        text = f"the pattern {[list(pair) for pair in zip(steps, shape, strict=True)]}"
        if start < 0 or (start + sum(reach) + 1) * at.itemsize > total or min(shape) < 1:
            self._fail("bounds", f"{self}: {text} leaves it")
        row = self.storage.bytes // at.itemsize
        if self.storage.on_chip:
            if steps[0] != row and shape[0] > 1:
                self._fail("partition-stride", f"{self}: {text}, where a partition is {row}")
            if start % row + sum(reach[1:]) >= row:
                self._fail("bounds", f"{self}: {text} leaves a partition")
        view = at._view(shape, steps, start, at.dtype, around=True)
        return view if vector_offset is None else IndirectTensor(view, vector_offset, indirect_dim)

    def get_pattern(self) -> list[list[int]]:
        """The view as [[step, count], ...]."""
        return [[s, n] for s, n in zip(self.steps, self.shape, strict=True)]

    def is_contiguous(self) -> bool:
        """Whether its elements lie one after another."""
        return is_dense(self.shape, self.steps)


def _is_one(item: Any) -> bool:
    """Whether an item of an index is an integer."""
    return isinstance(item, VirtualRegister) or (
        hasattr(item, "__index__") and not isinstance(item, Tensor)
    )


def _from_end(value: Any, n: int) -> int:
    """A number of an axis of n elements; a negative one that is known counts from its end."""
    number = number_of(value)
    return number + n if number < 0 and not isinstance(value, VirtualRegister) else number


def _step_of(shape: tuple[int, ...], axis: int) -> int:
    return math.prod(shape[axis + 1 :])
