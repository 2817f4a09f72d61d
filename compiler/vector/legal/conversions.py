"""Convert, of every pair of dtypes: containers in, containers out."""

from __future__ import annotations

from dslc.compiler.dtypes import BOOL, F16, F32, F64, I32, U8, DType, rounds_twice
from dslc.compiler.vector import instructions as ins
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.legal.builder import LegalBuilder
from dslc.compiler.vector.legal.containers import container, wrapped
from dslc.compiler.vector.legal.small_floats import from_number, to_number
from dslc.compiler.vector.values import Operand


def converted(b: LegalBuilder, x: Operand, src: DType, dst: DType, saturate: bool) -> Operand:
    """Values of `src` in its container as those of `dst` in its own."""
    if src == BOOL and dst != BOOL:
        return converted(b, _native(b, x, U8), U8, dst, saturate)
    if src.is_float:
        number = to_number(b, x, src)
        if dst == BOOL:
            return b.binary("ne", number, 0.0)
        if dst.is_float:
            return x if src == dst and not saturate else from_number(b, number, dst, saturate)
        return _truncated(b, number, dst)
    if dst == BOOL:
        return x if src == BOOL else b.binary("ne", x, 0)
    if dst.is_integer:
        bounded = _clamped(b, x, src, dst) if saturate else x
        return wrapped(b, _native(b, bounded, container(dst)), dst)
    return _float_of(b, x, src, dst, saturate)


def _native(b: LegalBuilder, x: Operand, dtype: DType) -> Operand:
    """A conversion between native dtypes that a machine has: of integers, or exact."""
    return b.convert(x, dtype)


def _clamped(b: LegalBuilder, x: Operand, src: DType, dst: DType) -> Operand:
    """Integers moved into the range of others."""
    (own_least, own_greatest), (least, greatest) = src.integer_range, dst.integer_range
    if greatest < own_greatest:
        x = b.binary("min", x, greatest)
    return b.binary("max", x, least) if least > own_least else x


def _float_of(b: LegalBuilder, x: Operand, src: DType, dst: DType, saturate: bool) -> Operand:
    """Integers as floats, rounded once."""
    if dst == F64 or (dst == F32 and container(src).bits > 16):
        return b.convert(x, dst)
    if src.bits <= 16 or (src.bits <= 32 and dst.kind.value == "float" and not rounds_twice(dst)):
        return from_number(b, b.convert(x, F32), dst, saturate)
    wide = b.convert(_odd_integer(b, x, src) if src.bits > 32 else x, F64)
    return from_number(b, wide, dst, saturate)


def _odd_integer(b: LegalBuilder, x: Operand, src: DType) -> Operand:
    """Integers of 64 bits of which f64 has all: past 2^53 the low 12 bits become one sticky bit."""
    low = b.binary("and", x, 0xFFF)
    sticky = b.select(b.binary("ne", low, 0), 0x800, b.operand(0, vector_type(x)))
    cut = b.binary("or", b.sub(x, low), sticky)
    big = b.binary("ge", x, 1 << 53)
    if src.is_signed:
        big = b.binary("or", big, b.binary("le", x, -(1 << 53)))
    return b.select(big, cut, x)


def _truncated(b: LegalBuilder, x: Operand, dst: DType) -> Operand:
    """f32 or f64 towards 0, into the range of integers; NaN gives 0."""
    type_ = vector_type(x)
    least, greatest = dst.integer_range
    held = container(dst)
    if dst.bits <= 16 or (dst.bits <= 32 and dst.is_signed and type_.dtype == F64):
        number = b.select(b.binary("eq", x, x), x, 0.0)
        number = b.select(b.binary("lt", number, float(least)), float(least), number)
        number = b.select(b.binary("gt", number, float(greatest)), float(greatest), number)
        return b.convert(b.convert(number, I32, in_range=True), held)
    low, high = b.binary("le", x, float(least)), b.binary("ge", x, float(greatest + 1))
    outside = b.binary("or", b.binary("or", low, high), b.binary("ne", x, x))
    whole = b.convert(b.select(outside, 0.0, x), held, in_range=True)
    whole = b.select(high, greatest, whole)
    return b.select(low, least, whole)


def is_native(src: DType, dst: DType, in_range: bool) -> bool:
    """Whether every printer knows the conversion."""
    if dst in (BOOL, src):
        return False
    if src == BOOL:
        return dst.is_integer
    if dst.is_integer:
        return src.is_integer or (in_range and src in (F32, F64))
    if src.is_integer:
        return dst in (F32, F64)
    return {src, dst} in ({F32, F64}, {F16, F32})


def convert_rule(b: LegalBuilder, i: ins.Convert) -> Operand | None:
    """Conversions between native dtypes that machines have not."""
    src, dst = vector_type(i.x).dtype, i.out.type.dtype  # type: ignore[union-attr]
    if is_native(src, dst, i.in_range) and not i.saturate:
        return None
    return converted(b, i.x, src, dst, i.saturate)
