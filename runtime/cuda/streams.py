"""The stream of a launch: what a caller passes for one, and what holds where none is passed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from dslc.compiler.diagnostics import error
from dslc.runtime.cuda.arrays import DeviceArray, is_cupy, is_torch

LEGACY = 0  # the default stream, which waits for the others and makes them wait


def stream_handle(stream: object) -> int:
    """The CUstream of an integer, a torch or CuPy stream, or an object with `__cuda_stream__`.

    DSL0767 for anything else.
    """
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        # A method by the protocol of cuda-core; CuPy and older code had a property.
        version, handle = protocol() if callable(protocol) else protocol
        if version == 0:
            return int(handle)
    for name in ("cuda_stream", "ptr"):  # torch.cuda.Stream, cupy.cuda.Stream
        handle = getattr(stream, name, None)
        if isinstance(handle, int):
            return handle
    raise error(
        "DSL0767",
        f"{type(stream).__name__} is no CUDA stream",
        hint="pass an integer handle, a torch or CuPy stream, or an object with __cuda_stream__",
    )


def torch_query() -> Callable[[int], int] | None:
    """What gives torch's current stream of a device; None where torch is not loaded."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return None
    query: Callable[[int], int] | None = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return query or (lambda ordinal: int(torch.cuda.current_stream(ordinal).cuda_stream))


def current_stream(ordinal: int, arrays: Iterable[DeviceArray]) -> int:
    """The stream of a launch over these arrays where the caller names none."""
    arrays = tuple(arrays)
    query = torch_query()
    if query is not None and any(is_torch(a.owner) for a in arrays):
        return query(ordinal)
    if any(is_cupy(a.owner) for a in arrays):
        cupy: Any = sys.modules["cupy"]
        return int(cupy.cuda.get_current_stream().ptr)
    return next((a.stream for a in arrays if a.stream is not None), LEGACY)
