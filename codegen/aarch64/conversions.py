"""Chunks from one format to another, and casts between dtypes by the rules of the language."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from dslc.codegen.aarch64.formats import (
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
from dslc.codegen.aarch64.machine import Reg
from dslc.compiler.dtypes import DType, Kind

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
        from dslc.codegen.aarch64.small_floats import decode

        return decode(e, x, dtype)
    return as_format(e, x, computed(dtype)) if x.format.kind != "m" else x


def rounded(e: Emission, x: Lanes, dtype: DType) -> Lanes:
    """f32 numbers rounded to the grid of a float dtype: those of at most 8 bits become codes."""
    from dslc.codegen.aarch64 import small_floats

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
    if source.kind is Kind.BOOL:
        return _from_mask(e, x, to)
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


def _from_mask(e: Emission, x: Lanes, to: DType) -> Lanes:
    form = computed(to)
    mask = as_format(e, x, MASKS[form.bits])
    if form.kind == "f":
        code = struct.pack("<f" if form.bits == 32 else "<d", 1.0)
        one = e.s.literal(code * (16 // len(code)))
    else:
        one = e.s.splat(-1 if to.is_signed and to.bits == 1 else 1, form.bits)
    regs = tuple(e.s.v("and {0}.16b, {1}.16b, {2}.16b", r, one) for r in mask.regs)
    return Lanes(regs, form, x.count)


def _to_float(e: Emission, x: Lanes, source: DType, to: DType, saturate: bool) -> Lanes:
    if not saturate and source.is_float and x.format in (F16, BF16) and x.format == stored(to):
        return x
    x = number(e, x, source)
    if not source.is_float:
        wide = 64 if to.bits == 64 or x.format.bits == 64 else 32
        x = as_format(e, x, _of_kind(x.format, wide))
        op = "ucvtf" if x.format.kind == "u" else "scvtf"
        x = mapped(e, f"{op} {{0}}.@, {{1}}.@", F64 if wide == 64 else F32, x)
    x = as_format(e, x, F64 if to.bits == 64 else F32)
    if saturate and to.bits < 64:
        from dslc.codegen.aarch64.small_floats import clamped

        x = clamped(e, x, to)
    exact = source.is_float and source.exponent <= to.exponent and source.mantissa <= to.mantissa
    return x if exact and to.bits > 8 else rounded(e, x, to)


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
    if x.format.kind == "i" and to.kind is Kind.UINT:
        zero = e.s.splat(0, x.format.bits)
        text = "smax {0}.@, {1}.@, {2}.@".replace("@", x.format.arrangement)
        x = Lanes(tuple(e.s.v(text, r, zero) for r in x.regs), form, x.count)
    return Lanes(_clamped(e, x, to).regs, form, x.count)


def _clamped(e: Emission, x: Lanes, to: DType) -> Lanes:
    low, high = to.integer_range
    bits, kind = x.format.bits, x.format.kind
    if kind == "u":
        low_limit, high_limit = 0, (1 << bits) - 1
    else:
        low_limit, high_limit = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    a = x.format.arrangement
    letter = "u" if kind == "u" else "s"
    if high < high_limit:
        most = e.s.splat(high, bits)
        text = f"{letter}min {{0}}.{a}, {{1}}.{a}, {{2}}.{a}"
        x = Lanes(tuple(e.s.v(text, r, most) for r in x.regs), x.format, x.count)
    if low > low_limit and kind == "i":
        least = e.s.splat(low, bits)
        text = f"smax {{0}}.{a}, {{1}}.{a}, {{2}}.{a}"
        x = Lanes(tuple(e.s.v(text, r, least) for r in x.regs), x.format, x.count)
    return x


def for_memory(e: Emission, x: Lanes, dtype: DType) -> Lanes:
    """A chunk in the format of memory."""
    form = stored(dtype)
    if x.format.kind == "m":
        mask = as_format(e, x, MASKS[8])
        one = e.s.splat(1, 8)
        regs = tuple(e.s.v("and {0}.16b, {1}.16b, {2}.16b", r, one) for r in mask.regs)
        return Lanes(regs, form, x.count)
    return as_format(e, x, form)
