"""One thread for the products of a run.

A kernel makes tens of thousands of products of 128 x 128 x 512, each of 0.1 ms: handing them to several
threads costs more than it saves, ten times more on a busy host.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

_SUFFIXES = ("64_", "")


@cache
def _openblas() -> tuple[Callable[[], int], Callable[[int], Any]] | None:
    """How to ask and set the threads of the OpenBLAS that NumPy's wheel brings, where it does."""
    folder = Path(np.__file__).parent.with_name("numpy.libs")
    for path in sorted(folder.glob("libscipy_openblas*")):
        library = ctypes.CDLL(str(path))
        for suffix in _SUFFIXES:
            get = getattr(library, f"scipy_openblas_get_num_threads{suffix}", None)
            put = getattr(library, f"scipy_openblas_set_num_threads{suffix}", None)
            if get is not None and put is not None:
                return get, put
    return None


@contextmanager
def one_thread() -> Iterator[None]:
    """NumPy's products in this thread alone; as before afterwards."""
    controls = _openblas()
    if controls is None:
        yield
        return
    get, put = controls
    before = get()
    put(1)
    try:
        yield
    finally:
        put(before)
