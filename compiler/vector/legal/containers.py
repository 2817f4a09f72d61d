"""The native dtype that holds the codes of a dtype, and how values become containers' numbers."""

from __future__ import annotations

import numpy as np
from dslc.compiler.dtypes import BOOL, F32, TF32, U8, DType, Kind, parse_dtype, value_dtype
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.constants import codes_of, constant_of
from dslc.compiler.vector.legal.builder import LegalBuilder
from dslc.compiler.vector.types import PointerType, Type, VectorType
from dslc.compiler.vector.values import Constant, Operand


def dtype_named(name: str) -> DType:
    """A dtype that there is."""
    dtype = parse_dtype(name)
    assert dtype is not None, name
    return dtype


I8, I16, U16 = dtype_named("i8"), dtype_named("i16"), dtype_named("u16")


def container(dtype: DType) -> DType:
    """The dtype of the registers that hold it: codes of floats below 32 bits are unsigned integers."""
    if dtype == TF32:
        return F32
    if dtype.is_float and dtype.bits < 32:
        return U16 if dtype.bits == 16 else U8
    if dtype.is_low_bit:
        return U8 if dtype.kind is Kind.UINT else I8
    return dtype


def contained(type_: Type) -> Type:
    """The type of a register that holds one of the type."""
    return type_ if isinstance(type_, PointerType) else type_.of(container(type_.dtype))


def contained_constant(x: Constant) -> Constant:
    """The codes of a constant as a constant of its container."""
    dtype = x.type.dtype
    held = container(dtype)
    if held == dtype:
        return x
    codes = codes_of(Constant(x.values, VectorType(dtype, len(x.values))))
    if held != F32:
        codes = np.ascontiguousarray(codes).view(value_dtype(held))
    return Constant(constant_of(codes, VectorType(held, len(x.values))).values, x.type.of(held))


def wrapped(b: LegalBuilder, x: Operand, dtype: DType) -> Operand:
    """Integers in a container of 8 bits modulo 2^bits, in the dtype's range."""
    if not dtype.is_low_bit or not dtype.is_integer:
        return x
    low = b.binary("and", x, (1 << dtype.bits) - 1)
    if dtype.kind is Kind.UINT:
        return low
    sign = 1 << (dtype.bits - 1)
    return b.sub(b.binary("xor", low, sign), sign)


def masked(b: LegalBuilder, x: Operand, dtype: DType) -> Operand:
    """What was read from a byte, without the bits above a code."""
    if dtype.is_integer:
        return wrapped(b, x, dtype)
    return b.binary("and", x, (1 << dtype.bits) - 1) if dtype.bits < 8 else x


def is_bool(x: Operand) -> bool:
    """Whether a register is a mask."""
    return vector_type(x).dtype == BOOL
