"""Arrays of the host as arguments: copied to the GPU before a launch, and back after it.

A convenience for trying things: every such call allocates, copies and waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from dslc.runtime.binding import dense_strides
from dslc.runtime.cuda.arrays import DeviceArray
from dslc.runtime.cuda.device import CudaDevice
from dslc.runtime.elements import Array


class Staging:
    """The copies of one launch, on its stream."""

    def __init__(self, device: CudaDevice, stream: int) -> None:
        self._device = device
        self._stream = stream
        self._copies: list[tuple[int, Array, Array | None]] = []

    def take(self, array: Array, *, written: bool) -> DeviceArray:
        """A copy of the array on the device; a written one goes back when the launch is done."""
        dense = np.ascontiguousarray(array)
        address = self._device.allocate(dense.nbytes)
        self._copies.append((address, dense, array if written else None))
        self._device.driver.call(
            "cuMemcpyHtoDAsync", address, dense.ctypes.data, dense.nbytes, self._stream
        )
        return DeviceArray(
            address,
            array.shape,
            dense_strides(array.shape),
            array.dtype.name,
            self._device.ordinal,
            owner=dense,
        )

    def bring_back(self) -> None:
        """Wait for the launch, and copy what it wrote into the caller's arrays."""
        driver = self._device.driver
        for address, dense, array in self._copies:
            if array is not None and dense.nbytes:
                out = np.empty_like(dense)
                driver.call("cuMemcpyDtoHAsync", out.ctypes.data, address, out.nbytes, self._stream)
                driver.call("cuStreamSynchronize", self._stream)
                array[...] = out
        driver.call("cuStreamSynchronize", self._stream)

    def free(self) -> None:
        """Give the copies' memory back."""
        for address, _, _ in self._copies:
            self._device.free(address)


@contextmanager
def staging(device: CudaDevice, stream: int) -> Iterator[Staging]:
    """Copies that last as long as the block, which the launch is in."""
    with device.current():
        staged = Staging(device, stream)
        try:
            yield staged
            staged.bring_back()
        finally:
            staged.free()
