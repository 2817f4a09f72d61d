"""Who touched which part of a storage, so that an instruction waits for exactly those before it.

A part is a box of the storage's axes. Reads wait for the writes that they overlap; writes wait for the
reads and writes that they overlap (the machine's compiler sets semaphores for the same pairs).
"""

from __future__ import annotations

from typing import Any

import numpy as np

Box = tuple[tuple[int, int], ...]
"""For each axis of a storage the first index and the one after the last."""


_MANY = 24  # parts from which on NumPy finds the overlapping ones sooner


class _Part:
    """The last write of a box, by its instruction, and the last read of each queue after it."""

    __slots__ = ("box", "near", "readers", "writer")

    def __init__(self, box: Box) -> None:
        self.box = box
        self.writer = -1
        self.readers: dict[str, int] = {}
        self.near: list[_Part] = []  # the parts that overlap, this one too


class Accesses:
    """The accesses of one storage, by the numbers of instructions.

    `first` and `last` are the numbers of the first and last access; `ends` the last access of every
    queue, `begins` the writes of memory that nothing had touched, `lost` those that were overwritten
    before anything had read them.
    """

    __slots__ = ("_axes", "_boxes", "_parts", "begins", "ends", "first", "last", "lost")

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._parts: dict[Box, _Part] = {}
        self._axes = len(shape)
        self._boxes: np.ndarray[Any, np.dtype[np.int64]] | None = None  # once they are many
        self.first = self.last = -1
        self.ends: dict[str, int] = {}
        self.begins: list[int] = []
        self.lost: list[int] = []

    def read(self, box: Box, number: int, queue: str) -> list[int]:
        """Note a read; the instructions whose writes it waits for."""
        part = self._part(box)
        part.readers[queue] = number
        self._touch(number, queue)
        return [p.writer for p in part.near if p.writer >= 0]

    def write(self, box: Box, number: int, queue: str) -> tuple[list[int], list[int]]:
        """Note a write; the instructions whose writes, and those whose reads it waits for."""
        part = self._part(box)
        writers: list[int] = []
        readers: list[int] = []
        for near in part.near:
            if near.writer >= 0:
                writers.append(near.writer)
            readers += near.readers.values()
            if near is part and near.writer >= 0 and not _was_read(near):
                self.lost.append(near.writer)
            if near is not part and _covers(box, near.box):
                near.writer = -1
                near.readers.clear()
        part.writer = number
        part.readers.clear()
        if not writers and not readers:
            self.begins.append(number)
        self._touch(number, queue)
        return writers, readers

    def unread(self, box: Box) -> int:
        """The instruction that wrote this very box last, where nothing has read it since; else -1."""
        part = self._parts.get(box)
        return -1 if part is None or _was_read(part) else part.writer

    def writer(self, box: Box) -> int:
        """The instruction that wrote this very box last; -1 where none did."""
        part = self._parts.get(box)
        return -1 if part is None else part.writer

    def writers(self, box: Box) -> list[int]:
        """The instructions that wrote what a box overlaps."""
        return [near.writer for near in self._part(box).near if near.writer >= 0]

    def unread_writes(self) -> list[int]:
        """The instructions whose writes nothing has read."""
        parts = self._parts.values()
        return self.lost + [p.writer for p in parts if p.writer >= 0 and not _was_read(p)]

    def _touch(self, number: int, queue: str) -> None:
        if self.first < 0:
            self.first = number
        self.last = number
        self.ends[queue] = number

    def _part(self, box: Box) -> _Part:
        part = self._parts.get(box)
        return part if part is not None else self._new(box)

    def _new(self, box: Box) -> _Part:
        new = _Part(box)
        for part in self._near(box):
            new.near.append(part)
            part.near.append(new)
        new.near.append(new)
        self._parts[box] = new
        return new

    def _near(self, box: Box) -> list[_Part]:
        """The parts that a new box overlaps."""
        count = len(self._parts)
        if count < _MANY or not box:
            return [p for p in self._parts.values() if _overlap(p.box, box)]
        if self._boxes is None:
            self._boxes = np.empty((4 * _MANY, 2, self._axes), np.int64)
            self._boxes[:count] = np.array(list(self._parts)).swapaxes(1, 2)
        elif count == len(self._boxes):
            self._boxes = np.concatenate((self._boxes, np.empty_like(self._boxes)))
        known = self._boxes[:count]
        lo, hi = np.array(box, np.int64).T
        self._boxes[count] = lo, hi
        overlapping = np.flatnonzero(np.all((known[:, 0] < hi) & (lo < known[:, 1]), axis=1))
        if not overlapping.size:
            return []
        parts = list(self._parts.values())
        return [parts[i] for i in overlapping]


def _overlap(one: Box, other: Box) -> bool:
    for (a, b), (c, d) in zip(one, other, strict=True):  # noqa: SIM110 - twice as fast as all()
        if a >= d or c >= b:
            return False
    return True


def _was_read(part: _Part) -> bool:
    return any(near.readers for near in part.near)


def _covers(outer: Box, inner: Box) -> bool:
    return all(a <= c and d <= b for (a, b), (c, d) in zip(outer, inner, strict=True))
