"""Types of registers: a scalar, a vector of so many lanes, or a pointer.

    f32       a scalar
    f32x16    a vector
    boolx16   a mask
    ptr       an address of a byte in memory

A lane holds one code of its dtype, however few bits that has: which container a machine takes for a
`u4` or an `f4e2m1` is decided by legalisation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TypeAlias

from dslc.compiler.dtypes import BOOL, DType, Kind, parse_dtype


@dataclass(frozen=True, slots=True)
class VectorType:
    """A scalar of the dtype (`lanes` is None) or a vector of `lanes` of them."""

    dtype: DType
    lanes: int | None = None

    def __str__(self) -> str:
        return self.dtype.name if self.lanes is None else f"{self.dtype.name}x{self.lanes}"

    @property
    def count(self) -> int:
        """The number of elements: 1 for a scalar."""
        return 1 if self.lanes is None else self.lanes

    @property
    def is_mask(self) -> bool:
        """Whether elements are bools."""
        return self.dtype == BOOL

    def of(self, dtype: DType) -> VectorType:
        """The same lanes of another dtype."""
        return replace(self, dtype=dtype)

    def by(self, lanes: int | None) -> VectorType:
        """The same dtype in another number of lanes."""
        return replace(self, lanes=lanes)


@dataclass(frozen=True, slots=True)
class PointerType:
    """An address of a byte; 8 bytes in memory."""

    def __str__(self) -> str:
        return "ptr"


POINTER = PointerType()
Type: TypeAlias = VectorType | PointerType

_TYPE = re.compile(r"(?P<dtype>\w+?)(?:x(?P<lanes>[1-9]\d{0,6}))?\Z")


def parse_type(text: str) -> Type | None:
    """The type of that text, or None where it is none."""
    if text == "ptr":
        return POINTER
    match = _TYPE.match(text)
    dtype = parse_dtype(match["dtype"]) if match else None
    if match is None or dtype is None:
        return None
    return VectorType(dtype, int(match["lanes"]) if match["lanes"] else None)


def memory_bytes(type_: Type) -> int:
    """The bytes that one element takes in memory: codes of fewer than 8 bits have a byte each."""
    return 8 if isinstance(type_, PointerType) else max(1, type_.dtype.bits // 8)


def is_index(type_: Type) -> bool:
    """Whether a register may be an offset into memory: a scalar of dtype index."""
    return isinstance(type_, VectorType) and type_.dtype.kind is Kind.INDEX and not type_.lanes
