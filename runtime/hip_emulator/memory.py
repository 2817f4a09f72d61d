"""Arrays of a launch in the emulated machine's memory."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
from dslc.runtime.hip_emulator.errors import EmulationError
from dslc.runtime.hip_emulator.request import Allocation
from numpy.typing import NDArray

_ALLOCATION_BITS = 36
_FIRST_BYTE = 1 << 30
ALIGNMENT = 256


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array as an argument, with what a launch may expect of it.

    `defined=False`: nothing has written it yet, and a kernel that uses what it reads there is
    reported. `skew` bytes past a multiple of 4096 is where it begins. An array that NumPy does not
    let be written is an input.
    """

    array: NDArray[Any]
    name: str = ""
    defined: bool = True
    skew: int = 0


class Memory:
    """The allocations of one launch, in the order in which they are added."""

    def __init__(self) -> None:
        self._rows: list[Allocation] = []
        self._kept: list[object] = []

    def add(self, buffer: Buffer, default_name: str) -> int:
        """Give an array addresses; its first one."""
        array = buffer.array
        if not array.flags.c_contiguous:
            raise EmulationError(f"{buffer.name or default_name} is not in C order")
        row = Allocation()
        row.name = (buffer.name or default_name).encode()
        row.bytes = array.ctypes.data
        row.size = array.nbytes
        row.skew = buffer.skew
        row.writable = array.flags.writeable
        if not buffer.defined:
            shadow = np.zeros(max(array.nbytes, 1), np.uint8)
            row.defined = shadow.ctypes.data
            self._kept.append(shadow)
        self._kept.append(array)
        self._rows.append(row)
        return address_of(len(self._rows) - 1) + buffer.skew

    def table(self) -> tuple[ctypes.Array[Allocation], int]:
        """The rows as the machine takes them."""
        return (Allocation * max(len(self._rows), 1))(*self._rows), len(self._rows)


def address_of(number: int) -> int:
    """The address of the first byte of allocation number `number`."""
    return (number + 1) << _ALLOCATION_BITS | _FIRST_BYTE
