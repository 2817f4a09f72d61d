"""Conversions between element types by the rules of the language."""

from __future__ import annotations

from dslc.codegen.aie.compute.emission import Emission, refuse
from dslc.codegen.aie.compute.small_floats import small_code, small_number
from dslc.codegen.aie.dtypes import element, is_code
from dslc.codegen.aie.printing.builder import vector
from dslc.compiler.dtypes import (
    BF16,
    BOOL,
    F16,
    F32,
    I32,
    INDEX,
    U8,
    DType,
    limits,
    parse_dtype,
    rounds_twice,
)
from dslc.compiler.ir.instructions import Stmt


def _byte(*, signed: bool) -> DType:
    byte = parse_dtype("i8" if signed else "u8")
    assert byte is not None
    return byte


def _bits(dtype: DType) -> DType:
    """The integers that a float's codes are."""
    if dtype != F16:
        return U8
    bits = parse_dtype("u16")
    assert bits is not None
    return bits


def computed_in(dtype: DType) -> DType:
    """The type in which arithmetic on codes is done: f32 for f16, a byte for integers of fewer bits."""
    if dtype == F16:
        return F32
    return _byte(signed=dtype.is_signed) if dtype.is_low_bit and dtype.is_integer else dtype


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
    if is_code(source):
        return _from_code(e, stmt, x, source, target, lanes, saturate=saturate)
    if is_code(target):
        return _to_code(e, stmt, x, source, target, lanes, saturate=saturate)
    a, b = element(source, stmt.loc), element(target, stmt.loc)
    kind, wide = vector(lanes, a), vector(lanes, b)
    if INDEX in (source, target):
        other = target if source == INDEX else source
        if source == INDEX and target.is_float and lanes == 1:
            x = converted(e, stmt, x, INDEX, I32, lanes)
            return _from_integer(e, x, I32, target, lanes)
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
        if target == F32:
            x = e.out.op(f"arith.extf {x} : {kind} to {wide}", "cast")
            return _finite(e, x, F32, lanes) if saturate else x
        x = _finite(e, x, target, lanes) if saturate else x
        return e.out.op(f"arith.truncf {x} : {kind} to {wide}", "cast")
    if target.is_float:
        return _from_integer(e, x, source, target, lanes)
    if source.is_float:
        return _to_integer(e, stmt, x, source, target, lanes)
    return _integers(e, x, source, target, lanes, saturate=saturate)


def _finite(e: Emission, x: str, target: DType, lanes: int) -> str:
    """An f32 within the finite range of a float type; NaN stays."""
    most, kind = limits(target).greatest, vector(lanes, "f32")
    x = e.out.op(f"arith.minimumf {x}, {e.out.constant(most, kind)} : {kind}", "clamped")
    return e.out.op(f"arith.maximumf {x}, {e.out.constant(-most, kind)} : {kind}", "clamped")


def _to_odd(e: Emission, x: str, source: DType, lanes: int) -> str:
    """Integers of 32 bits that f32 has: beyond 2^24 the last 8 bits are in the one before them.

    That is rounding to odd: what f32 is rounded to next is as if the integer itself were.
    """
    kind = vector(lanes, "i32")

    def step(word: str, a: str, number: int) -> str:
        return e.out.op(f"arith.{word} {a}, {e.out.constant(number, kind)} : {kind}", "odd")

    some = step("andi", step("addi", step("andi", x, 255), 255), 256)
    cut = step("andi", e.out.op(f"arith.ori {x}, {some} : {kind}", "odd"), -256)
    size, most = (step("addi", x, 1 << 24), 1 << 25) if source.is_signed else (x, 1 << 24)
    large = e.out.op(f"arith.cmpi ugt, {size}, {e.out.constant(most, kind)} : {kind}", "large")
    chosen = f"{vector(lanes, 'i1')}, {kind}" if lanes > 1 else kind
    return e.out.op(f"arith.select {large}, {cut}, {x} : {chosen}", "odd")


def _from_integer(e: Emission, x: str, source: DType, target: DType, lanes: int) -> str:
    if source.bits == 32 and rounds_twice(target):
        x = _to_odd(e, x, source, lanes)
    word = "sitofp" if source.is_signed else "uitofp"
    kind, single = vector(lanes, element(source)), vector(lanes, "f32")
    exact = e.out.op(f"arith.{word} {x} : {kind} to {single}", "cast")
    if target == F32:
        return exact
    return e.out.op(f"arith.truncf {exact} : {single} to {vector(lanes, 'bf16')}", "cast")


def _to_integer(e: Emission, stmt: Stmt, x: str, source: DType, target: DType, lanes: int) -> str:
    """Clamped in f32 first; NaN becomes 0."""
    single = vector(lanes, "f32")
    if source == BF16:
        x = converted(e, stmt, x, BF16, F32, lanes)
    low, top = target.integer_range
    high = top - top % (1 << max(target.bits - 24 - target.is_signed, 0))  # that f32 has
    least, most = e.out.constant(float(low), single), e.out.constant(float(high), single)
    zero = e.out.constant(0.0, single)
    number = e.out.op(f"arith.cmpf ord, {x}, {x} : {single}", "number")
    flags = f"{vector(lanes, 'i1')}, {single}" if lanes > 1 else single
    x = e.out.op(f"arith.select {number}, {x}, {zero} : {flags}", "number")
    kept = e.out.op(f"arith.maximumf {x}, {least} : {single}", "clamped")
    kept = e.out.op(f"arith.minimumf {kept}, {most} : {single}", "clamped")
    word, whole = "fptosi" if target.is_signed else "fptoui", vector(lanes, element(target))
    truncated = e.out.op(f"arith.{word} {kept} : {single} to {whole}", "cast")
    if high == top:
        return truncated
    past = e.out.op(f"arith.cmpf ogt, {x}, {most} : {single}", "past")
    flags = f"{vector(lanes, 'i1')}, {whole}" if lanes > 1 else whole
    return e.out.op(
        f"arith.select {past}, {e.out.constant(top, whole)}, {truncated} : {flags}", "cast"
    )


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


def _from_code(
    e: Emission, stmt: Stmt, x: str, source: DType, target: DType, lanes: int, *, saturate: bool
) -> str:
    """A code in a byte as what it stands for."""
    if source.is_integer:
        byte = _byte(signed=source.is_signed)
        return converted(e, stmt, x, byte, target, lanes, saturate=saturate)
    code = converted(e, stmt, x, _bits(source), I32, lanes)
    number = small_number(e, code, source, lanes)
    if saturate and target == F32:
        return _finite(e, number, F32, lanes)
    return converted(e, stmt, number, F32, target, lanes, saturate=saturate)


def _to_code(
    e: Emission, stmt: Stmt, x: str, source: DType, target: DType, lanes: int, *, saturate: bool
) -> str:
    """A small float's code, or an integer of few bits as its value in a byte: it wraps unless told."""
    if not target.is_integer:
        if source.is_integer and source.bits == 32 and rounds_twice(target):
            x = _to_odd(e, x, source, lanes)
        x = converted(e, stmt, x, source, F32, lanes)
        code = small_code(e, x, target, lanes, saturate=saturate)
        return converted(e, stmt, code, I32, _bits(target), lanes)
    byte = _byte(signed=target.is_signed)
    low, high = target.integer_range
    if saturate or source.is_float:
        wide = converted(e, stmt, x, source, I32, lanes) if source.is_float else x
        own = I32 if source.is_float else source
        least, most = own.integer_range
        kind, sign = vector(lanes, element(own)), "s" if own.is_signed else "u"
        for word, limit in (("max", max(low, least)), ("min", min(high, most))):
            number = e.out.constant(limit, kind)
            wide = e.out.op(f"arith.{word}{sign}i {wide}, {number} : {kind}", "clamped")
        return converted(e, stmt, wide, own, byte, lanes)
    x = converted(e, stmt, x, source, byte, lanes)
    kind = vector(lanes, "i8")
    if not target.is_signed:
        return e.out.op(f"arith.andi {x}, {e.out.constant(high, kind)} : {kind}", "wrapped")
    places = e.out.constant(8 - target.bits, kind)
    x = e.out.op(f"arith.shli {x}, {places} : {kind}", "wrapped")
    return e.out.op(f"arith.shrsi {x}, {places} : {kind}", "wrapped")
