"""The short way in C (short.c), where it was built: the same checks and launches, less of Python."""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable, Sequence
from typing import Any

from dslc.compiler.artifact import Param
from dslc.runtime.cuda.plan import Direct, Frame
from dslc.runtime.cuda.streams import stream_handle
from dslc.runtime.elements import storage_dtype
from dslc.runtime.expression import Number

Anew = Callable[..., "Frame | bool"]
_KINDS = {"f": "f", "b": "b"}


def extension() -> Any:
    """The built extension's module, or None: it is optional (no compiler, another Python)."""
    try:
        return importlib.import_module("dslc.runtime.cuda._short")
    except ImportError:
        return None


def native_call(
    params: Sequence[Param],
    check: Callable[..., bool],
    query: Callable[[int], int],
    device: int,
    direct: Direct,
    anew: Anew,
    tensors: Sequence[object],
) -> Callable[[Sequence[object], object], bool] | None:
    """A call (arguments, stream) -> whether they fit; None where the extension is not there.

    `check` compares the tensors, and `query` gives the device's current stream. `anew` (stream, then
    addresses and scalars in the order of the parameters) launches what has not been launched before: it
    gives False where that does not fit, and a frame when the same comes again. `tensors` are those that
    others have to look like: where their type has DLPack's C exchange interface, it compares them.
    """
    module = extension()
    if module is None or len(params) > module.MOST:
        return None
    kinds = "".join(
        "t" if p.dims is not None else _KINDS.get(storage_dtype(p.dtype).kind, "i") for p in params
    )

    def remembered(*given: Number) -> object:
        frame = anew(*given)
        if not isinstance(frame, Frame):
            return frame
        return frame, ctypes.addressof(frame.config), ctypes.addressof(frame.parameters)

    launch = ctypes.cast(direct.launch, ctypes.c_void_p).value
    call: Callable[[Sequence[object], object], bool] = module.Short(
        kinds, check, query, device, stream_handle, remembered, direct.again,
        launch, direct.handle_of.value, _exchange_of(tensors), tuple(tensors),
    )  # fmt: skip
    return call


def _exchange_of(tensors: Sequence[object]) -> object:
    """The capsule of DLPack's C exchange interface that all these tensors' types share, or None."""
    exchanges = {
        id(x): x for x in (getattr(type(t), "__dlpack_c_exchange_api__", None) for t in tensors)
    }
    return next(iter(exchanges.values())) if len(exchanges) == 1 else None
