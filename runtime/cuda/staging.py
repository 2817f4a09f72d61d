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
        self._copies: list[tuple[int, Array, Array, Array | None]] = []

    def take(self, array: Array, *, written: bool, strided: bool = False) -> DeviceArray:
        """A copy of the array on the device; a written one goes back when the launch is done.

        It is dense but where a kernel binds its strides (`strided`): there it has the array's own.
        """
        flat, like = _like(array) if strided else _dense(array)
        address = self._device.allocate(flat.nbytes)
        self._copies.append((address, flat, like, array if written else None))
        self._device.driver.call(
            "cuMemcpyHtoDAsync", address, flat.ctypes.data, flat.nbytes, self._stream
        )
        return DeviceArray(
            address,
            array.shape,
            dense_strides(array.shape) if flat is like else _steps(like),
            array.dtype.name,
            self._device.ordinal,
            owner=flat,
        )

    def bring_back(self) -> None:
        """Wait for the launch, and copy what it wrote into the caller's arrays."""
        driver = self._device.driver
        for address, flat, like, array in self._copies:
            if array is not None and flat.nbytes:
                driver.call(
                    "cuMemcpyDtoHAsync", flat.ctypes.data, address, flat.nbytes, self._stream
                )
                driver.call("cuStreamSynchronize", self._stream)
                array[...] = like
        driver.call("cuStreamSynchronize", self._stream)

    def free(self) -> None:
        """Give the copies' memory back."""
        for address, _, _, _ in self._copies:
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


def _dense(array: Array) -> tuple[Array, Array]:
    """The array's elements row by row: as memory, and as an array."""
    dense = np.ascontiguousarray(array)
    return dense, dense


def _like(array: Array) -> tuple[Array, Array]:
    """The same with the array's own strides, unless it is empty or lies backwards."""
    if not array.size or any(step < 0 or step % array.itemsize for step in array.strides):
        return _dense(array)
    last = sum((n - 1) * step for n, step in zip(array.shape, _steps(array), strict=True))
    flat = np.zeros(last + 1, array.dtype)
    like = np.lib.stride_tricks.as_strided(flat, array.shape, array.strides)
    like[...] = array
    return flat, like


def _steps(array: Array) -> tuple[int, ...]:
    """Strides in elements."""
    return tuple(step // array.itemsize for step in array.strides)
