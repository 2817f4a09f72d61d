"""Casts between dtypes by the rules of the language, chunk by chunk."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from dslc.codegen.aarch64.chunks import small_floats
from dslc.codegen.aarch64.chunks.formats import (
    BF16,
    F16,
    F32,
    F64,
    MASKS,
    SIGNED,
    UNSIGNED,
    Lanes,
    computed,
    stored,
)
from dslc.codegen.aarch64.chunks.lane_formats import (
    as_format,
    change_format,
    joined,
    mapped,
    narrow,
    of_kind,
    widen,
)
from dslc.compiler.dtypes import F32 as F32_DTYPE
from dslc.compiler.dtypes import DType, Kind, limits

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission


def number(e: Emission, x: Lanes, dtype: DType) -> Lanes:
    """A chunk of a dtype in the format in which it is computed on."""
    if dtype.is_float and x.format.kind != "f":
        return small_floats.decode(e, x, dtype)
    return as_format(e, x, computed(dtype)) if x.format.kind != "m" else x


def rounded(e: Emission, x: Lanes, dtype: DType) -> Lanes:
    """f32 numbers rounded to the grid of a float dtype: those of at most 8 bits become codes."""
    if dtype.name in ("f32", "f64"):
        return x
    if dtype.name in ("f16", "bf16"):
        return as_format(e, x, stored(dtype))
    if dtype.name == "tf32":
        return small_floats.rounded_tf32(e, x)
    return small_floats.encode(e, x, dtype)


def wrapped(e: Emission, x: Lanes, dtype: DType) -> Lanes:
    """Integers brought back to the range of a dtype narrower than their lanes."""
    spare = x.format.bits - dtype.bits
    if not spare or dtype.kind is Kind.BOOL:
        return x
    if dtype.kind is Kind.UINT:
        mask = e.s.splat((1 << dtype.bits) - 1, x.format.bits)
        regs = tuple(e.s.v("and {0}.16b, {1}.16b, {2}.16b", r, mask) for r in x.regs)
        return Lanes(regs, x.format, x.count)
    up = mapped(e, f"shl {{0}}.@, {{1}}.@, #{spare}", x.format, x)
    return mapped(e, f"sshr {{0}}.@, {{1}}.@, #{spare}", x.format, up)


def cast(e: Emission, x: Lanes, source: DType, to: DType, saturate: bool) -> Lanes:
    """A chunk as another dtype."""
    if to.kind is Kind.BOOL:
        return _to_mask(e, number(e, x, source))
    if source.kind is Kind.BOOL and to.is_float and to.bits < 32:
        return _to_float(e, _from_mask(e, x, F32_DTYPE, saturate), F32_DTYPE, to, saturate)
    if source.kind is Kind.BOOL:
        return _from_mask(e, x, to, saturate)
    if to.is_float:
        return _to_float(e, x, source, to, saturate)
    x = number(e, x, source)
    if source.is_float:
        return _truncated(e, x, to)
    return _to_integer(e, x, source, to, saturate)


def _to_mask(e: Emission, x: Lanes) -> Lanes:
    form = MASKS[x.format.bits]
    if x.format.kind != "f":
        return mapped(e, "cmtst {0}.@, {1}.@, {1}.@", form, x)
    zero = mapped(e, "fcmeq {0}.@, {1}.@, #0.0", form, x)
    return Lanes(tuple(e.s.v("mvn {0}.16b, {1}.16b", r) for r in zero.regs), form, x.count)


def _from_mask(e: Emission, x: Lanes, to: DType, saturate: bool) -> Lanes:
    """0 and 1 of a dtype whose format is computed on."""
    form = computed(to)
    mask = as_format(e, x, MASKS[form.bits])
    if form.kind == "f":
        code = struct.pack("<f" if form.bits == 32 else "<d", 1.0)
        one = e.s.literal(code * (16 // len(code)))
    elif to.is_signed and to.bits == 1:
        one = e.s.splat(0 if saturate else -1, form.bits)
    else:
        one = e.s.splat(1, form.bits)
    regs = tuple(e.s.v("and {0}.16b, {1}.16b, {2}.16b", r, one) for r in mask.regs)
    return Lanes(regs, form, x.count)


def _to_float(e: Emission, x: Lanes, source: DType, to: DType, saturate: bool) -> Lanes:
    if not saturate and source.is_float and x.format in (F16, BF16) and x.format == stored(to):
        return x
    x = number(e, x, source)
    if not source.is_float:
        x = _converted(e, x, source, to)
    if x.format == F64 and to.mantissa < 23:
        # What f32 does not hold has an odd last bit there, so that rounding it again rounds once.
        x = joined(e, x, "fcvtxn", "2s", "4s", "2d", F32)
    x = as_format(e, x, F64 if to.bits == 64 else F32)
    if saturate:
        x = small_floats.clamped(e, x, to)
    exact = source.is_float and source.exponent <= to.exponent and source.mantissa <= to.mantissa
    return x if exact and to.bits > 8 else rounded(e, x, to)


def _converted(e: Emission, x: Lanes, source: DType, to: DType) -> Lanes:
    """Integers as f32 where that rounds once or never, else as f64, of which no digit is lost."""
    # Those that f32 does not hold are past the range of a float that ends below them.
    narrow_enough = to.name == "f32" or source.bits <= 24 or limits(to).greatest < 1 << 24
    wide = 64 if to.bits == 64 or x.format.bits == 64 or not narrow_enough else 32
    x = as_format(e, x, of_kind(x.format, wide))
    if source.bits == 64 and to.bits < 64:
        x = _sticky(e, x)
    op = "ucvtf" if x.format.kind == "u" else "scvtf"
    return mapped(e, f"{op} {{0}}.@, {{1}}.@", F64 if wide == 64 else F32, x)


def _sticky(e: Emission, x: Lanes) -> Lanes:
    """Integers of 64 bits, of which the bits that f64 does not hold are gathered in its last one."""
    s, unsigned = e.s, x.format.kind == "u"
    rest, last = s.splat(2047, 64), s.splat(2048, 64)
    regs = []
    for reg in x.regs:
        top = s.v(f"{'u' if unsigned else 's'}shr {{0}}.2d, {{1}}.2d, #53", reg)
        sign = s.splat(0, 64) if unsigned else s.v("sshr {0}.2d, {1}.2d, #63", reg)
        exact = s.v("cmeq {0}.2d, {1}.2d, {2}.2d", top, sign)
        lost = s.v("cmtst {0}.2d, {1}.2d, {2}.2d", reg, rest)
        bit = s.v("and {0}.16b, {1}.16b, {2}.16b", lost, last)
        kept = s.v("bic {0}.16b, {1}.16b, {2}.16b", reg, rest)
        gathered = s.v("orr {0}.16b, {1}.16b, {2}.16b", kept, bit)
        regs.append(s.accumulate("bsl {0}.16b, {1}.16b, {2}.16b", exact, reg, gathered))
    return Lanes(tuple(regs), x.format, x.count)


def _truncated(e: Emission, x: Lanes, to: DType) -> Lanes:
    """The instruction truncates, saturates at its width and gives 0 for NaN."""
    form = computed(to)
    if form.bits == 64 and x.format == F32:
        x = as_format(e, x, F64)
    op, kinds = ("fcvtzu", UNSIGNED) if to.kind is Kind.UINT else ("fcvtzs", SIGNED)
    whole = mapped(e, f"{op} {{0}}.@, {{1}}.@", kinds[x.format.bits], x)
    shrink = "uqxtn" if to.kind is Kind.UINT else "sqxtn"
    while whole.format.bits > form.bits:
        whole = narrow(e, whole, shrink)
    return _clamped(e, whole, to)


def _to_integer(e: Emission, x: Lanes, source: DType, to: DType, saturate: bool) -> Lanes:
    form = computed(to)
    if not saturate:
        resized = change_format(e, x, of_kind(x.format, form.bits))
        regrown = Lanes(resized.regs, form, x.count)
        low, high = to.integer_range
        least, greatest = source.integer_range
        return regrown if low <= least and greatest <= high else wrapped(e, regrown, to)
    while x.format.bits < form.bits:
        x = widen(e, x)
    signed_to_unsigned = x.format.kind == "i" and to.kind is Kind.UINT
    while x.format.bits > form.bits:
        if x.format.kind == "u":
            x = narrow(e, x, "uqxtn")
        else:
            x = narrow(e, x, "sqxtun" if signed_to_unsigned else "sqxtn")
    return Lanes(_clamped(e, x, to).regs, form, x.count)


def _clamped(e: Emission, x: Lanes, to: DType) -> Lanes:
    """Integers within the range of a dtype, of whose ends those count that their lanes pass."""
    low, high = to.integer_range
    bits, signed = x.format.bits, x.format.kind == "i"
    if high < (1 << (bits - signed)) - 1:
        x = extreme(e, "min", x, _everywhere(e, high, x))
    if signed and low > -(1 << (bits - 1)):
        x = extreme(e, "max", x, _everywhere(e, low, x))
    return x


def _everywhere(e: Emission, value: int, like: Lanes) -> Lanes:
    reg = e.s.splat(value, like.format.bits)
    return Lanes((reg,) * len(like.regs), like.format, like.count)


def extreme(e: Emission, op: str, x: Lanes, y: Lanes) -> Lanes:
    """`min` or `max` of integers; those of 64 bits are compared and chosen."""
    unsigned = x.format.kind == "u"
    if x.format.bits < 64:
        text = f"{'u' if unsigned else 's'}{op} {{0}}.@, {{1}}.@, {{2}}.@"
        return mapped(e, text, x.format, x, y)
    greater = mapped(
        e, f"cm{'hi' if unsigned else 'gt'} {{0}}.@, {{1}}.@, {{2}}.@", MASKS[64], x, y
    )
    regs = tuple(
        e.s.accumulate("bsl {0}.16b, {1}.16b, {2}.16b", m, *((a, b) if op == "max" else (b, a)))
        for m, a, b in zip(greater.regs, x.regs, y.regs, strict=True)
    )
    return Lanes(regs, x.format, x.count)


def for_memory(e: Emission, x: Lanes, dtype: DType) -> Lanes:
    """A chunk in the format of memory."""
    form = stored(dtype)
    if x.format.kind == "m":
        mask = as_format(e, x, MASKS[8])
        one = e.s.splat(1, 8)
        regs = tuple(e.s.v("and {0}.16b, {1}.16b, {2}.16b", r, one) for r in mask.regs)
        return Lanes(regs, form, x.count)
    if x.format.kind == "f" and form.kind != "f":  # a scalar of a small float is a number
        return small_floats.encode(e, x, dtype)
    return as_format(e, x, form)
