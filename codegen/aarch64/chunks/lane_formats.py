"""Chunks from one format of lanes to another of the same kind: wider and narrower lanes."""

from __future__ import annotations

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
)
from dslc.codegen.aarch64.machine_code.blocks import Reg

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission


def as_format(e: Emission, x: Lanes, form: Format) -> Lanes:
    """The same numbers in another format of the same kind; masks and integers change their width."""
    if x.format == form:
        return x
    key = ("format", x.regs, x.count, form.name)
    remembered = e.s.recall(key)
    if isinstance(remembered, Lanes):
        return remembered
    changed = change_format(e, x, form)
    e.s.remember(key, changed)  # type: ignore[arg-type]
    return changed


def change_format(e: Emission, x: Lanes, form: Format) -> Lanes:
    """The same, which is not remembered."""
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
        single = joined(e, x, "fcvtn", "2s", "4s", "2d", F32)
    else:
        single = x
    if form == F32:
        return single
    if form == F16:
        return joined(e, single, "fcvtn", "4h", "8h", "4s", F16)
    if form == F64:
        return _halves(e, single, "fcvtl", "2d", "2s", "4s", F64)
    if "bf16" in e.features:
        return joined(e, single, "bfcvtn", "4h", "8h", "4s", BF16)
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


def joined(e: Emission, x: Lanes, op: str, half: str, full: str, wide: str, form: Format) -> Lanes:
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
    form = of_kind(x.format, 2 * x.format.bits)
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
    return joined(e, x, op, half, form.arrangement, x.format.arrangement, form)


def of_kind(form: Format, bits: int) -> Format:
    """The format of lanes of that many bits, of integers or masks as `form` is."""
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
