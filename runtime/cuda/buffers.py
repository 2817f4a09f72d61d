"""Buffers in a GPU's memory."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable

import numpy as np
from dslc.runtime.binding import dense_strides
from dslc.runtime.cuda.arrays import DeviceArray
from dslc.runtime.cuda.device import CudaDevice
from dslc.runtime.cuda.timing import Graph, Stopwatch
from dslc.runtime.elements import Array, storage_dtype
from dslc.runtime.memory.buffer import Buffer, Memory


class _Allocation:
    """Memory of the GPU, given back when nobody holds it."""

    def __init__(self, device: CudaDevice, size: int) -> None:
        self.address = device.allocate(size, zero=True)
        weakref.finalize(self, device.free, self.address).atexit = False


class CudaBuffer(Buffer):
    """A tensor on the GPU. Copies wait for what the current stream was given before."""

    def __init__(
        self,
        memory: CudaMemory,
        dtype: str,
        shape: tuple[int, ...],
        kept: _Allocation,
        address: int,
    ) -> None:
        super().__init__(memory, dtype, shape)
        self._device, self._kept, self._address = memory.device, kept, address

    @property
    def argument(self) -> DeviceArray:
        """The array as launches take it."""
        return DeviceArray(
            self._address,
            self.shape,
            dense_strides(self.shape),
            storage_dtype(self.dtype).name,
            self._device.ordinal,
            owner=self._kept,
        )

    def rows(self, start: int, stop: int) -> CudaBuffer:
        """The same memory further on."""
        self._check_rows(start, stop)
        row = self.nbytes // self.shape[0] if self.shape[0] else 0
        assert isinstance(self.memory, CudaMemory)
        shape = (stop - start, *self.shape[1:])
        return CudaBuffer(self.memory, self.dtype, shape, self._kept, self._address + start * row)

    def _write(self, array: Array) -> None:
        """From the array's own pages: a memory-mapped one is not read into an array before."""
        dense = np.ascontiguousarray(array)
        if dense.nbytes:
            with self._device.current():
                self._device.driver.call("cuCtxSynchronize")
                self._device.driver.call(
                    "cuMemcpyHtoDAsync", self._address, dense.ctypes.data, dense.nbytes, 0
                )
                self._device.driver.call("cuStreamSynchronize", 0)

    def _read(self) -> Array:
        array = np.empty(self.shape, storage_dtype(self.dtype))
        if array.nbytes:
            with self._device.current():
                self._device.driver.call("cuCtxSynchronize")
                self._device.driver.call(
                    "cuMemcpyDtoHAsync", array.ctypes.data, self._address, array.nbytes, 0
                )
                self._device.driver.call("cuStreamSynchronize", 0)
        return array


class CudaMemory(Memory):
    """The memory of a GPU, of the first one there is by default."""

    def __init__(self, ordinal: int = 0) -> None:
        super().__init__()
        self.device = CudaDevice.get(ordinal)

    def empty(self, shape: tuple[int, ...], dtype: str) -> CudaBuffer:
        """A tensor of zeros."""
        size = int(np.prod(shape)) * storage_dtype(dtype).itemsize
        with self.device.current():
            kept = _Allocation(self.device, size)
        return CudaBuffer(self, dtype, tuple(shape), kept, kept.address)

    def recorded(self, run: Callable[[object], None]) -> Callable[[], None]:
        """A CUDA graph of it, recorded when it is first called.

        All that is recorded for one memory runs on one stream, in the order of the calls.
        """
        return Recording(self._stopwatch, run)

    @functools.cached_property
    def _stopwatch(self) -> Stopwatch:
        return Stopwatch(self.device)


class Recording:
    """Launches as a graph of the driver's, which begins at the first call."""

    def __init__(self, watch: Stopwatch, run: Callable[[object], None]) -> None:
        self._watch, self._run = watch, run
        self._graph: Graph | None = None

    def __call__(self) -> None:
        """Enqueue them all."""
        if self._graph is None:
            self._graph = self._watch.capture(self._run)
            weakref.finalize(self, self._graph.close).atexit = False
        self._graph.enqueue()
