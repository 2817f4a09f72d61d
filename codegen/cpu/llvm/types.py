"""Types and constants of Vector IR as LLVM writes them."""

from __future__ import annotations

import math
import struct

from dslc.compiler.dtypes import BF16, BOOL, F16, F32, F64, DType
from dslc.compiler.vector.types import PointerType, Type
from dslc.compiler.vector.values import Constant

_FLOATS = {F16: "half", BF16: "bfloat", F32: "float", F64: "double"}


def scalar_type(dtype: DType) -> str:
    """`float`, `i32`, and `i1` for a bool; signs are those of operations."""
    return _FLOATS.get(dtype) or ("i1" if dtype == BOOL else f"i{dtype.bits}")


def type_text(type_: Type) -> str:
    """`<16 x float>`, `i64`, `ptr`."""
    if isinstance(type_, PointerType):
        return "ptr"
    scalar = scalar_type(type_.dtype)
    return scalar if type_.lanes is None else f"<{type_.lanes} x {scalar}>"


def suffix(type_: Type) -> str:
    """The part of an intrinsic's name that says a type: `v16f32`, `i64`, `p0`."""
    if isinstance(type_, PointerType):
        return "p0"
    dtype = type_.dtype
    scalar = "bf16" if dtype == BF16 else f"f{dtype.bits}" if dtype.is_float else scalar_type(dtype)
    return scalar if type_.lanes is None else f"v{type_.lanes}{scalar}"


def constant_text(x: Constant) -> str:
    """The number, `splat (float 0x...)`, or the numbers of all lanes."""
    scalar = scalar_type(x.type.dtype)
    numbers = [number_text(v, x.type.dtype) for v in x.values]
    if x.type.lanes is None:
        return numbers[0]
    if x.is_splat:
        return f"splat ({scalar} {numbers[0]})"
    return f"<{', '.join(f'{scalar} {n}' for n in numbers)}>"


def number_text(value: float, dtype: DType) -> str:
    """A number as LLVM reads it without loss: floats by their bits, f32 by those of the f64."""
    if dtype == BOOL:
        return "true" if value else "false"
    if not dtype.is_float:
        return str(int(value))
    if dtype in (F16, BF16):
        letter, pattern = ("H", "<e") if dtype == F16 else ("R", "<f")
        bits = int.from_bytes(struct.pack(pattern, value), "little")
        return f"0x{letter}{bits >> (0 if dtype == F16 else 16):04X}"
    if math.isnan(value):
        return "0x7FF8000000000000"
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
