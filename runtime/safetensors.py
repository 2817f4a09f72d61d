"""A strict reader of safetensors files: memory-mapped, without a copy.

The format is 8 bytes of header length (little-endian), a JSON header of names to dtype, shape and byte
range, and the data (https://github.com/huggingface/safetensors, "Format"). Every rule of it is checked
before a tensor is given out: the ranges lie one after another, fill the data and fit their shapes.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.runtime.elements import Array, extension_dtype

_LARGEST_HEADER = 100_000_000  # the format's own limit
_LARGEST = 1 << 63
_MOST_AXES = 32
_NUMPY = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4",
    "U64": "<u8", "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8", "C64": "<c8",
}  # fmt: skip
_EXTENSION = {
    "BF16": "bf16",
    "F8_E4M3": "f8e4m3",
    "F8_E5M2": "f8e5m2",
    "F8_E8M0": "e8m0",
}
# Packed without padding; listed, but there is no array type to give them out as.
_BITS = {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "BF16": 16}


@dataclass(frozen=True, slots=True)
class Stored:
    """Where a tensor lies: the format's name of its dtype, its shape and its bytes in the file."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int


class SafeTensors(Mapping[str, Array]):
    """The tensors of a file by name, read when asked for; arrays are read-only views of the file.

    bf16 and the floats of 8 bits are arrays of the ml_dtypes types. `metadata` is the header's own.
    """

    def __init__(self, path: str, stored: dict[str, Stored], metadata: dict[str, str], data: Any):
        self.path = path
        self.stored = stored
        self.metadata = metadata
        self._data = data

    def __getitem__(self, name: str) -> Array:
        stored = self.stored[name]
        if stored.dtype in _EXTENSION:
            dtype = extension_dtype(_EXTENSION[stored.dtype])
        elif stored.dtype in _NUMPY:
            dtype = np.dtype(_NUMPY[stored.dtype])
        else:
            raise error(
                "DSL0783",
                f"{self.path}: tensor {name!r} is of dtype {stored.dtype}, which is not read",
            )
        if stored.start == stored.stop:
            return np.empty(stored.shape, dtype)
        count = math.prod(stored.shape)
        flat = np.frombuffer(self._data, np.uint8, stored.stop - stored.start, stored.start)
        array = flat.view(dtype) if stored.start % dtype.alignment == 0 else _aligned(flat, dtype)
        assert array.size == count
        return array.reshape(stored.shape)

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)


def read_safetensors(path: str | os.PathLike[str]) -> SafeTensors:
    """Open a safetensors file.

    DSL0780 where it cannot be read, DSL0781 where it is cut short or no safetensors file, DSL0782 for
    a tensor that its header describes wrongly.
    """
    name = os.fspath(path)
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as problem:
        raise error("DSL0780", f"{name} cannot be read: {problem.strerror}") from None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise error("DSL0780", f"{name} is not a file")
        if status.st_size < 8:
            _refuse(name, f"{status.st_size} bytes are no safetensors file")
        data = mmap.mmap(fd, status.st_size, access=mmap.ACCESS_READ)
    finally:
        os.close(fd)
    header, offset = _header(name, data)
    metadata = _metadata(name, header.pop("__metadata__", {}))
    stored = {t: _stored(name, t, entry, offset) for t, entry in header.items()}
    _check_ranges(name, stored, offset, len(data))
    return SafeTensors(name, stored, metadata, data)


def _refuse(path: str, what: str) -> NoReturn:
    raise error("DSL0781", f"{path}: {what}", hint="is it complete? compare its size or checksum")


def _header(path: str, data: mmap.mmap) -> tuple[dict[str, Any], int]:
    """The header's object, and where the data begins."""
    length = int.from_bytes(data[:8], "little")
    if length > _LARGEST_HEADER:
        _refuse(path, f"a header of {length} bytes is past the format's limit")
    if length > len(data) - 8:
        _refuse(path, f"it ends within the header ({len(data)} of at least {8 + length} bytes)")
    try:
        header = json.loads(
            data[8 : 8 + length].decode("utf-8"),
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
        )
    except (ValueError, RecursionError) as problem:
        reason = "it nests too deeply" if isinstance(problem, RecursionError) else str(problem)
        _refuse(path, f"the header is not JSON as the format asks: {reason[:200]}")
    if not isinstance(header, dict):
        _refuse(path, "the header is not a JSON object")
    return header, 8 + length


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {twice!r} occurs twice")
    return unique


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


def _metadata(path: str, found: Any) -> dict[str, str]:
    if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
        _refuse(path, "__metadata__ is not an object of texts")
    return found


def _stored(path: str, name: str, entry: Any, offset: int) -> Stored:
    def wrong(what: str) -> NoReturn:
        raise error("DSL0782", f"{path}: tensor {name!r}: {what}")

    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        wrong("expected an object of dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    bits = _bits(dtype)
    if bits is None:
        wrong(f"there is no dtype {str(dtype)[:40]!r}")
    if not _are_sizes(shape) or not _are_sizes(offsets) or len(offsets) != 2:
        wrong("shape and data_offsets are lists of integers from 0 up")
    start, stop = offsets
    # An axis of no elements makes the others no smaller: no array has that shape.
    held = len(shape) <= _MOST_AXES and math.prod(max(1, n) for n in shape) * bits < _LARGEST
    size = math.prod(shape) * bits if held else 0
    if not held or size % 8:
        wrong(f"a tensor {str(shape)[:80]} of {dtype} cannot be held")
    if stop - start != size // 8:
        wrong(f"{shape} of {dtype} takes {size // 8} bytes, its range has {stop - start}")
    return Stored(dtype, tuple(shape), offset + start, offset + stop)


def _bits(dtype: Any) -> int | None:
    if not isinstance(dtype, str):
        return None
    if dtype in _NUMPY:
        return 8 * np.dtype(_NUMPY[dtype]).itemsize
    return _BITS.get(dtype, 8 if dtype in _EXTENSION else None)


def _are_sizes(found: Any) -> bool:
    return isinstance(found, list) and all(type(n) is int and 0 <= n < _LARGEST for n in found)


def _check_ranges(path: str, stored: dict[str, Stored], offset: int, size: int) -> None:
    """The tensors lie one after another and fill the data: no hole, no overlap, no end past it."""
    at = offset
    for name, tensor in sorted(stored.items(), key=lambda item: (item[1].start, item[1].stop)):
        if tensor.stop > size:
            _refuse(path, f"it ends at byte {size}, within tensor {name!r} (to byte {tensor.stop})")
        if tensor.start != at:
            what = "overlaps another" if tensor.start < at else "leaves a hole before it"
            raise error("DSL0782", f"{path}: tensor {name!r} {what}")
        at = tensor.stop
    if at != size:
        _refuse(path, f"{size - at} bytes at its end belong to no tensor")


def _aligned(flat: Array, dtype: np.dtype[Any]) -> Array:
    """A read-only copy where the file has the tensor at an odd address."""
    array = flat.copy().view(dtype)
    array.flags.writeable = False
    return array
