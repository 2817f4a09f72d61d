"""Scalar expressions: integers and bools in general registers, floats in every lane of a vector.

An integer narrower than 64 bits stands sign- or zero-extended, as its dtype says, and is brought back
to its range after what may leave it. Expressions are pure: each is computed once, before the outermost
loop in which nothing that it reads changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dslc.codegen.aarch64.machine_code.blocks import Reg
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import INDEX, DType, Kind
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import simplify

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission

_PLAIN = {"add": "add", "sub": "sub", "and": "and", "or": "orr", "xor": "eor", "mul": "mul"}
CONDITIONS = {
    "eq": ("eq", "eq"),
    "ne": ("ne", "ne"),
    "lt": ("lt", "lo"),
    "le": ("le", "ls"),
    "gt": ("gt", "hi"),
    "ge": ("ge", "hs"),
}
INVERSE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "lo": "hs",
           "hs": "lo", "ls": "hi", "hi": "ls"}  # fmt: skip


def integer(e: Emission, expr: ex.Expr) -> Reg:
    """The value of an integer or bool expression in a general register."""
    expr = simplify(expr)
    if isinstance(expr, ex.Const):
        return e.s.number(int(expr.value))
    if isinstance(expr, ex.Var):
        return e.vars[expr].value
    key = ("expr", expr)
    remembered = e.s.recall(key)
    if isinstance(remembered, Reg):
        return remembered
    level = e.level_of(expr)
    with e.s.ahead_of(level):
        out = _compute(e, expr)
    return e.s.remember(key, out, level)


def condition_of(e: Emission, expr: ex.Expr) -> tuple[str, tuple[Reg, ...], str]:
    """A comparison (`cmp ...`), its operands, and the condition under which `expr` holds."""
    expr = simplify(expr)
    match expr:
        case ex.Binary(op, x, y) if op in CONDITIONS and not x.dtype.is_float:
            unsigned = x.dtype.kind is Kind.UINT
            if isinstance(y, ex.Const) and 0 <= int(y.value) < 4096:
                return f"cmp {{0}}, #{int(y.value)}", (integer(e, x),), CONDITIONS[op][unsigned]
            return "cmp {0}, {1}", (integer(e, x), integer(e, y)), CONDITIONS[op][unsigned]
        case ex.Unary("not", x):
            text, uses, condition = condition_of(e, x)
            return text, uses, INVERSE[condition]
        case _:
            return "cmp {0}, #0", (integer(e, expr),), "ne"


def _compute(e: Emission, expr: ex.Expr) -> Reg:
    s = e.s
    match expr:
        case ex.Read(value):
            return e.read_integer(value)
        case ex.Binary(op, x, _) if op in CONDITIONS:
            if x.dtype.is_float:
                return e.compare_floats(expr)
            text, uses, condition = condition_of(e, expr)
            return s.x(f"{_shift(text)}\n\tcset {{0}}, {condition}", *uses)
        case ex.Select(c, x, y):
            xr, yr = integer(e, x), integer(e, y)
            text, uses, condition = condition_of(e, c)
            a, b = len(uses) + 1, len(uses) + 2
            return s.x(
                f"{_shift(text)}\n\tcsel {{0}}, {{{a}}}, {{{b}}}, {condition}", *uses, xr, yr
            )
        case ex.Convert(x, dtype, saturate):
            return _convert(e, x, dtype, saturate)
        case ex.Unary(op, x, dtype):
            return _unary(e, op, integer(e, x), dtype)
        case ex.Binary(op, x, y, dtype):
            return wrap(e, _binary(e, op, x, y, dtype), dtype)
        case _:
            raise AssertionError(expr)


def _shift(text: str) -> str:
    """The comparison's operands one further on: the first hole is the result's."""
    return text.replace("{1}", "{2}").replace("{0}", "{1}")


def _unary(e: Emission, op: str, x: Reg, dtype: DType) -> Reg:
    match op:
        case "neg":
            return wrap(e, e.s.x("neg {0}, {1}", x), dtype)
        case "not":
            return e.s.x("eor {0}, {1}, #1", x)
        case "invert" if dtype.kind is Kind.BOOL:
            return e.s.x("eor {0}, {1}, #1", x)
        case "invert":
            return wrap(e, e.s.x("mvn {0}, {1}", x), dtype)
        case "abs":
            return wrap(e, e.s.x("cmp {1}, #0\n\tcneg {0}, {1}, lt", x), dtype)
        case "floor" | "ceil" | "round":
            return x
        case _:
            raise error("DSL0590", f"AArch64 code has no {op} of {dtype} scalars")


def _binary(e: Emission, op: str, x: ex.Expr, y: ex.Expr, dtype: DType) -> Reg:
    s = e.s
    unsigned = dtype.kind is Kind.UINT
    a = integer(e, x)
    if isinstance(y, ex.Const):
        c = int(y.value)
        if op in ("add", "sub") and 0 <= c < 4096:
            return s.x(f"{op} {{0}}, {{1}}, #{c}", a)
        if c > 0 and c & (c - 1) == 0:
            log = c.bit_length() - 1
            if op == "mul":
                return s.x(f"lsl {{0}}, {{1}}, #{log}", a)
            if op == "floordiv":
                return s.x(f"{'lsr' if unsigned else 'asr'} {{0}}, {{1}}, #{log}", a)
            if op == "mod":
                return s.x(f"and {{0}}, {{1}}, #{c - 1}", a) if c > 1 else s.number(0)
    b = integer(e, y)
    match op:
        case _ if op in _PLAIN:
            return s.x(f"{_PLAIN[op]} {{0}}, {{1}}, {{2}}", a, b)
        case "min" | "max":
            taken = {"min": ("lt", "lo"), "max": ("gt", "hi")}[op][unsigned]
            return s.x(f"cmp {{1}}, {{2}}\n\tcsel {{0}}, {{1}}, {{2}}, {taken}", a, b)
        case "shl" | "shr":
            shift = "lsl" if op == "shl" else "lsr" if unsigned else "asr"
            bits = 64 if dtype == INDEX else dtype.bits
            # A shift by the width or more gives 0.
            text = (
                f"cmp {{2}}, #{bits}\n\t{shift} {{0}}, {{1}}, {{2}}\n\tcsel {{0}}, {{0}}, xzr, lo"
            )
            return s.x(text, a, b)
        case "pow":
            return power(e, a, b, signed=not unsigned)
        case "floordiv" | "mod":
            return divide(e, op, a, b, unsigned=unsigned)
        case _:
            raise error("DSL0590", f"AArch64 code has no {op} of {dtype} scalars")


def divide(e: Emission, op: str, a: Reg, b: Reg, *, unsigned: bool) -> Reg:
    """Towards minus infinity: the quotient towards zero less 1 where the remainder's sign differs."""
    s = e.s
    if unsigned:
        quotient = s.x("udiv {0}, {1}, {2}", a, b)
        return quotient if op == "floordiv" else s.x("msub {0}, {1}, {2}, {3}", quotient, b, a)
    quotient = s.x("sdiv {0}, {1}, {2}", a, b)
    rest = s.x("msub {0}, {1}, {2}, {3}", quotient, b, a)
    signs = s.x("eor {0}, {1}, {2}", rest, b)
    differs = s.x("cmp {1}, #0\n\tccmp {2}, #0, #0, ne\n\tcset {0}, lt", rest, signs)
    if op == "floordiv":
        return s.x("sub {0}, {1}, {2}", quotient, differs)
    return s.x("madd {0}, {1}, {2}, {3}", differs, b, rest)


def power(e: Emission, a: Reg, b: Reg, *, signed: bool) -> Reg:
    """By squaring; of a negative exponent what the fraction's whole part is: 0, but for 1 and -1."""
    s = e.s
    base, left, out = s.copy(a), s.copy(b), s.copy(s.number(1))
    head, end = s.label("power"), s.label("end")
    if signed:
        # 1 and -1 alone are not 0 there: their power is that of the exponent's last bit.
        unit = s.x("cmp {1}, #1\n\tccmn {1}, #1, #4, ne\n\tcset {0}, eq", base)
        text = "cmp {1}, #0\n\tcsel {0}, {2}, {3}, ge"
        s.move(out, s.x(text, left, out, unit))
        odd = s.x("and {0}, {1}, #1", left)
        s.move(left, s.x("cmp {1}, #0\n\tcsel {0}, {1}, {2}, ge", left, odd))
    s.put(head)
    s.branch("cbz {0}, @", end, left)
    more = s.x("mul {0}, {1}, {2}", out, base)
    s.into("tst {2}, #1\n\tcsel {0}, {1}, {3}, ne", out, more, left, out)
    s.into("mul {0}, {1}, {1}", base, base)
    s.into("lsr {0}, {1}, #1", left, left)
    s.jump(head)
    s.put(end)
    return out


def wrap(e: Emission, reg: Reg, dtype: DType) -> Reg:
    """The register's low bits as an integer of the dtype."""
    if dtype.bits >= 64 or dtype.kind in (Kind.INDEX, Kind.BOOL):
        return reg
    signed = dtype.kind is Kind.INT
    if not signed and dtype.bits == 32:
        return e.s.x("mov {0:w}, {1:w}", reg)
    return e.s.x(f"{'sbfx' if signed else 'ubfx'} {{0}}, {{1}}, #0, #{dtype.bits}", reg)


def _convert(e: Emission, x: ex.Expr, dtype: DType, saturate: bool) -> Reg:
    if x.dtype.is_float:
        return e.float_to_integer(x, dtype)
    value = integer(e, x)
    if dtype.kind is Kind.BOOL:
        return e.s.x("cmp {1}, #0\n\tcset {0}, ne", value)
    if not saturate or dtype == INDEX:
        return wrap(e, value, dtype)
    low, high = dtype.integer_range
    unsigned = x.dtype.kind is Kind.UINT
    below, above = ("lo", "hi") if unsigned else ("lt", "gt")
    if not unsigned:
        least = e.s.number(low)
        value = e.s.x(f"cmp {{1}}, {{2}}\n\tcsel {{0}}, {{2}}, {{1}}, {below}", value, least)
    most = e.s.number(high)
    return e.s.x(f"cmp {{1}}, {{2}}\n\tcsel {{0}}, {{2}}, {{1}}, {above}", value, most)
