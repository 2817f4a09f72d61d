"""Memory that a kernel needs between its blocks: zero before a launch, and zero again after it.

A kernel leaves its workspace as it found it, so each stream's is cleared once, when it is made.
Launches of one stream follow one another and share it. A graph being captured has one of its own,
since it may run beside later launches; memory once handed out stays, because a graph may hold it.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Sequence

from dslc.runtime.cuda import driver as cu
from dslc.runtime.cuda.device import CudaDevice

_PER_THREAD = 2  # CU_STREAM_PER_THREAD: one handle, another stream in every thread


class _Own(threading.local):
    """A number for each thread, never given to another."""

    numbers = itertools.count(1)

    def __init__(self) -> None:
        self.number = next(self.numbers)


_OWN = _Own()


def queue_of(stream: int) -> int:
    """What tells the stream of a handle from others: launches of two numbers may run at once."""
    return stream if stream != _PER_THREAD else -_OWN.number


class Workspaces:
    """The workspaces of one kernel on one device."""

    def __init__(self, device: CudaDevice) -> None:
        self._device = device
        self._held: dict[tuple[int, int, int], tuple[int, int]] = {}
        self._lock = threading.Lock()

    def addresses(self, stream: int, sizes: Sequence[int]) -> list[int]:
        """The address of each workspace for a launch on a stream; sizes are in bytes."""
        capture, queue = self._capture(stream), queue_of(stream)
        return [self._address((queue, capture, i), size) for i, size in enumerate(sizes)]

    def free(self) -> None:
        """Give all of it back: nothing that uses it, a graph included, may run any more."""
        with self._lock:
            for _, address in self._held.values():
                self._device.free(address)
            self._held.clear()

    def _address(self, key: tuple[int, int, int], size: int) -> int:
        held = self._held.get(key)
        if held is not None and held[0] >= size:
            return held[1]
        with self._lock:
            held = self._held.get(key)
            if held is None or held[0] < size:
                # Doubling bounds what growing dims leave behind.
                grown = max(size, 2 * held[0]) if held else size
                held = self._held[key] = (grown, self._device.allocate(grown, zero=True))
            return held[1]

    def _capture(self, stream: int) -> int:
        """The number of the capture that a stream takes part in, 0 for none."""
        status, number = ctypes.c_int(), ctypes.c_uint64()
        library = self._device.driver.library
        failed = library.cuStreamGetCaptureInfo(
            stream, ctypes.byref(status), ctypes.byref(number), None, None, None
        )
        return 0 if failed or status.value != cu.CAPTURING else number.value
