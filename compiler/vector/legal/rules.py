"""The rules of instructions between registers of native dtypes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dslc.compiler.dtypes import BOOL, I32
from dslc.compiler.vector import instructions as ins
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.legal import floats, integers
from dslc.compiler.vector.legal.atoms import legal_dot
from dslc.compiler.vector.legal.builder import LegalBuilder, Rule
from dslc.compiler.vector.legal.conversions import convert_rule
from dslc.compiler.vector.legal.mathematics import FUNCTIONS, power
from dslc.compiler.vector.legal.permutations import permuted
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.values import Operand


def _unary(b: LegalBuilder, i: ins.Unary) -> Operand | None:
    dtype = vector_type(i.x).dtype
    if i.op in ("floor", "ceil", "round", "trunc") and not dtype.is_float:
        return i.x
    if i.op == "abs" and not dtype.is_signed:
        return i.x
    if i.op == "invert":
        return b.binary("xor", i.x, -1)
    function = FUNCTIONS.get(i.op)
    return None if function is None else function(b, i.x)


def _binary(b: LegalBuilder, i: ins.Binary) -> Operand | None:
    dtype = vector_type(i.x).dtype
    if dtype == BOOL:
        return _of_bools(b, i)
    if dtype.is_float:
        if i.op in ("min", "max"):
            return floats.extreme(b, i.op, i.x, i.y)
        if i.op in ("floordiv", "mod"):
            return floats.divided(b, i.op, i.x, i.y)
        return power(b, i.x, i.y) if i.op == "pow" else None
    match i.op:
        case "floordiv" | "mod":
            return integers.divided(b, i.op, i.x, i.y)
        case "shl" | "shr":
            return integers.shift(b, i.op, i.x, i.y, dtype.bits)
        case "pow":
            return integers.power(b, i.x, i.y, dtype)
        case "quotient":
            return integers.quotient(b, i.x, i.y)
        case "remainder":
            return integers.remainder(b, i.x, i.y)
    return None


_BOOLS = {"min": "and", "max": "or", "ne": "xor"}


def _of_bools(b: LegalBuilder, i: ins.Binary) -> Operand | None:
    if i.op in _BOOLS:
        return b.binary(_BOOLS[i.op], i.x, i.y)
    return b.unary("not", b.binary("xor", i.x, i.y)) if i.op == "eq" else None


def _fma(b: LegalBuilder, i: ins.Fma) -> Operand | None:
    """Integers have no fused product."""
    if vector_type(i.x).dtype.is_float:
        return None
    return b.add(b.mul(i.x, i.y), i.z)


def _nearest(b: LegalBuilder, i: ins.Nearest) -> Operand | None:
    assert isinstance(i.out.type, VectorType)
    dtype = i.out.type.dtype
    if dtype == I32:
        return None
    if dtype.bits <= 16:
        return b.convert(b.nearest(i.x, I32), dtype)
    return b.convert(b.unary("round", i.x), dtype, in_range=True)


def _reduce(b: LegalBuilder, i: ins.Reduce) -> Operand | None:
    """Halves upon halves; machines reduce masks by themselves."""
    if vector_type(i.x).dtype == BOOL:
        return None if i.op in ("and", "or") else _reduced_bools(b, i)
    return halved(b, i.x, lambda x, y: b.binary(i.op, x, y))


def _reduced_bools(b: LegalBuilder, i: ins.Reduce) -> Operand:
    if i.op in ("min", "max"):
        return b.reduce(_BOOLS[i.op], i.x)
    return halved(b, i.x, lambda x, y: b.binary("xor", x, y))


def halved(b: LegalBuilder, x: Operand, combine: Any) -> Operand:
    """All lanes as one: the upper half is combined with the lower until one is left."""
    count = vector_type(x).count
    while count > 1:
        half = (count + 1) // 2
        low, high = b.part(x, 0, count - half), b.part(x, half, count - half)
        joined = combine(low, high)
        x = b.concat(joined, b.part(x, count - half, 1)) if count % 2 else joined
        count = half
    return b.extract(x, 0)


REGISTER_RULES: Mapping[type[Any], Rule] = {
    ins.Unary: _unary,
    ins.Binary: _binary,
    ins.Fma: _fma,
    ins.Convert: convert_rule,
    ins.Nearest: _nearest,
    ins.Reduce: _reduce,
    ins.Dot: legal_dot,
    ins.Permute: permuted,
}
