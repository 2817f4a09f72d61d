"""Memory that host and guest share, with nothing mapped between its areas.

An array lies against the end of its area (or against its beginning), so that an access past it faults
at once, as one does before or behind any area. A page of what is left is filled with a pattern that is
looked at afterwards. Areas are kept for the next array of about that size.
"""

from __future__ import annotations

import mmap
import os
import threading
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from dslc.runtime.aarch64_emulator.control import ADDRESS, PAGE
from dslc.runtime.aarch64_emulator.errors import EmulationError
from dslc.runtime.aarch64_emulator.guest import Guest

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Side: TypeAlias = Literal["end", "start"]

READ, WRITE, EXECUTE = 1, 2, 4
_SHARED_FIXED = 0x11
_SYS_MMAP = 222
_GAP = 16 * PAGE  # between areas; an index that is off by a row most often lands in it
_PATTERN = 0xA5
_MOST_WASTE = 2  # times the size of an array that its area may be
_FIRST_BLOCK = 1 << 24  # bytes of the file that are mapped at once, each time twice as many


@dataclass(frozen=True, slots=True)
class Area:
    """Pages at an address of the guest; `content` is the host's view of their bytes."""

    address: int
    protection: int
    content: Array


class Memory:
    """The areas of one guest; who takes or maps some holds `lock`."""

    def __init__(self, guest: Guest) -> None:
        self.lock = threading.Lock()
        self._guest = guest
        self._next = ADDRESS + _GAP
        self._block: Array = np.empty(0, np.uint8)  # mapped, and of no area yet
        self._length = _FIRST_BLOCK
        self._free: dict[int, list[Area]] = {READ: [], READ | WRITE: []}

    def take(self, size: int, protection: int) -> Area:
        """An area of at least so many bytes: one that was given back, or a new one."""
        size = max(1, size)
        free = self._free[protection]
        fitting = [a for a in free if size <= a.content.size <= _MOST_WASTE * size + PAGE]
        if not fitting:
            return self.map(size, protection)
        area = min(fitting, key=lambda a: a.content.size)
        free.remove(area)
        return area

    def give_back(self, area: Area) -> None:
        """Keep it for another array."""
        self._free[area.protection].append(area)

    def map(self, size: int, protection: int, content: bytes = b"") -> Area:
        """A new area of whole pages with this content, at an address that nothing had before."""
        pages = -(-size // PAGE) * PAGE
        offset, view = self._pages(pages)
        view[: len(content)] = np.frombuffer(content, np.uint8)
        address, self._next = self._next, self._next + pages + _GAP
        words = (address, pages, protection, _SHARED_FIXED, 0, offset)
        if self._guest.system(_SYS_MMAP, words) != address:
            raise EmulationError(f"the guest cannot map {pages} bytes")
        return Area(address, protection, view)

    def _pages(self, size: int) -> tuple[int, Array]:
        """The next bytes of the file: where they begin there, and the host's view of them.

        A mapping of Python holds a descriptor of its own, so that few map much: pages that nobody
        touched take no memory.
        """
        end = os.fstat(self._guest.memory).st_size
        if size > self._block.size:
            start, end = end, end + max(size, self._length)
            self._length *= 2
            os.ftruncate(self._guest.memory, end)
            mapped = mmap.mmap(self._guest.memory, end - start, offset=start)
            self._block = np.frombuffer(mapped, np.uint8)
        offset = end - self._block.size
        view, self._block = self._block[:size], self._block[size:]
        return offset, view


class Placed:
    """An array copied to an area of its own, with its strides, against one side of it."""

    def __init__(self, memory: Memory, array: Array, written: bool, side: Side) -> None:
        self._memory, self._array, self._written = memory, array, written
        low, high = _span(array)
        self.area = memory.take(high - low, READ | WRITE if written else READ)
        content = self.area.content
        begin = content.size - (high - low) if side == "end" else 0
        self._around = (
            content[max(0, begin - PAGE) : begin],
            content[begin + high - low :][:PAGE],
        )
        for part in (content[begin : begin + high - low], *self._around):
            part[:] = _PATTERN
        self._view: Array = np.ndarray(
            array.shape, array.dtype, content.data, begin - low, array.strides
        )
        self._view[...] = array
        self.address = self.area.address + begin - low  # of its first element
        self._reach = self.address + low, self.address + high

    def distance(self, address: int) -> int:
        """As the function `distance`, from the array's bytes."""
        return distance(address, *self._reach)

    def finish(self) -> bool:
        """Copy it back if it is written; whether the bytes around are as before."""
        if self._written:
            self._array[...] = self._view
        return all(bool((part == _PATTERN).all()) for part in self._around)

    def release(self) -> None:
        """Give up the area."""
        self._memory.give_back(self.area)


def distance(address: int, first: int, end: int) -> int:
    """How many bytes an address is behind the last byte or (negative) before the first; within, 0."""
    return min(0, address - first) or max(0, address - end + 1)


def _span(array: Array) -> tuple[int, int]:
    """Where its first and last byte lie, counted from the first element."""
    if array.size == 0:
        return 0, 0
    steps = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    return sum(s for s in steps if s < 0), sum(s for s in steps if s > 0) + array.itemsize
