"""The bench of NVIDIA GPUs: cold caches, no host between launches, the median of many.

Launches go round copies of the arguments that together are four times the level-2 cache, so that none
finds its weights there. They are captured in a graph of at least 400 us, which is replayed between two
events.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.binding import dense_strides
from dslc.runtime.cuda.arrays import DeviceArray
from dslc.runtime.cuda.device import CudaDevice
from dslc.runtime.cuda.kernel import CudaKernel
from dslc.runtime.cuda.timing import L2_BYTES, Graph, Stopwatch
from dslc.tuner.checking import difference

if TYPE_CHECKING:
    from dslc.compiler.artifact import Artifact, Param
    from dslc.tuner.bench import Effort
    from dslc.tuner.inputs import Inputs

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Key: TypeAlias = tuple[str, str]  # a parameter, and how it is stored

_CACHES = 4  # times the level-2 cache that all copies take at least
_MOST_COPIES = 256
_SHARE = 0.4  # of the free memory that copies may take
_GRAPH = 400e-6  # seconds of launches
_FIRST, _MOST_LAUNCHES = 8, 2000
_STORAGES = 24  # ways to pack weights whose copies are kept
_UNWRITTEN = 0xFF  # bytes of outputs before a check: NaN in floats


class CudaBench:
    """One GPU with the arguments of one kernel on it."""

    def __init__(self, inputs: Inputs, ordinal: int = 0) -> None:
        self.inputs = inputs
        self._device = CudaDevice.get(ordinal)
        self.device = self._device.name
        self.driver = self._device.driver_version
        self.watch = Stopwatch(self._device)
        self.reference: dict[str, Array] | None = None
        self._held: dict[Key, list[DeviceArray]] = {}
        self._users: Counter[Key] = Counter()

    def load(self, artifact: Artifact, predicted: float = 0.0) -> CudaLoaded:
        """Upload what this configuration needs beyond what is there."""
        params = [p for p in artifact.signature.params if p.dims is not None]
        copies = self._copies(params)
        arrays = {p.name: self._arrays(p, copies) for p in params}
        keys = [_key(p) for p in params]
        self._users.update(keys)
        scalars = {
            p.name: self.inputs.scalar(p.name) for p in artifact.signature.params if p.dims is None
        }
        return CudaLoaded(self, artifact, arrays, scalars, keys)

    def works(self) -> bool:
        """Whether the context is sound."""
        try:
            self.watch.wait()
        except DiagnosticError:
            return False
        return True

    def leave(self, keys: Iterable[Key]) -> None:
        """A configuration uses these arrays no more."""
        self._users.subtract(keys)

    def close(self) -> None:
        """Give all memory back; after a fault of a kernel the driver has done so."""
        with contextlib.suppress(DiagnosticError):
            for arrays in self._held.values():
                self._free(arrays)
            self._held.clear()
            self.watch.close()

    def upload(self, array: DeviceArray, values: Array) -> None:
        """Copy host values to the device, and wait."""
        dense = np.ascontiguousarray(values)
        with self._device.current():
            self._device.driver.call(
                "cuMemcpyHtoDAsync",
                array.address,
                dense.ctypes.data,
                dense.nbytes,
                self.watch.stream,
            )
        self.watch.wait()

    def download(self, array: DeviceArray, count: int, dtype: np.dtype[Any]) -> Array:
        """Values of the device, after all of the stream."""
        values = np.empty(count, dtype)
        with self._device.current():
            self._device.driver.call(
                "cuMemcpyDtoHAsync",
                values.ctypes.data,
                array.address,
                values.nbytes,
                self.watch.stream,
            )
        self.watch.wait()
        return values

    def fill(self, array: DeviceArray) -> None:
        """Overwrite an output, so that what is not written shows."""
        with self._device.current():
            self._device.driver.call(
                "cuMemsetD8Async",
                array.address,
                _UNWRITTEN,
                max(1, array.nbytes),
                self.watch.stream,
            )

    def _bytes(self, stored: Param) -> int:
        return self.inputs.extent(stored).span * self.inputs.storage(stored).itemsize

    def _copies(self, params: list[Param]) -> int:
        """How many copies of all tensors there are, the same for every configuration."""
        each = max(1, sum(self._bytes(p) for p in params))
        cache = self._device.attribute(L2_BYTES) or 60 << 20
        wanted = ceil(_CACHES * cache / each)
        room = int(self.watch.free_bytes() * _SHARE) // each
        held = max((len(a) for a in self._held.values()), default=0)
        return held or max(1, min(wanted, room, _MOST_COPIES))

    def _arrays(self, stored: Param, copies: int) -> list[DeviceArray]:
        key = _key(stored)
        if key in self._held:
            self._held[key] = self._held.pop(key)  # the last used comes last
            return self._held[key]
        extent, dtype = self.inputs.extent(stored), self.inputs.storage(stored)
        idle = [k for k in self._held if k[0] == stored.name and not self._users[k]]
        room = self.watch.free_bytes() - 2 * copies * extent.span * dtype.itemsize
        if idle and (room < 0 or len(idle) >= _STORAGES):
            self._free(self._held.pop(idle[0]))
        copies_of = [self._allocate(extent.span, extent, dtype) for _ in range(copies)]
        if stored.mode != "out":
            self.upload(copies_of[0], self.inputs.array(stored))
            for other in copies_of[1:]:
                self.watch.copy(other.address, copies_of[0].address, extent.span * dtype.itemsize)
        self._held[key] = copies_of
        return copies_of

    def _allocate(self, span: int, extent: Any, dtype: np.dtype[Any]) -> DeviceArray:
        address = self._device.allocate(span * dtype.itemsize)
        return DeviceArray(address, extent.shape, extent.strides, dtype.name, self._device.ordinal)

    def _free(self, arrays: list[DeviceArray]) -> None:
        self.watch.wait()
        for array in arrays:
            self._device.free(array.address)


def _key(stored: Param) -> Key:
    return stored.name, json.dumps(stored.packed, sort_keys=True)


class CudaLoaded:
    """A configuration on the GPU."""

    def __init__(
        self,
        bench: CudaBench,
        artifact: Artifact,
        arrays: Mapping[str, list[DeviceArray]],
        scalars: Mapping[str, object],
        keys: Sequence[Key],
    ) -> None:
        self._keys = keys
        self._bench = bench
        self._artifact = artifact
        self._arrays = arrays
        self._scalars = scalars
        self._kernel = CudaKernel(artifact)
        self._sizes = {d: bench.inputs.sizes[d] for d in artifact.signature.dims}
        self._graph: Graph | None = None
        self._launches = 1

    def wrong(self) -> str | None:
        """Run it once and compare what it wrote."""
        bench = self._bench
        params = {p.name: p for p in self._artifact.signature.params}
        for name in bench.inputs.written:
            first = self._arrays[name][0]
            if params[name].mode == "out":
                bench.fill(first)
            else:
                bench.upload(first, bench.inputs.array(params[name]))
        self._launch(0, bench.watch.stream)
        bench.watch.wait()
        results = {}
        for name in bench.inputs.written:
            dtype = bench.inputs.storage(params[name])
            count = bench.inputs.extent(params[name]).span
            results[name] = bench.download(self._arrays[name][0], count, dtype)
        if bench.reference is None:
            bench.reference = results
            return None
        for name, result in results.items():
            text = difference(bench.reference[name], result, bench.inputs.parameters[name].dtype)
            if text is not None:
                return f"{name}: {text}"
        return None

    def time(self, effort: Effort) -> float:
        """The median over replays of the graph, by launches."""
        if self._graph is None:
            copies = max((len(a) for a in self._arrays.values()), default=1)
            self._capture(max(_FIRST, copies))
            assert self._graph is not None
            whole = self._graph.seconds(1, 1)
            if whole < _GRAPH:
                self._capture(ceil(self._launches * _GRAPH / max(whole, 1e-7)))
        return self._graph.seconds(effort.warm, effort.samples) / self._launches

    def _capture(self, launches: int) -> None:
        """A graph of so many launches takes the place of the one that there is."""
        if self._graph is not None:
            self._graph.close()
        self._launches = min(launches, _MOST_LAUNCHES)

        def enqueue(stream: int) -> None:
            for number in range(self._launches):
                self._launch(number, stream)

        self._graph = self._bench.watch.capture(enqueue)

    def close(self) -> None:
        """Give back the graph and the workspaces."""
        self._bench.watch.wait()
        if self._graph is not None:
            self._graph.close()
            self._graph = None
        self._kernel.release()
        self._bench.leave(self._keys)
        self._keys = ()

    def _launch(self, number: int, stream: int) -> None:
        args: dict[str, object] = dict(self._scalars)
        for name, arrays in self._arrays.items():
            args[name] = arrays[number % len(arrays)]
        self._kernel.launch(args, stream, self._sizes)


def host_copy(array: DeviceArray, dtype: np.dtype[Any]) -> Array:
    """An array of the device on the host, dense; `dtype` is that of its elements."""
    device = CudaDevice.get(array.device)
    span = array.nbytes // dtype.itemsize
    flat = np.empty(span, dtype)
    with device.current():
        stream = array.stream or 0
        device.driver.call(
            "cuMemcpyDtoHAsync", flat.ctypes.data, array.address, flat.nbytes, stream
        )
        device.driver.call("cuStreamSynchronize", stream)
    if array.strides == dense_strides(array.shape):
        return flat.reshape(array.shape)
    steps = tuple(s * dtype.itemsize for s in array.strides)
    return np.ascontiguousarray(np.lib.stride_tricks.as_strided(flat, array.shape, steps))
