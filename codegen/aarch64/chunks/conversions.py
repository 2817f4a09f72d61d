"""Chunks from one format to another, and casts between dtypes by the rules of the language."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from dslc.codegen.aarch64.chunks.formats import (
    BF16,
    F16,
    F32,
    F64,
    MASKS,
    SIGNED,
    UNSIGNED,
    Format,
    Lanes,
    computed,
    stored,
)
from dslc.codegen.aarch64.machine_code.blocks import Reg
from dslc.compiler.dtypes import F32 as F32_DTYPE
from dslc.compiler.dtypes import DType, Kind, limits

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission


def as_format(e: Emission, x: Lanes, form: Format) -> Lanes:
    """The same numbers in another format of the same kind; masks and integers change their width."""
    if x.format == form:
        return x
    key = ("format", x.regs, x.count, form.name)
    found = e.s.recall(key)
    if isinstance(found, Lanes):
        return found
    made = _change(e, x, form)
    e.s.remember(key, made)  # type: ignore[arg-type]
    return made


def _change(e: Emission, x: Lanes, form: Format) -> Lanes:
    if x.format.kind == "f":
        return _float(e, x, form)
    while x.format.bits < form.bits:
        x = widen(e, x)
    while x.format.bits > form.bits:
        x = narrow(e, x)
    return Lanes(x.regs, form, x.count)


def _float(e: Emission, x: Lanes, form: Format) -> Lanes:
    if x.format == F16:
        single = _halves(e, x, "fcvtl", "4s", "4h", "8h", F32)
    elif x.format == BF16:
        single = _halves(e, x, "shll", "4s", "4h", "8h", F32, ", #16")
    elif x.format == F64:
        single = _joined(e, x, "fcvtn", "2s", "4s", "2d", F32)
    else:
        single = x
    if form == F32:
        return single
    if form == F16:
        return _joined(e, single, "fcvtn", "4h", "8h", "4s", F16)
    if form == F64:
        return _halves(e, single, "fcvtl", "2d", "2s", "4s", F64)
    if "bf16" in e.features:
        return _joined(e, single, "bfcvtn", "4h", "8h", "4s", BF16)
    return _to_bf16(e, single)


def _halves(
    e: Emission, x: Lanes, op: str, wide: str, half: str, full: str, form: Format, tail: str = ""
) -> Lanes:
    """Each register's lower and upper half as a register of wider lanes."""
    regs: list[Reg] = []
    for number, reg in enumerate(x.regs):
        left = x.count - number * x.format.lanes
        regs.append(e.s.v(f"{op} {{0}}.{wide}, {{1}}.{half}{tail}", reg))
        if left > form.lanes:
            regs.append(e.s.v(f"{op}2 {{0}}.{wide}, {{1}}.{full}{tail}", reg))
    return Lanes(tuple(regs), form, x.count)


def _joined(e: Emission, x: Lanes, op: str, half: str, full: str, wide: str, form: Format) -> Lanes:
    """Two registers' lanes narrowed into one."""
    regs: list[Reg] = []
    for i in range(0, len(x.regs), 2):
        low = e.s.v(f"{op} {{0}}.{half}, {{1}}.{wide}", x.regs[i])
        if i + 1 < len(x.regs):
            e.s.onto(f"{op}2 {{0}}.{full}, {{1}}.{wide}", low, x.regs[i + 1])
        regs.append(low)
    return Lanes(tuple(regs), form, x.count)


def widen(e: Emission, x: Lanes) -> Lanes:
    """Integers or masks in lanes of twice the bits."""
    form = _of_kind(x.format, 2 * x.format.bits)
    op = "ushll" if x.format.kind == "u" else "sshll"
    full = x.format.arrangement
    half = f"{x.format.lanes // 2}{full[-1]}"
    return _halves(e, x, op, form.arrangement, half, full, form, ", #0")


def narrow(e: Emission, x: Lanes, op: str = "xtn") -> Lanes:
    """Integers or masks in lanes of half the bits; `op` may saturate."""
    kind = "u" if op in ("uqxtn", "sqxtun") else x.format.kind
    bits = x.format.bits // 2
    form = {"m": MASKS, "i": SIGNED, "u": UNSIGNED}[kind][bits]
    half = f"{form.lanes // 2}{form.arrangement[-1]}"
    return _joined(e, x, op, half, form.arrangement, x.format.arrangement, form)


def _of_kind(form: Format, bits: int) -> Format:
    return {"m": MASKS, "i": SIGNED, "u": UNSIGNED}[form.kind][bits]


def _to_bf16(e: Emission, x: Lanes) -> Lanes:
    """To nearest even by integer arithmetic; a NaN keeps its sign and becomes quiet."""
    s = e.s
    odd, bias = s.splat(1, 32), s.splat(0x7FFF, 32)
    rounded = []
    for reg in x.regs:
        last = s.v("ushr {0}.4s, {1}.4s, #16", reg)
        last = s.v("and {0}.16b, {1}.16b, {2}.16b", last, odd)
        total = s.v("add {0}.4s, {1}.4s, {2}.4s", reg, bias)
        total = s.v("add {0}.4s, {1}.4s, {2}.4s", total, last)
        number = s.v("fcmeq {0}.4s, {1}.4s, {1}.4s", reg)
        quiet = s.onto("orr {0}.4s, #64, lsl #16", s.copy(reg))
        rounded.append(s.accumulate("bsl {0}.16b, {1}.16b, {2}.16b", number, total, quiet))
    regs = []
    for i in range(0, len(rounded), 2):
        low = s.v("shrn {0}.4h, {1}.4s, #16", rounded[i])
        if i + 1 < len(rounded):
            s.onto("shrn2 {0}.8h, {1}.4s, #16", low, rounded[i + 1])
        regs.append(low)
    return Lanes(tuple(regs), BF16, x.count)


def mapped(e: Emission, template: str, form: Format, *xs: Lanes) -> Lanes:
    """An instruction applied to each register; `@` stands for the arrangement of the operands."""
    text = template.replace("@", xs[0].format.arrangement)
    regs = tuple(e.s.v(text, *each) for each in zip(*(x.regs for x in xs), strict=True))
    return Lanes(regs, form, xs[0].count)


def number(e: Emission, x: Lanes, dtype: DType) -> Lanes:
    """A chunk of a dtype in the format in which it is computed on."""
    if dtype.is_float and x.format.kind != "f":
        from dslc.codegen.aarch64.chunks.small_floats import decode

        return decode(e, x, dtype)
    return as_format(e, x, computed(dtype)) if x.format.kind != "m" else x


def rounded(e: Emission, x: Lanes, dtype: DType) -> Lanes:
    """f32 numbers rounded to the grid of a float dtype: those of at most 8 bits become codes."""
    from dslc.codegen.aarch64.chunks import small_floats

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
        x = _joined(e, x, "fcvtxn", "2s", "4s", "2d", F32)
    x = as_format(e, x, F64 if to.bits == 64 else F32)
    if saturate:
        from dslc.codegen.aarch64.chunks.small_floats import clamped

        x = clamped(e, x, to)
    exact = source.is_float and source.exponent <= to.exponent and source.mantissa <= to.mantissa
    return x if exact and to.bits > 8 else rounded(e, x, to)


def _converted(e: Emission, x: Lanes, source: DType, to: DType) -> Lanes:
    """Integers as f32 where that rounds once or never, else as f64, of which no digit is lost."""
    # Those that f32 does not hold are past the range of a float that ends below them.
    narrow_enough = to.name == "f32" or source.bits <= 24 or limits(to).greatest < 1 << 24
    wide = 64 if to.bits == 64 or x.format.bits == 64 or not narrow_enough else 32
    x = as_format(e, x, _of_kind(x.format, wide))
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
        resized = _change(e, x, _of_kind(x.format, form.bits))
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
    return as_format(e, x, form)
