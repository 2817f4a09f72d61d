"""How long launches take: captured in a CUDA graph, replayed between two events.

A graph has no cost of the host between its launches, so that what is measured is the device's time. The
functions of the driver that only this needs are bound here.
"""

from __future__ import annotations

import ctypes
import statistics
from collections.abc import Callable
from typing import Any

from dslc.runtime.cuda import driver as cu
from dslc.runtime.cuda.device import CudaDevice

L2_BYTES = 38  # CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
_P, _Q, _Z = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t
_ARGUMENTS: dict[str, list[Any]] = {
    "cuStreamBeginCapture_v2": [_P, ctypes.c_int],
    "cuStreamEndCapture": [_P, _P],
    "cuGraphInstantiateWithFlags": [_P, _P, ctypes.c_ulonglong],
    "cuGraphLaunch": [_P, _P],
    "cuGraphExecDestroy": [_P],
    "cuGraphDestroy": [_P],
    "cuEventCreate": [_P, ctypes.c_uint],
    "cuEventRecord": [_P, _P],
    "cuEventSynchronize": [_P],
    "cuEventElapsedTime": [_P, _P, _P],
    "cuEventDestroy_v2": [_P],
    "cuMemcpyDtoDAsync_v2": [_Q, _Q, _Z, _P],
    "cuMemGetInfo_v2": [_P, _P],
}


class Stopwatch:
    """Measures on one device, on a stream of its own."""

    def __init__(self, device: CudaDevice) -> None:
        self.device = device
        # A handle of its own: what is bound here changes nothing for others.
        self._library = ctypes.CDLL(device.driver.library._name)
        for name, arguments in _ARGUMENTS.items():
            function = getattr(self._library, name)
            function.argtypes, function.restype = arguments, ctypes.c_int
        with device.current():
            self.stream = device.driver.handle("cuStreamCreate", cu.NON_BLOCKING)
            self._events = [self._handle("cuEventCreate", 0) for _ in range(2)]

    def close(self) -> None:
        """Give back the stream and the events."""
        with self.device.current():
            for event in self._events:
                self._call("cuEventDestroy_v2", event)
            self.device.driver.call("cuStreamDestroy", self.stream)

    def wait(self) -> None:
        """Until all of the stream is done. DSL0842 where a launch failed."""
        with self.device.current():
            self.device.driver.call("cuStreamSynchronize", self.stream)

    def copy(self, target: int, source: int, size: int) -> None:
        """Bytes from one place on the device to another."""
        with self.device.current():
            self._call("cuMemcpyDtoDAsync_v2", target, source, size, self.stream)

    def free_bytes(self) -> int:
        """The memory that the device has left."""
        free, total = _Z(), _Z()
        with self.device.current():
            self._call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def capture(self, enqueue: Callable[[int], None]) -> Graph:
        """What `enqueue(stream)` enqueues, as a graph."""
        with self.device.current():
            self._call("cuStreamBeginCapture_v2", self.stream, cu.RELAXED)
            try:
                enqueue(self.stream)
            finally:
                graph = self._handle_after("cuStreamEndCapture", self.stream)
            try:
                executable = self._handle("cuGraphInstantiateWithFlags", graph, 0)
            finally:
                self._call("cuGraphDestroy", graph)
        return Graph(self, executable)

    def _between(self, enqueue: Callable[[], None]) -> float:
        first, last = self._events
        self._call("cuEventRecord", first, self.stream)
        enqueue()
        self._call("cuEventRecord", last, self.stream)
        self._call("cuEventSynchronize", last)
        passed = ctypes.c_float()
        self._call("cuEventElapsedTime", ctypes.byref(passed), first, last)
        return passed.value * 1e-3

    def _call(self, name: str, *args: Any) -> None:
        if status := getattr(self._library, name)(*args):
            raise self.device.driver.failed(name, status)

    def _handle(self, name: str, *args: Any) -> int:
        value = _P()
        self._call(name, ctypes.byref(value), *args)
        return value.value or 0

    def _handle_after(self, name: str, *args: Any) -> int:
        value = _P()
        self._call(name, *args, ctypes.byref(value))
        return value.value or 0


class Graph:
    """A captured graph."""

    def __init__(self, watch: Stopwatch, executable: int) -> None:
        self._watch = watch
        self._executable = executable

    def seconds(self, warm: int, samples: int) -> float:
        """The median time of a replay after `warm` of them."""
        watch = self._watch
        with watch.device.current():
            times = [
                watch._between(lambda: watch._call("cuGraphLaunch", self._executable, watch.stream))
                for _ in range(warm + samples)
            ]
        return statistics.median(times[warm:])

    def enqueue(self) -> None:
        """A replay, behind what the stream was given before."""
        watch = self._watch
        with watch.device.current():
            watch._call("cuGraphLaunch", self._executable, watch.stream)

    def close(self) -> None:
        """Give back what the driver holds for it."""
        with self._watch.device.current():
            self._watch._call("cuGraphExecDestroy", self._executable)
