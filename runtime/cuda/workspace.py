"""Memory that a kernel needs between its blocks: zero before a launch, and zero again after it.

A kernel leaves its workspace as it found it, so each stream's is cleared once, when it is made.
Launches of one stream follow one another and share it. A graph being captured has one of its own,
since it may run beside later launches; memory once handed out stays, because a graph may hold it.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence

from dslc.runtime.cuda import driver as cu
from dslc.runtime.cuda.device import CudaDevice


class Workspaces:
    """The workspaces of one kernel on one device."""

    def __init__(self, device: CudaDevice) -> None:
        self._device = device
        self._held: dict[tuple[int, int, int], tuple[int, int]] = {}
        self._lock = threading.Lock()

    def addresses(self, stream: int, sizes: Sequence[int]) -> list[int]:
        """The address of each workspace for a launch on a stream; sizes are in bytes."""
        capture = self._capture(stream)
        return [self._address((stream, capture, i), size) for i, size in enumerate(sizes)]

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
