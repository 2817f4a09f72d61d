"""The bench of this CPU: arguments that no cache holds, on the threads that calls have.

Launches go round copies of the arguments that together are several times the last cache, so that none
finds its weights there, as those of a model do not.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from math import ceil
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from dslc.runtime.native import HostProcessor, NativeKernel
from dslc.runtime.native.caches import last_cache
from dslc.runtime.native.loading import system_library
from dslc.tuner.checking import difference

if TYPE_CHECKING:
    from dslc.compiler.artifact import Artifact, Param
    from dslc.tuner.bench import Effort
    from dslc.tuner.inputs import Inputs

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_CACHES = 4  # times the last cache that all copies take at least
_MOST_COPIES = 64
_SAMPLE = 2e-3  # seconds of launches between two looks at the clock
_UNWRITTEN = 0xFF  # bytes of outputs before a check: NaN in floats


class HostBench:
    """This CPU with the arguments of one kernel."""

    def __init__(self, inputs: Inputs) -> None:
        processor = HostProcessor.get()
        self.inputs = inputs
        self.device = processor.name
        self.driver = f"{processor.threads} threads"
        self.reference: dict[str, Array] | None = None

    def load(self, artifact: Artifact, predicted: float = 0.0) -> HostLoaded:
        """Make the arguments of a configuration."""
        return HostLoaded(self, artifact)

    def works(self) -> bool:
        """Always: a kernel that faults takes the process with it."""
        return True

    def close(self) -> None:
        """Nothing is held."""


class HostLoaded:
    """A configuration with copies of its arguments."""

    def __init__(self, bench: HostBench, artifact: Artifact) -> None:
        self._bench = bench
        self._kernel = NativeKernel(artifact, HostProcessor.get(), system_library())
        self._params = [p for p in self._kernel.artifact.signature.params if p.dims is not None]
        inputs = bench.inputs
        self._sizes = {d: inputs.sizes[d] for d in artifact.signature.dims}
        self._scalars = {
            p.name: inputs.scalar(p.name) for p in artifact.signature.params if p.dims is None
        }
        first = {p.name: self._array(p) for p in self._params}
        each = max(1, sum(a.nbytes for a in first.values()))
        count = min(_MOST_COPIES, ceil(_CACHES * last_cache() / each))
        self._copies = [first, *(self._copied(first) for _ in range(count - 1))]

    def wrong(self) -> str | None:
        """Run it once and compare what it wrote."""
        bench, args = self._bench, self._copies[0]
        for p in self._params:
            if p.mode == "out":
                _bytes(args[p.name])[...] = _UNWRITTEN
            elif p.mode == "inout":
                args[p.name][...] = self._array(p)
        self._launch(args)
        results = {n: _flat(args[n]).copy() for n in bench.inputs.written}
        if bench.reference is None:
            bench.reference = results
            return None
        for name, result in results.items():
            reason = difference(bench.reference[name], result, bench.inputs.parameters[name].dtype)
            if reason is not None:
                return f"{name}: {reason}"
        return None

    def time(self, effort: Effort) -> float:
        """The median over samples, each some launches over other copies than the last."""
        number, launches = 0, 1
        samples: list[float] = []
        while len(samples) < effort.warm + effort.samples:
            begin = time.perf_counter()
            for _ in range(launches):
                self._launch(self._copies[number % len(self._copies)])
                number += 1
            seconds = (time.perf_counter() - begin) / launches
            samples.append(seconds)
            launches = max(1, min(1000, ceil(_SAMPLE / max(seconds, 1e-7))))
        return statistics.median(samples[effort.warm :])

    def close(self) -> None:
        """Forget the copies."""
        self._copies.clear()

    def _launch(self, args: Mapping[str, Array]) -> None:
        self._kernel.launch({**self._scalars, **args}, self._sizes)

    def _array(self, stored: Param) -> Array:
        """A tensor in its shape and strides, over memory of its own."""
        inputs = self._bench.inputs
        extent = inputs.extent(stored)
        flat = np.array(inputs.array(stored))
        steps = tuple(s * flat.itemsize for s in extent.strides)
        return np.lib.stride_tricks.as_strided(flat, extent.shape, steps)

    def _copied(self, args: Mapping[str, Array]) -> dict[str, Array]:
        return {p.name: self._array(p) for p in self._params}


def _flat(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1)


def _bytes(array: Array) -> Array:
    return array.view(np.uint8) if array.flags.c_contiguous else array
