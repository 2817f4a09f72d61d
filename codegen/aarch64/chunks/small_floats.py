"""Floats of at most 8 bits: codes to numbers by moving their fields to those of f32.

A code's exponent and mantissa, put at f32's place, are the number times 2^(its bias - 127), subnormals
included: one product with a power of two makes it right. Codes of infinity and NaN are put in after.
Back, a number is rounded in place of f32's mantissa.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from dslc.codegen.aarch64.chunks.formats import F32, UNSIGNED, Lanes
from dslc.codegen.aarch64.chunks.lane_formats import as_format, mapped
from dslc.codegen.aarch64.machine_code.blocks import Reg
from dslc.compiler.dtypes import DType, Kind, limits
from dslc.compiler.dtypes.formats import has_infinity, has_nan

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission


def decode(e: Emission, x: Lanes, dtype: DType) -> Lanes:
    """Codes in bytes as f32 numbers."""
    s = e.s
    words = as_format(e, x, UNSIGNED[32])
    if dtype.kind is Kind.SCALE:
        return _powers(e, words)
    shift = 23 - dtype.mantissa
    magnitude = s.splat((1 << (dtype.bits - 1)) - 1, 32)
    scale = s.splat_float(2.0 ** (127 - ((1 << (dtype.exponent - 1)) - 1)))
    sign = s.splat(1 << 31, 32)
    out = []
    for reg in words.regs:
        bare = s.v("and {0}.16b, {1}.16b, {2}.16b", reg, magnitude)
        placed = s.v(f"shl {{0}}.4s, {{1}}.4s, #{shift}", bare)
        value = s.v("fmul {0}.4s, {1}.4s, {2}.4s", placed, scale)
        value = _specials(e, value, bare, dtype)
        high = s.v(f"shl {{0}}.4s, {{1}}.4s, #{32 - dtype.bits}", reg)
        out.append(s.accumulate("bsl {0}.16b, {1}.16b, {2}.16b", sign, high, value))
    return Lanes(tuple(out), F32, x.count)


def _specials(e: Emission, value: Reg, bare: Reg, dtype: DType) -> Reg:
    s = e.s
    top = (1 << (dtype.bits - 1)) - 1
    if has_infinity(dtype):
        first = ((1 << dtype.exponent) - 1) << dtype.mantissa
        infinite = s.v("cmhs {0}.4s, {1}.4s, {2}.4s", bare, s.splat(first, 32))
        # The mantissa is in place: all bits of the exponent make it an infinity or a NaN.
        ones = s.v("and {0}.16b, {1}.16b, {2}.16b", infinite, s.splat(0x7F800000, 32))
        value = s.v("orr {0}.16b, {1}.16b, {2}.16b", value, ones)
    elif has_nan(dtype):
        nan = s.v("cmeq {0}.4s, {1}.4s, {2}.4s", bare, s.splat(top, 32))
        ones = s.v("and {0}.16b, {1}.16b, {2}.16b", nan, s.splat(0x7FC00000, 32))
        value = s.v("orr {0}.16b, {1}.16b, {2}.16b", value, ones)
    return value


def _powers(e: Emission, words: Lanes) -> Lanes:
    """e8m0: 2^(code - 127); code 0 is a subnormal of f32, 255 NaN."""
    s = e.s
    placed = mapped(e, "shl {0}.@, {1}.@, #23", F32, words)
    least, nan = s.splat(0x00400000, 32), s.splat(0x7FC00000, 32)
    top = s.splat(255, 32)
    out = []
    for code, reg in zip(words.regs, placed.regs, strict=True):
        zero = s.v("cmeq {0}.4s, {1}.4s, #0", code)
        value = s.v("and {0}.16b, {1}.16b, {2}.16b", zero, least)
        value = s.v("orr {0}.16b, {1}.16b, {2}.16b", value, reg)
        last = s.v("cmeq {0}.4s, {1}.4s, {2}.4s", code, top)
        out.append(s.onto("bit {0}.16b, {1}.16b, {2}.16b", value, nan, last))
    return Lanes(tuple(out), F32, words.count)


def rounded_tf32(e: Emission, x: Lanes) -> Lanes:
    """f32 numbers on the grid of tf32, to nearest even."""
    s = e.s
    odd, bias, kept = s.splat(1, 32), s.splat(0xFFF, 32), s.splat(0xFFFFE000, 32)
    out = []
    for reg in x.regs:
        last = s.v("ushr {0}.4s, {1}.4s, #13", reg)
        last = s.v("and {0}.16b, {1}.16b, {2}.16b", last, odd)
        total = s.v("add {0}.4s, {1}.4s, {2}.4s", reg, bias)
        total = s.v("add {0}.4s, {1}.4s, {2}.4s", total, last)
        total = s.v("and {0}.16b, {1}.16b, {2}.16b", total, kept)
        exact = s.v("fcmeq {0}.4s, {1}.4s, {1}.4s", reg)
        out.append(s.onto("bsl {0}.16b, {1}.16b, {2}.16b", exact, total, reg))
    return Lanes(tuple(out), F32, x.count)


def encode(e: Emission, x: Lanes, dtype: DType) -> Lanes:
    """f32 numbers as codes in bytes, to nearest even; what is too large as the language says."""
    one = _scale_code if dtype.kind is Kind.SCALE else _code
    words = Lanes(tuple(one(e, reg, dtype) for reg in x.regs), UNSIGNED[32], x.count)
    return as_format(e, words, UNSIGNED[8])


def _code(e: Emission, reg: Reg, dtype: DType) -> Reg:
    """Sign, exponent and mantissa; of numbers that are subnormal there, how many of the least."""
    s, fields = e.s, dtype.exponent + dtype.mantissa
    bias, spare = (1 << (dtype.exponent - 1)) - 1, 23 - dtype.mantissa
    size = s.v("fabs {0}.4s, {1}.4s", reg)
    # Half of what is cut off, less where the rest is even; then the exponent's own bias.
    odd = s.v(f"ushr {{0}}.4s, {{1}}.4s, #{spare}", size)
    odd = s.v("and {0}.16b, {1}.16b, {2}.16b", odd, s.splat(1, 32))
    total = s.v("add {0}.4s, {1}.4s, {2}.4s", size, odd)
    total = s.v("add {0}.4s, {1}.4s, {2}.4s", total, s.splat((1 << (spare - 1)) - 1, 32))
    code = s.v(f"ushr {{0}}.4s, {{1}}.4s, #{spare}", total)
    code = s.v("sub {0}.4s, {1}.4s, {2}.4s", code, s.splat((127 - bias) << dtype.mantissa, 32))
    counted = s.v(
        "fmul {0}.4s, {1}.4s, {2}.4s", size, s.splat_float(2.0 ** (bias - 1 + dtype.mantissa))
    )
    counted = s.v("fcvtns {0}.4s, {1}.4s", counted)
    least = s.splat((128 - bias) << 23, 32)
    small = s.v("cmhi {0}.4s, {1}.4s, {2}.4s", least, size)
    code = s.onto("bsl {0}.16b, {1}.16b, {2}.16b", small, counted, code)
    most = (1 << fields) - 1
    infinity = ((1 << dtype.exponent) - 1) << dtype.mantissa
    past = infinity if has_infinity(dtype) else most
    code = s.v("umin {0}.4s, {1}.4s, {2}.4s", code, s.splat(past, 32))
    sign = s.v("ushr {0}.4s, {1}.4s, #31", reg)
    sign = s.v(f"shl {{0}}.4s, {{1}}.4s, #{fields}", sign)
    signed = s.v("orr {0}.16b, {1}.16b, {2}.16b", sign, code)
    number = s.v("fcmeq {0}.4s, {1}.4s, {1}.4s", reg)
    if not has_nan(dtype):
        return s.onto("bsl {0}.16b, {1}.16b, {2}.16b", number, signed, s.splat(most, 32))
    if not has_infinity(dtype):  # NaN is the greatest code, with its sign
        return signed
    quiet = s.splat(infinity | 1 << (dtype.mantissa - 1), 32)
    none = s.v("orr {0}.16b, {1}.16b, {2}.16b", sign, quiet)
    return s.onto("bsl {0}.16b, {1}.16b, {2}.16b", number, signed, none)


def _scale_code(e: Emission, reg: Reg, dtype: DType) -> Reg:
    """e8m0: the nearest power of two, ties up; what is not above 0 is NaN."""
    s = e.s
    least = s.v("cmhi {0}.4s, {1}.4s, {2}.4s", s.splat(1 << 23, 32), reg)  # subnormal: -1
    code = s.v("add {0}.4s, {1}.4s, {2}.4s", reg, s.splat(1 << 22, 32))
    code = s.v("add {0}.4s, {1}.4s, {2}.4s", code, least)
    code = s.v("ushr {0}.4s, {1}.4s, #23", code)
    above = s.v("fcmgt {0}.4s, {1}.4s, #0.0", reg)
    return s.onto("bsl {0}.16b, {1}.16b, {2}.16b", above, code, s.splat(255, 32))


def clamped(e: Emission, x: Lanes, dtype: DType) -> Lanes:
    """Numbers within the range of a float dtype; NaN stays, and of scales 0 becomes the least."""
    s, most = e.s, float(limits(dtype).greatest)
    code = "<f" if x.format == F32 else "<d"
    ends = [s.literal(struct.pack(code, end) * (128 // x.format.bits)) for end in (most, -most)]
    bounds = [Lanes((end,) * len(x.regs), x.format, x.count) for end in ends]
    low = mapped(e, "fmin {0}.@, {1}.@, {2}.@", x.format, x, bounds[0])
    kept = mapped(e, "fmax {0}.@, {1}.@, {2}.@", x.format, low, bounds[1])
    if dtype.kind is not Kind.SCALE:
        return kept
    out = []
    for reg, number in zip(x.regs, kept.regs, strict=True):
        zero = s.v("fcmeq {0}.4s, {1}.4s, #0.0", reg)
        out.append(s.onto("bsl {0}.16b, {1}.16b, {2}.16b", zero, s.splat(1 << 22, 32), number))
    return Lanes(tuple(out), F32, x.count)
