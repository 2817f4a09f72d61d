"""Whole quotients and remainders of floats, towards minus infinity, in f64.

    q = trunc(|x| / |y|), r = |x| - q |y|      exact while q has no more bits than an f64

A quotient that was rounded up to the next whole number leaves a remainder below 0, which is mended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dslc.codegen.aarch64.chunks.formats import F64, Lanes
from dslc.codegen.aarch64.chunks.lane_formats import as_format
from dslc.codegen.aarch64.machine_code.blocks import Reg

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission

_SIGN = 1 << 63


def divided(e: Emission, op: str, x: Lanes, y: Lanes) -> Lanes:
    """`floordiv` or `mod` of numbers of one format, f32 or f64."""
    wide = [as_format(e, z, F64) for z in (x, y)]
    one = _quotient if op == "floordiv" else _remainder
    regs = tuple(one(e, a, b) for a, b in zip(wide[0].regs, wide[1].regs, strict=True))
    return as_format(e, Lanes(regs, F64, x.count), x.format)


def _parts(e: Emission, x: Reg, y: Reg) -> tuple[Reg, Reg, Reg]:
    """The quotient's and the remainder's size, and where the rest has not the divisor's sign."""
    s = e.s
    a, b = s.v("fabs {0}.2d, {1}.2d", x), s.v("fabs {0}.2d, {1}.2d", y)
    q = s.v("frintz {0}.2d, {1}.2d", s.v("fdiv {0}.2d, {1}.2d, {2}.2d", a, b))
    r = s.accumulate("fmls {0}.2d, {1}.2d, {2}.2d", a, q, b)
    past = s.v("fcmlt {0}.2d, {1}.2d, #0.0", r)
    r = s.v("fadd {0}.2d, {1}.2d, {2}.2d", r, _where(e, past, b))
    q = s.v("fsub {0}.2d, {1}.2d, {2}.2d", q, _where(e, past, _one(e)))
    small = s.v("fcmgt {0}.2d, {1}.2d, {2}.2d", b, a)  # of an infinite divisor too
    r = s.onto("bit {0}.16b, {1}.16b, {2}.16b", r, a, small)
    signs = s.v("eor {0}.16b, {1}.16b, {2}.16b", x, y)
    rest = s.v("fcmgt {0}.2d, {1}.2d, #0.0", r)
    differ = s.v("and {0}.16b, {1}.16b, {2}.16b", s.v("sshr {0}.2d, {1}.2d, #63", signs), rest)
    return q, r, differ


def _quotient(e: Emission, x: Reg, y: Reg) -> Reg:
    """Floor of x / y; by 0 what a division gives, of an infinite number no number."""
    s = e.s
    q, r, differ = _parts(e, x, y)
    up = s.v("fadd {0}.2d, {1}.2d, {2}.2d", q, _where(e, differ, _one(e)))
    signs = s.v("eor {0}.16b, {1}.16b, {2}.16b", x, y)
    sign = s.v("and {0}.16b, {1}.16b, {2}.16b", signs, s.splat(_SIGN, 64))
    signed = s.v("orr {0}.16b, {1}.16b, {2}.16b", up, sign)
    number = s.v("fcmeq {0}.2d, {1}.2d, {1}.2d", r)
    signed = s.onto("bif {0}.16b, {1}.16b, {2}.16b", signed, r, number)
    zero = s.v("fcmeq {0}.2d, {1}.2d, #0.0", y)
    return s.onto(
        "bit {0}.16b, {1}.16b, {2}.16b", signed, s.v("fdiv {0}.2d, {1}.2d, {2}.2d", x, y), zero
    )


def _remainder(e: Emission, x: Reg, y: Reg) -> Reg:
    """What is left of x, with the sign of y."""
    s = e.s
    _, r, differ = _parts(e, x, y)
    signed = s.accumulate("bsl {0}.16b, {1}.16b, {2}.16b", s.splat(_SIGN, 64), x, r)
    return s.v("fadd {0}.2d, {1}.2d, {2}.2d", signed, _where(e, differ, y))


def _where(e: Emission, mask: Reg, value: Reg) -> Reg:
    """The value where the mask holds, else 0."""
    return e.s.v("and {0}.16b, {1}.16b, {2}.16b", value, mask)


def _one(e: Emission) -> Reg:
    return e.s.splat(0x3FF0000000000000, 64)
