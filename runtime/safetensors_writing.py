"""A writer of safetensors files, in the format of `dslc.runtime.safetensors`: whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.runtime.elements import Array

_NAMES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "uint32": "U32",
    "int32": "I32", "uint64": "U64", "int64": "I64", "float16": "F16", "float32": "F32",
    "float64": "F64", "complex64": "C64", "bfloat16": "BF16", "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2", "float8_e8m0fnu": "F8_E8M0",
}  # fmt: skip
_ALIGN = 8  # of the header's length


def write_safetensors(
    path: str | os.PathLike[str],
    tensors: Mapping[str, Array],
    metadata: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write arrays by name, in row-major order, the widest elements first so that all are aligned.

    The file appears when it is complete. DSL0783 for an element type that the format has not.
    """
    order = sorted(tensors, key=lambda name: -tensors[name].dtype.itemsize)
    header: dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    at = 0
    for name in order:
        array = tensors[name]
        kind = _NAMES.get(array.dtype.name)
        if kind is None:
            raise error(
                "DSL0783", f"tensor {name!r} is of dtype {array.dtype}, which is not written"
            )
        end = at + array.nbytes
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGN)
    target = Path(path)
    part = target.with_name(target.name + f".{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for name in order:
                file.write(np.ascontiguousarray(tensors[name]).reshape(-1).view(np.uint8).data)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
