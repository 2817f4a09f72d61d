"""The CPU of this machine, where it is an Arm one: libraries loaded through ctypes."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import sys
import tempfile
import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from dslc.runtime.aarch64.features import host_features
from dslc.runtime.aarch64.pool import Pool, thread_count
from dslc.runtime.aarch64.processor import Word

_SCRATCH_ALIGN = 64

Function = Callable[[Any, int, int, int], int]


def is_host() -> bool:
    """Whether this machine runs AArch64."""
    return platform.machine().lower() in ("aarch64", "arm64")


class HostProcessor:
    """This machine's CPU; `HostProcessor.get` gives the one object, with the threads of all kernels."""

    def __init__(self, features: frozenset[str], threads: int) -> None:
        self.name = f"this CPU ({platform.machine()})"
        self.features = features
        self.threads = threads
        self._pool = Pool(threads)

    @staticmethod
    @functools.cache
    def get() -> HostProcessor:
        """The CPU with the features that the system tells."""
        return HostProcessor(host_features(), thread_count())

    def load(self, library: bytes) -> HostLibrary:
        """Load a library's bytes. The file that the loader wants is gone when this returns."""
        suffix = ".dylib" if sys.platform == "darwin" else ".so"
        with tempfile.TemporaryDirectory(prefix=f"dslc-load-{os.getpid()}-") as folder:
            file = Path(folder, f"kernel{suffix}")
            file.write_bytes(library)
            return HostLibrary(ctypes.CDLL(str(file)), self._pool)


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
        slices: Sequence[tuple[int, int]],
        scratch: int = 0,
        names: Sequence[str] = (),
    ) -> int:
        """A slice on each thread of the pool; arrays are used where they are."""
        function = self._functions.get(symbol) or self._find(symbol)
        values = [w if isinstance(w, int) else w.ctypes.data for w in words]
        mask = 0xFFFFFFFFFFFFFFFF
        table = (ctypes.c_uint64 * len(values))(*(v & mask for v in values))

        def run(begin: int, end: int) -> int:
            return function(table, begin, end, self._scratch(scratch))

        return next((r for r in self._pool.run(run, slices) if r), 0)

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
