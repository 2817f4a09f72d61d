"""Gathers and scatters of the DMA engines: rows whose numbers are read from SBUF at run time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from dslc.runtime.nki_simulator.elements import Array, array_dtype
from dslc.runtime.nki_simulator.tensors import SBUF, Tensor


class IndirectTensor(Tensor):
    """A pattern of an HBM tensor whose first axis goes where `rows` [partitions, 1] say.

    Element [p, ...] is at rows[p] steps of the storage's axis `axis`, plus the rest of the pattern. It
    touches all of the tensor, as far as anyone knows before. It is no further sliced or viewed.
    """

    __slots__ = ("axis", "rows")

    def __init__(self, view: Tensor, rows: Tensor, axis: int) -> None:
        whole = tuple((0, n) for n in view.storage.shape)
        super().__init__(view.storage, view.shape, view.steps, view.offset, whole, None, view.dtype)
        self.rows, self.axis = rows, axis
        fail = view.storage.fail
        if view.storage.on_chip or rows.buffer != SBUF:
            fail("memory", f"{view} by {rows}: rows of HBM are numbered from SBUF")
        if rows.shape != (view.shape[0], 1) or array_dtype(rows.dtype).kind not in "iu":
            fail(
                "operand", f"{rows} is no column of integers for the {view.shape[0]} rows of {view}"
            )

    def places(self, skip: bool) -> tuple[Array, Array]:
        """For each element its number in the storage, and which rows lie within it.

        A fault where a row does not, unless such rows are skipped.
        """
        if not self.rows.written():
            self.storage.fail("unwritten", f"{self.rows} numbers rows before it is written")
        numbers = self.rows.values().reshape(-1).astype(np.int64)
        within = (numbers >= 0) & (numbers < self.storage.shape[self.axis])
        if not within.all() and not skip:
            self.storage.fail("bounds", f"{self}: there is no row {int(numbers[~within][0])}")
        at = np.full(self.shape, self.offset, np.int64)
        step = math.prod(self.storage.shape[self.axis + 1 :])
        rows = np.where(within, numbers, 0) * step
        at += rows.reshape((-1, *(1,) * (self.ndim - 1)))
        for axis in range(1, self.ndim):
            index = np.arange(self.shape[axis]) * self.steps[axis]
            at += index.reshape((-1, *(1,) * (self.ndim - axis - 1)))
        if at.size and int(at.max()) >= math.prod(self.storage.shape):
            self.storage.fail("bounds", f"{self}: a row of the pattern leaves it")
        return at, within


def gather(source: IndirectTensor, out: Tensor, skip: bool) -> None:
    """out = the rows of the source; rows that are skipped stay as they are."""
    at, within = source.places(skip)
    marks = source.storage.marks
    if marks is not None and not marks[at[within]].all():
        source.storage.fail("unwritten", f"{source} is read before it is written")
    out.values()[within] = _flat(source)[at[within]]
    if within.all():
        out.mark()


def scatter(source: Array, out: IndirectTensor, skip: bool) -> None:
    """The rows of out = the source; rows that are skipped are not written."""
    at, within = out.places(skip)
    _flat(out)[at[within]] = source[within]
    if out.storage.marks is not None:
        out.storage.marks[at[within]] = True


def _flat(tensor: Tensor) -> Array:
    data: Any = tensor.storage.data
    return np.asarray(data.view(array_dtype(tensor.dtype)))
