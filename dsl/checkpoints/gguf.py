"""A strict reader of GGUF, llama.cpp's file of a model: metadata and tensors, memory-mapped.

A header with counts, key-value pairs with their types, a description of each tensor, and the data,
each tensor at a multiple of `general.alignment` (https://github.com/ggml-org/ggml, docs/gguf.md,
version 3). Sizes are checked against the file before anything is read by them.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from dslc.checkpoints.gguf_blocks import BLOCKS, PLAIN
from dslc.compiler.diagnostics import error
from dslc.quantize import Quantized
from dslc.runtime.elements import Array, extension_dtype

_SCALARS = {0: "u1", 1: "i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "?", 10: "<u8",
            11: "<i8", 12: "<f8"}  # fmt: skip
_STRING, _ARRAY = 8, 9
_MOST_AXES = 4
_LARGEST = 1 << 62


@dataclass(frozen=True, slots=True)
class Stored:
    """Where a tensor lies: its type of ggml, its shape (outermost axis first) and its first byte."""

    type: int
    shape: tuple[int, ...]
    start: int
    size: int


class GGUF(Mapping[str, "Array | Quantized"]):
    """The tensors of a file by name: arrays of plain types, `Quantized` [K, N] of matrices of blocks.

    `metadata` has the key-value pairs: numbers, texts, and lists of them.
    """

    def __init__(self, path: str, metadata: dict[str, Any], stored: dict[str, Stored], data: Any):
        self.path, self.metadata, self.stored, self._data = path, metadata, stored, data

    def __getitem__(self, name: str) -> Array | Quantized:
        tensor = self.stored[name]
        raw = np.frombuffer(self._data, np.uint8, tensor.size, tensor.start)
        if tensor.type in PLAIN:
            plain = PLAIN[tensor.type]
            dtype = extension_dtype("bf16") if plain == "bf16" else np.dtype(plain)
            return raw.view(dtype).reshape(tensor.shape)
        block = BLOCKS[tensor.type]
        if len(tensor.shape) != 2:
            what = f"tensor {name!r} of {block.name} is no matrix, but {tensor.shape}"
            raise error("DSL0786", f"{self.path}: {what}")
        columns, rows = tensor.shape
        return block.read(raw.reshape(columns, rows // block.elements, block.size))

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)


def read_gguf(path: str | os.PathLike[str]) -> GGUF:
    """Open a GGUF file of version 2 or 3, little-endian.

    DSL0780 where it cannot be read, DSL0784 where it is cut short, describes itself wrongly, or is no
    GGUF file, DSL0786 for a tensor of a type that is not read.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < 24:
                _refuse(name, 0, f"{size} bytes are no GGUF file")
            data = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise error("DSL0780", f"{name} cannot be read: {reason}") from None
    cursor = _Cursor(name, data)
    if cursor.bytes(4) != b"GGUF":
        _refuse(name, 0, "it does not begin with GGUF")
    version = cursor.number("<I")
    if version not in (2, 3):
        _refuse(name, 4, f"version {version} is not read", "versions 2 and 3, little-endian, are")
    tensors, pairs = cursor.number("<Q"), cursor.number("<Q")
    metadata: dict[str, Any] = {}
    for _ in range(cursor.count(pairs, 12)):
        key = cursor.text()
        if key in metadata:
            cursor.refuse(f"the key {key[:80]!r} occurs twice")
        metadata[key] = cursor.value(cursor.number("<I"))
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        cursor.refuse(f"general.alignment is {alignment!r}, no power of two")
    described = [_describe(cursor) for _ in range(cursor.count(tensors, 24))]
    begin = -(-cursor.at // alignment) * alignment
    stored: dict[str, Stored] = {}
    for tensor, (kind, shape, offset) in described:
        if tensor in stored:
            cursor.refuse(f"the tensor {tensor[:80]!r} occurs twice")
        stored[tensor] = _locate(name, tensor, kind, shape, begin + offset, len(data))
    return GGUF(name, metadata, stored, data)


class _Cursor:
    """Reads on through the file and never past its end."""

    def __init__(self, path: str, data: mmap.mmap) -> None:
        self.path, self._data, self.at = path, data, 0

    def refuse(self, what: str) -> NoReturn:
        _refuse(self.path, self.at, what)

    def bytes(self, size: int) -> bytes:
        if size > len(self._data) - self.at:
            self.refuse(f"{size} bytes are wanted and {len(self._data) - self.at} are left")
        self.at += size
        return self._data[self.at - size : self.at]

    def number(self, form: str) -> int:
        return int(struct.unpack(form, self.bytes(struct.calcsize(form)))[0])

    def count(self, said: int, least: int) -> int:
        """A count of entries that take at least that many bytes each."""
        if said > (len(self._data) - self.at) // least:
            self.refuse(f"{said} entries are promised, more than the file can hold")
        return said

    def text(self) -> str:
        raw = self.bytes(self.number("<Q"))
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            self.refuse("a text is not UTF-8")

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            # Pieces of tokens may be half a character.
            return self.bytes(self.number("<Q")).decode("utf-8", "surrogateescape")
        if kind in _SCALARS:
            return self._numbers(kind, 1)[0]
        if kind != _ARRAY:
            self.refuse(f"there is no value of type {kind}")
        element, said = self.number("<I"), self.number("<Q")
        if element in _SCALARS:
            return self._numbers(element, said)
        if element != _STRING:
            self.refuse(f"arrays of type {element} are not read")
        return [self.value(_STRING) for _ in range(self.count(said, 8))]

    def _numbers(self, kind: int, count: int) -> list[Any]:
        dtype = np.dtype(_SCALARS[kind])
        size = self.count(count, dtype.itemsize) * dtype.itemsize
        numbers: list[Any] = np.frombuffer(self.bytes(size), dtype).tolist()
        return numbers


def _describe(cursor: _Cursor) -> tuple[str, tuple[int, tuple[int, ...], int]]:
    name = cursor.text()
    axes = cursor.number("<I")
    if axes > _MOST_AXES:
        cursor.refuse(f"the tensor {name[:80]!r} has {axes} axes")
    shape = tuple(cursor.number("<Q") for _ in range(axes))
    return name, (cursor.number("<I"), shape[::-1], cursor.number("<Q"))


def _locate(
    path: str, name: str, kind: int, shape: tuple[int, ...], start: int, end: int
) -> Stored:
    if math.prod(max(1, n) for n in shape) > _LARGEST or start > _LARGEST:
        _refuse(path, start, f"tensor {name[:80]!r} of shape {shape} cannot be held")
    if kind in PLAIN:
        width = 2 if PLAIN[kind] == "bf16" else np.dtype(PLAIN[kind]).itemsize
        size = math.prod(shape) * width
    elif kind in BLOCKS:
        block = BLOCKS[kind]
        if not shape or shape[-1] % block.elements:
            _refuse(path, start, f"{block.elements} does not divide tensor {name[:80]!r}, {shape}")
        size = math.prod(shape) // block.elements * block.size
    else:
        hint = "read are F32, F16, BF16, " + ", ".join(b.name for b in BLOCKS.values())
        raise error("DSL0786", f"{path}: tensor {name!r} is of ggml's type {kind}", hint=hint)
    if start + size > end:
        _refuse(path, end, f"it ends within tensor {name[:80]!r}, which goes on to {start + size}")
    return Stored(kind, shape, start, size)


def _refuse(path: str, at: int, what: str, hint: str = "") -> NoReturn:
    hint = hint or "is it complete? compare its size or checksum"
    raise error("DSL0784", f"{path}, byte {at}: {what}", hint=hint)
