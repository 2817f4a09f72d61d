"""Float scalars: every lane of a vector holds the number."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np
from dslc.codegen.aarch64.chunks.conversions import cast, number
from dslc.codegen.aarch64.chunks.elementwise import apply_binary, apply_unary, compared
from dslc.codegen.aarch64.chunks.formats import MASKS, SIGNED, Lanes, computed, select
from dslc.codegen.aarch64.machine_code.blocks import Reg
from dslc.codegen.aarch64.memory.transfer import splat_general, to_general
from dslc.codegen.chunks.at import At
from dslc.compiler.dtypes import BOOL, DType, Kind, round_to
from dslc.compiler.dtypes.dtype import I64
from dslc.compiler.ir import expr as ex

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission


def scalar(e: Emission, expr: ex.Expr, count: int = 1) -> Lanes:
    """The value of a scalar expression of any dtype in every lane, computed in its format."""
    form = computed(expr.dtype)
    if expr.dtype.kind is Kind.BOOL:
        return mask_of(e, e.integer(expr), form.bits, count)
    if not expr.dtype.is_float:
        return splat_general(e, e.integer(expr), form, count)
    # One register serves a chunk of any length: each of its lanes must hold the number.
    first = number(e, _everywhere(e, expr), expr.dtype)
    return Lanes(first.regs * -(-count // form.lanes), form, count)


def _everywhere(e: Emission, expr: ex.Expr) -> Lanes:
    """A float expression in each lane of a register, which may have the format of memory."""
    dtype = expr.dtype
    form = computed(dtype)
    match expr:
        case ex.Const(value):
            return constant_lanes(e, float(value), dtype, 1)
        case ex.Var():
            return Lanes((e.vars[expr].value,), form, 1)
        case ex.Read(value):
            return _from_first(e, number(e, e.pull(value, At((), ((),))), dtype))
        case ex.Unary(op, x):
            return apply_unary(e, op, scalar(e, x), dtype)
        case ex.Binary(op, x, y):
            return apply_binary(e, op, scalar(e, x), scalar(e, y), x.dtype)
        case ex.Select(c, x, y):
            mask = mask_of(e, e.integer(c), form.bits, 1)
            return select(e, mask, scalar(e, x), scalar(e, y))
        case ex.Convert(x, _, saturate):
            source = scalar(e, x)
            converted = number(e, cast(e, source, _lane_dtype(x.dtype), dtype, saturate), dtype)
            # Two lanes of 64 bits do not fill four.
            return _from_first(e, converted) if source.format.bits > form.bits else converted
        case _:
            raise AssertionError(expr)


def _from_first(e: Emission, lanes: Lanes) -> Lanes:
    """A float's first lane in every lane."""
    name = "s" if lanes.format.bits == 32 else "d"
    reg = e.s.v(f"dup {{0}}.{lanes.format.arrangement}, {{1}}.{name}[0]", lanes.regs[0])
    return Lanes((reg,), lanes.format, 1)


def _lane_dtype(dtype: DType) -> DType:
    return I64 if dtype.kind is Kind.INDEX else dtype


def constant_lanes(e: Emission, value: float, dtype: DType, count: int) -> Lanes:
    """A number known at compile time, rounded to the dtype, in every lane."""
    form = computed(dtype)
    exact = float(round_to(np.asarray(value, np.float64), dtype))
    code = struct.pack("<f" if form.bits == 32 else "<d", exact)
    return Lanes((e.s.literal(code * (16 // len(code))),) * -(-count // form.lanes), form, count)


def mask_of(e: Emission, reg: Reg, bits: int, count: int) -> Lanes:
    """0 or 1 as lanes of zeros or ones."""
    ones = e.s.x("neg {0}, {1}", reg)
    return Lanes(splat_general(e, ones, SIGNED[bits], count).regs, MASKS[bits], count)


def compare(e: Emission, expr: ex.Binary) -> Reg:
    """A comparison of float scalars as 0 or 1 in a general register."""
    mask = compared(e, expr.op, scalar(e, expr.x), scalar(e, expr.y))
    return to_general(e, mask, BOOL)


def to_integer(e: Emission, x: ex.Expr, dtype: DType) -> Reg:
    """A float scalar truncated and saturated."""
    lanes = cast(e, scalar(e, x), x.dtype, _lane_dtype(dtype), saturate=False)
    return to_general(e, lanes, _lane_dtype(dtype))
