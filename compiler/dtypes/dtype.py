"""The element types of the language.

A dtype is data: its kind, its width and, for a float, how its bits divide. Two dtypes are equal when
these agree, so they serve as dictionary keys and compare across processes.
"""

from __future__ import annotations

import enum
import functools
import re
from dataclasses import dataclass

from dslc.compiler.interned import Interned


class Kind(enum.Enum):
    """What the bits of an element mean."""

    INT = "int"
    UINT = "uint"
    FLOAT = "float"
    BOOL = "bool"
    SCALE = "scale"  # e8m0: a power of two, no sign and no mantissa
    INDEX = "index"  # 64-bit integers of shapes and loops, weak towards every other dtype


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class DType(Interned):
    """An element type.

    `bits` is the width of one element's code; a float has 1 sign bit, `exponent` and `mantissa`
    bits with 1 + exponent + mantissa <= bits (tf32 counts as 32 bits wide: 13 of them unused).
    """

    name: str
    kind: Kind
    bits: int
    exponent: int = 0
    mantissa: int = 0

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"dslc.{self.name}"

    @property
    def is_integer(self) -> bool:
        """Whether elements are integers (bool is not one; index is)."""
        return self.kind in (Kind.INT, Kind.UINT, Kind.INDEX)

    @property
    def is_signed(self) -> bool:
        """Whether negative values exist."""
        return self.kind in (Kind.INT, Kind.INDEX, Kind.FLOAT)

    @property
    def is_float(self) -> bool:
        """Whether elements are floating-point numbers (e8m0 counts)."""
        return self.kind in (Kind.FLOAT, Kind.SCALE)

    @property
    def is_low_bit(self) -> bool:
        """Whether the compiler is free to choose the packed storage: 1 to 7 bits."""
        return self.bits < 8 and self.kind is not Kind.BOOL

    @property
    def integer_range(self) -> tuple[int, int]:
        """The least and the greatest value of an integer type, both inclusive."""
        if self.kind is Kind.BOOL:
            return 0, 1
        if self.kind is Kind.UINT:
            return 0, (1 << self.bits) - 1
        return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1


INDEX = DType("index", Kind.INDEX, 64)
BOOL = DType("bool", Kind.BOOL, 8)
F16 = DType("f16", Kind.FLOAT, 16, 5, 10)
BF16 = DType("bf16", Kind.FLOAT, 16, 8, 7)
TF32 = DType("tf32", Kind.FLOAT, 32, 8, 10)
F32 = DType("f32", Kind.FLOAT, 32, 8, 23)
F64 = DType("f64", Kind.FLOAT, 64, 11, 52)
E8M0 = DType("e8m0", Kind.SCALE, 8, 8, 0)
MX_BLOCK = 32  # elements that share a scale (OCP Microscaling Formats Specification 1.0, section 5)

_INTEGER = re.compile(r"([iu])(1|2|3|4|5|6|7|8|16|32|64)\Z")
_SMALL_FLOAT = re.compile(r"f([3-8])e([1-9])m([0-9])\Z")
_NAMED = {d.name: d for d in (INDEX, BOOL, F16, BF16, TF32, F32, F64, E8M0)}


@functools.cache
def parse_dtype(name: str) -> DType | None:
    """The dtype of that name, or None where there is none (`f7e3m3`, `u4`, `bf16`, ...)."""
    if name in _NAMED:
        return _NAMED[name]
    if match := _INTEGER.match(name):
        kind = Kind.INT if match[1] == "i" else Kind.UINT
        return DType(name, kind, int(match[2]))
    if match := _SMALL_FLOAT.match(name):
        bits, exponent, mantissa = (int(g) for g in match.groups())
        if 1 + exponent + mantissa == bits:
            return DType(name, Kind.FLOAT, bits, exponent, mantissa)
    return None


def dtype_named(name: str) -> DType:
    """A dtype that there is."""
    dtype = parse_dtype(name)
    assert dtype is not None, name
    return dtype


I32 = dtype_named("i32")
I64 = dtype_named("i64")
U8 = dtype_named("u8")
U32 = dtype_named("u32")
U64 = dtype_named("u64")


@functools.cache
def all_dtypes() -> tuple[DType, ...]:
    """Every dtype that a program may name, narrow ones first."""
    widths = [*range(1, 9), 16, 32, 64]
    names = [f"{letter}{bits}" for bits in widths for letter in "iu"]
    names += [
        f"f{bits}e{exponent}m{bits - 1 - exponent}"
        for bits in range(3, 9)
        for exponent in range(1, bits)
    ]
    dtypes = [dtype_named(n) for n in names]
    dtypes += [BOOL, F16, BF16, TF32, F32, F64, E8M0]
    return tuple(sorted(dtypes, key=lambda d: d.bits))
