"""The CPU of this machine: libraries loaded into this process, their kernels called by its threads."""

from __future__ import annotations

import ctypes
import functools
import importlib
import threading
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from dslc.runtime.native.features import host_features, host_machine
from dslc.runtime.native.loading import load_library
from dslc.runtime.native.pool import Pool, thread_count
from dslc.runtime.native.processor import Word

_SCRATCH_ALIGN = 64
_MASK = 0xFFFFFFFFFFFFFFFF

Function = Callable[[Any, int, int, int], int]


@functools.cache
def extension() -> Any:
    """The extension of calls.c, or None: it is optional (no compiler, another Python)."""
    try:
        return importlib.import_module("dslc.runtime.native._calls")
    except ImportError:
        return None


class HostProcessor:
    """This machine's CPU; `HostProcessor.get` gives the one object, with the threads of all kernels."""

    def __init__(self, features: frozenset[str], threads: int) -> None:
        self.machine = host_machine()
        self.name = f"this CPU ({self.machine})"
        self.features = features
        self.threads = threads
        self._pool = Pool(threads)

    @staticmethod
    @functools.cache
    def get() -> HostProcessor:
        """The CPU with the features that the system tells."""
        return HostProcessor(host_features(), thread_count())

    def load(self, library: bytes) -> HostLibrary:
        """The library of these bytes in this process."""
        return HostLibrary(load_library(library), self._pool)


class HostLibrary:
    """A library in this process."""

    def __init__(self, library: ctypes.CDLL, pool: Pool) -> None:
        self._library, self._pool = library, pool
        self._functions: dict[str, Function] = {}
        self._own = threading.local()

    def call(
        self,
        symbol: str,
        words: Sequence[Word],
        written: Collection[int],
        turns: int,
        threads: int,
        scratch: int = 0,
        names: Sequence[str] = (),
    ) -> int:
        """Ranges of the turns on threads of the pool; arrays are used where they are."""
        values = [w if isinstance(w, int) else w.ctypes.data for w in words]
        table = (ctypes.c_uint64 * len(values))(*(v & _MASK for v in values))
        native = extension()
        if native is not None:
            address = ctypes.addressof(table)
            status: int = native.run(self.address(symbol), address, turns, threads, scratch)
            return status
        function = self._functions.get(symbol) or self._find(symbol)

        def run(begin: int, end: int) -> int:
            return function(table, begin, end, self._scratch(scratch))

        return self._pool.run(run, turns, threads)

    def address(self, symbol: str) -> int:
        """Where a kernel begins."""
        function: Any = self._functions.get(symbol) or self._find(symbol)
        address: int = ctypes.cast(function, ctypes.c_void_p).value or 0
        return address

    def _find(self, symbol: str) -> Function:
        function = self._library[symbol]
        function.restype = ctypes.c_int32
        function.argtypes = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
        self._functions[symbol] = function
        return function

    def _scratch(self, size: int) -> int:
        """Memory of the calling thread alone, kept for its next call."""
        held = getattr(self._own, "scratch", None)
        if held is None or held.size < size + _SCRATCH_ALIGN:
            held = self._own.scratch = np.empty(size + _SCRATCH_ALIGN, np.uint8)
        address: int = held.ctypes.data
        return -(-address // _SCRATCH_ALIGN) * _SCRATCH_ALIGN
