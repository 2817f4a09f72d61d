"""Elementwise operations on chunks; each result is on the grid of its dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dslc.codegen.aarch64.chunks import functions
from dslc.codegen.aarch64.chunks.conversions import (
    cast,
    extreme,
    number,
    rounded,
    wrapped,
)
from dslc.codegen.aarch64.chunks.formats import F16, F32, MASKS, Lanes, select
from dslc.codegen.aarch64.chunks.lane_formats import as_format, mapped
from dslc.codegen.aarch64.chunks.scalars import divide, power
from dslc.codegen.aarch64.machine_code.blocks import Reg
from dslc.codegen.chunks.at import At
from dslc.compiler.dtypes import DType, Kind
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import COMPARE_OPS

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission

_LOGIC = {"and": "and", "or": "orr", "xor": "eor"}
_FLOATS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv", "min": "fmin", "max": "fmax"}
_INTEGERS = {"add": "add", "sub": "sub", "mul": "mul"}
_COMPARED = {"eq": ("cmeq", "cmeq"), "gt": ("cmgt", "cmhi"), "ge": ("cmge", "cmhs")}
_SWAPPED = {"lt": "gt", "le": "ge"}
_OF_HALVES = {"neg", "abs", "floor", "ceil", "round", "sqrt"}
_ROUNDINGS = {"floor": "frintm", "ceil": "frintp", "round": "frintn"}


def unary(e: Emission, i: ins.Unary, at: At) -> Lanes:
    """One operand."""
    return apply_unary(e, i.op, e.pull(i.x, at), i.x.type.dtype)


def binary(e: Emission, i: ins.Binary, at: At) -> Lanes:
    """Two operands of one dtype."""
    product = e.plan.fused.get(i.out)
    if product is not None:
        other = i.y if product.out is i.x else i.x
        return fma(e, ins.Fma(i.out, product.x, product.y, other), at)
    x, y = e.pull(i.x, at), e.pull(i.y, at)
    return apply_binary(e, i.op, x, y, i.x.type.dtype)


def fma(e: Emission, i: ins.Fma, at: At) -> Lanes:
    """x * y + z, rounded once."""
    dtype = i.out.type.dtype
    x, y, z = (operand(e, e.pull(v, at), v.type.dtype) for v in (i.x, i.y, i.z))
    if x.format == F32 and dtype.mantissa < 23:
        exact = mapped(e, "fmul {0}.4s, {1}.4s, {2}.4s", F32, x, y)
        return rounded(e, _odd_sum(e, exact, z), dtype)
    op = "fmla" if dtype.is_float else "mla"
    text = f"{op} {{0}}.@, {{1}}.@, {{2}}.@".replace("@", x.format.arrangement)
    regs = tuple(
        e.s.accumulate(text, c, a, b) for a, b, c in zip(x.regs, y.regs, z.regs, strict=True)
    )
    fused = Lanes(regs, x.format, x.count)
    return rounded(e, fused, dtype) if dtype.is_float else wrapped(e, fused, dtype)


def _odd_sum(e: Emission, x: Lanes, y: Lanes) -> Lanes:
    """A sum in f32 whose last bit is odd where it is not exact, so that rounding it again rounds once.

    What the sum lost is exact too (Knuth's TwoSum); of infinities it is NaN, which is not above 0.
    """
    s = e.s
    regs = []
    for a, b in zip(x.regs, y.regs, strict=True):
        total = s.v("fadd {0}.4s, {1}.4s, {2}.4s", a, b)
        part = s.v("fsub {0}.4s, {1}.4s, {2}.4s", total, a)
        rest = s.v("fsub {0}.4s, {1}.4s, {2}.4s", total, part)
        lost = s.v(
            "fadd {0}.4s, {1}.4s, {2}.4s",
            s.v("fsub {0}.4s, {1}.4s, {2}.4s", a, rest),
            s.v("fsub {0}.4s, {1}.4s, {2}.4s", b, part),
        )
        signs = s.v("eor {0}.16b, {1}.16b, {2}.16b", lost, total)
        step = s.v("sshr {0}.4s, {1}.4s, #31", signs)  # 1 away from zero, or -1
        step = s.v("orr {0}.16b, {1}.16b, {2}.16b", step, s.splat(1, 32))
        size = s.v("fabs {0}.4s, {1}.4s", lost)
        inexact = s.v("fcmgt {0}.4s, {1}.4s, #0.0", size)
        odd = s.v("cmtst {0}.4s, {1}.4s, {2}.4s", total, s.splat(1, 32))
        moved = s.v("bic {0}.16b, {1}.16b, {2}.16b", inexact, odd)
        step = s.v("and {0}.16b, {1}.16b, {2}.16b", step, moved)
        regs.append(s.v("add {0}.4s, {1}.4s, {2}.4s", total, step))
    return Lanes(tuple(regs), F32, x.count)


def where(e: Emission, i: ins.Where, at: At) -> Lanes:
    """x where the mask holds, else y."""
    dtype = i.out.type.dtype
    x, y = e.pull(i.x, at), e.pull(i.y, at)
    if x.format != y.format:
        x, y = number(e, x, dtype), number(e, y, dtype)
    mask = as_format(e, e.pull(i.condition, at), MASKS[x.format.bits])
    return select(e, mask, x, y)


def casted(e: Emission, i: ins.Cast, at: At) -> Lanes:
    """Another dtype."""
    return cast(e, e.pull(i.x, at), i.x.type.dtype, i.out.type.dtype, i.saturate)


def apply_unary(e: Emission, op: str, x: Lanes, dtype: DType) -> Lanes:
    """`op(x)` for x of the dtype."""
    if dtype.kind is Kind.BOOL:
        return Lanes(tuple(e.s.v("mvn {0}.16b, {1}.16b", r) for r in x.regs), x.format, x.count)
    if not dtype.is_float:
        return _integer_unary(e, op, number(e, x, dtype), dtype)
    x = operand(e, x, dtype) if op in _OF_HALVES else number(e, x, dtype)
    if x.format == F16 and op == "sqrt":
        return mapped(e, "fsqrt {0}.@, {1}.@", F16, x)
    if op in ("neg", "abs"):
        return mapped(e, f"f{op} {{0}}.@, {{1}}.@", x.format, x)
    if op in _ROUNDINGS:
        return mapped(e, f"{_ROUNDINGS[op]} {{0}}.@, {{1}}.@", x.format, x)
    return rounded(e, functions.function(e, op, x), dtype)


def operand(e: Emission, x: Lanes, dtype: DType) -> Lanes:
    """A chunk as arithmetic of one rounding takes it: f16 as it is where the CPU computes on it.

    Rounded to f16, an operation on f32 gives the same: it has more than twice the digits
    (Figueroa, When is double rounding innocuous?, 1995).
    """
    if dtype.name == "f16" and "fp16" in e.features:
        return as_format(e, x, F16)
    return number(e, x, dtype)


def _integer_unary(e: Emission, op: str, x: Lanes, dtype: DType) -> Lanes:
    match op:
        case "neg" | "abs" if not (op == "abs" and x.format.kind == "u"):
            return wrapped(e, mapped(e, f"{op} {{0}}.@, {{1}}.@", x.format, x), dtype)
        case "invert":
            regs = tuple(e.s.v("mvn {0}.16b, {1}.16b", r) for r in x.regs)
            return wrapped(e, Lanes(regs, x.format, x.count), dtype)
        case "floor" | "ceil" | "round" | "abs":
            return x
        case _:
            raise functions.missing(e, f"{op} of {dtype}")


def apply_binary(e: Emission, op: str, x: Lanes, y: Lanes, dtype: DType) -> Lanes:
    """`op(x, y)` for operands of the dtype."""
    if dtype.kind is Kind.BOOL:
        return _of_masks(e, op, x, y)
    take = operand if op in _FLOATS or op in COMPARE_OPS else number
    x, y = take(e, x, dtype), take(e, y, dtype)
    if op in COMPARE_OPS:
        return compared(e, op, x, y)
    if dtype.is_float:
        if op in _FLOATS:
            result = mapped(e, f"{_FLOATS[op]} {{0}}.@, {{1}}.@, {{2}}.@", x.format, x, y)
            return result if op in ("min", "max") else rounded(e, result, dtype)
        return rounded(e, functions.binary(e, op, x, y), dtype)
    return wrapped(e, _integer_binary(e, op, x, y, dtype), dtype)


def _of_masks(e: Emission, op: str, x: Lanes, y: Lanes) -> Lanes:
    bits = max(x.format.bits, y.format.bits)
    x, y = as_format(e, x, MASKS[bits]), as_format(e, y, MASKS[bits])
    plain = {"min": "and", "max": "orr", "ne": "eor", **_LOGIC}.get(op)
    if plain is not None:
        text = f"{plain} {{0}}.16b, {{1}}.16b, {{2}}.16b"
        regs = [e.s.v(text, a, b) for a, b in zip(x.regs, y.regs, strict=True)]
    elif op == "eq":
        regs = [
            e.s.v("mvn {0}.16b, {1}.16b", e.s.v("eor {0}.16b, {1}.16b, {2}.16b", a, b))
            for a, b in zip(x.regs, y.regs, strict=True)
        ]
    elif op in ("lt", "gt"):  # false < true
        pairs = zip(x.regs, y.regs, strict=True)
        regs = [
            e.s.v("bic {0}.16b, {1}.16b, {2}.16b", *((b, a) if op == "lt" else (a, b)))
            for a, b in pairs
        ]
    elif op in ("le", "ge"):
        pairs = zip(x.regs, y.regs, strict=True)
        regs = [
            e.s.v("orn {0}.16b, {1}.16b, {2}.16b", *((b, a) if op == "le" else (a, b)))
            for a, b in pairs
        ]
    else:
        raise functions.missing(e, f"{op} of bool")
    return Lanes(tuple(regs), MASKS[bits], x.count)


def compared(e: Emission, op: str, x: Lanes, y: Lanes) -> Lanes:
    """A mask; a comparison with NaN is false, but for `ne`."""
    if op in _SWAPPED:
        return compared(e, _SWAPPED[op], y, x)
    form = MASKS[x.format.bits]
    name = "eq" if op == "ne" else op
    kind = x.format.kind
    instruction = f"fcm{name}" if kind == "f" else _COMPARED[name][kind == "u"]
    mask = mapped(e, f"{instruction} {{0}}.@, {{1}}.@, {{2}}.@", form, x, y)
    if op != "ne":
        return mask
    return Lanes(tuple(e.s.v("mvn {0}.16b, {1}.16b", r) for r in mask.regs), form, x.count)


def _integer_binary(e: Emission, op: str, x: Lanes, y: Lanes, dtype: DType) -> Lanes:
    wide = x.format.bits == 64
    if op in _LOGIC:
        text = f"{_LOGIC[op]} {{0}}.16b, {{1}}.16b, {{2}}.16b"
        pairs = zip(x.regs, y.regs, strict=True)
        return Lanes(tuple(e.s.v(text, a, b) for a, b in pairs), x.format, x.count)
    if op in _INTEGERS and not (wide and op == "mul"):
        return mapped(e, f"{_INTEGERS[op]} {{0}}.@, {{1}}.@, {{2}}.@", x.format, x, y)
    if op in ("min", "max"):
        return extreme(e, op, x, y)
    if op in ("shl", "shr"):
        return _shifted(e, op, x, y, dtype)
    return _by_elements(e, op, x, y, dtype)


def _shifted(e: Emission, op: str, x: Lanes, y: Lanes, dtype: DType) -> Lanes:
    """By registers; distances outside 0 ... bits - 1 give 0."""
    legal_most = e.s.splat(dtype.bits, y.format.bits)
    a = x.format.arrangement
    letter = "u" if x.format.kind == "u" else "s"
    regs: list[Reg] = []
    for value, distance in zip(x.regs, y.regs, strict=True):
        by = e.s.v(f"neg {{0}}.{a}, {{1}}.{a}", distance) if op == "shr" else distance
        shifted = e.s.v(f"{letter}shl {{0}}.{a}, {{1}}.{a}, {{2}}.{a}", value, by)
        legal = e.s.v(f"cmhi {{0}}.{a}, {{1}}.{a}, {{2}}.{a}", legal_most, distance)
        regs.append(e.s.v("and {0}.16b, {1}.16b, {2}.16b", shifted, legal))
    return Lanes(tuple(regs), x.format, x.count)


def _by_elements(e: Emission, op: str, x: Lanes, y: Lanes, dtype: DType) -> Lanes:
    """What vectors have no instruction for, in general registers."""
    if op not in ("floordiv", "mod", "mul", "pow"):
        raise functions.missing(e, f"{op} of {dtype}")
    bits, signed = x.format.bits, x.format.kind == "i"
    name = {8: "b", 16: "h", 32: "s", 64: "d"}[bits]
    out_name = "x" if bits == 64 else "w"
    take = "smov {0}" if signed and bits < 64 else "umov {0}" if bits == 64 else "umov {0:w}"
    regs: list[Reg] = []
    for number_, (a, b) in enumerate(zip(x.regs, y.regs, strict=True)):
        out: Reg | None = None
        for lane in range(min(x.format.lanes, x.count - number_ * x.format.lanes)):
            m, n = (e.s.x(f"{take}, {{1}}.{name}[{lane}]", r) for r in (a, b))
            if op == "mul":
                value = e.s.x("mul {0}, {1}, {2}", m, n)
            elif op == "pow":
                value = power(e, m, n, signed=signed)
            else:
                value = divide(e, op, m, n, unsigned=not signed)
                value = e.s.x("cmp {2}, #0\n\tcsel {0}, xzr, {1}, eq", value, n)
            if out is None:
                out = e.s.v(f"dup {{0}}.{x.format.arrangement}, {{1:{out_name}}}", value)
            else:
                e.s.onto(f"mov {{0}}.{name}[{lane}], {{1:{out_name}}}", out, value)
        assert out is not None
        regs.append(out)
    return Lanes(tuple(regs), x.format, x.count)


PULLS = {
    ins.Unary: unary,
    ins.Binary: binary,
    ins.Fma: fma,
    ins.Where: where,
    ins.Cast: casted,
}
