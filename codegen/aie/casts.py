"""Conversions between element types by the rules of the language."""

from __future__ import annotations

from dslc.codegen.aie.builder import vector
from dslc.codegen.aie.dtypes import element
from dslc.codegen.aie.emission import Emission, refuse
from dslc.compiler.dtypes import BF16, BOOL, F32, INDEX, DType
from dslc.compiler.ir.instructions import Stmt


def converted(
    e: Emission,
    stmt: Stmt,
    x: str,
    source: DType,
    target: DType,
    lanes: int,
    *,
    saturate: bool = False,
) -> str:
    """A chunk of another dtype: floats to integers truncate and saturate, integers wrap unless told."""
    if source == target:
        return x
    a, b = element(source, stmt.loc), element(target, stmt.loc)
    kind, wide = vector(lanes, a), vector(lanes, b)
    if INDEX in (source, target):
        other = target if source == INDEX else source
        if not (other.is_integer and lanes == 1):
            raise refuse(stmt, f"a cast from {source} to {target} has no code on an NPU")
        return e.out.op(f"arith.index_cast {x} : {kind} to {wide}", "cast")
    if source == BOOL:
        word = "arith.uitofp" if target.is_float else "arith.extui"
        return e.out.op(f"{word} {x} : {kind} to {wide}", "cast")
    if target == BOOL:
        word = "cmpf une" if source.is_float else "cmpi ne"
        return e.out.op(f"arith.{word}, {x}, {e.out.constant(0, kind)} : {kind}", "flag")
    if source.is_float and target.is_float:
        word = "extf" if target == F32 else "truncf"
        return e.out.op(f"arith.{word} {x} : {kind} to {wide}", "cast")
    if target.is_float:
        return _from_integer(e, x, source, target, lanes)
    if source.is_float:
        return _to_integer(e, stmt, x, source, target, lanes)
    return _integers(e, x, source, target, lanes, saturate=saturate)


def _from_integer(e: Emission, x: str, source: DType, target: DType, lanes: int) -> str:
    word = "sitofp" if source.is_signed else "uitofp"
    kind, single = vector(lanes, element(source)), vector(lanes, "f32")
    found = e.out.op(f"arith.{word} {x} : {kind} to {single}", "cast")
    if target == F32:
        return found
    return e.out.op(f"arith.truncf {found} : {single} to {vector(lanes, 'bf16')}", "cast")


def _to_integer(e: Emission, stmt: Stmt, x: str, source: DType, target: DType, lanes: int) -> str:
    """Clamped in f32 first; NaN becomes 0."""
    single = vector(lanes, "f32")
    if source == BF16:
        x = converted(e, stmt, x, BF16, F32, lanes)
    low, high = target.integer_range
    if target.bits == 32:  # the greatest f32 below the limit
        high -= 127 if target.is_signed else 255
    least, most = e.out.constant(float(low), single), e.out.constant(float(high), single)
    zero = e.out.constant(0.0, single)
    number = e.out.op(f"arith.cmpf ord, {x}, {x} : {single}", "number")
    flags = f"{vector(lanes, 'i1')}, {single}" if lanes > 1 else single
    x = e.out.op(f"arith.select {number}, {x}, {zero} : {flags}", "number")
    x = e.out.op(f"arith.maximumf {x}, {least} : {single}", "clamped")
    x = e.out.op(f"arith.minimumf {x}, {most} : {single}", "clamped")
    word = "fptosi" if target.is_signed else "fptoui"
    return e.out.op(f"arith.{word} {x} : {single} to {vector(lanes, element(target))}", "cast")


def _integers(
    e: Emission, x: str, source: DType, target: DType, lanes: int, *, saturate: bool
) -> str:
    kind, wide = vector(lanes, element(source)), vector(lanes, element(target))
    if saturate:
        low, high = target.integer_range
        least, most = source.integer_range
        sign = "s" if source.is_signed else "u"
        if low > least:
            x = e.out.op(f"arith.max{sign}i {x}, {e.out.constant(low, kind)} : {kind}", "clamped")
        if high < most:
            x = e.out.op(f"arith.min{sign}i {x}, {e.out.constant(high, kind)} : {kind}", "clamped")
    if source.bits == target.bits:
        return x
    if source.bits > target.bits:
        return e.out.op(f"arith.trunci {x} : {kind} to {wide}", "cast")
    word = "extsi" if source.is_signed else "extui"
    return e.out.op(f"arith.{word} {x} : {kind} to {wide}", "cast")
