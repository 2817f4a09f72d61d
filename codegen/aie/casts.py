"""Conversions between element types by the rules of the language."""

from __future__ import annotations

from dslc.codegen.aie.builder import vector
from dslc.codegen.aie.dtypes import element, is_code
from dslc.codegen.aie.emission import Emission, refuse
from dslc.compiler.dtypes import BF16, BOOL, F32, I32, INDEX, U8, DType, Kind, parse_dtype
from dslc.compiler.dtypes.formats import has_infinity, has_nan
from dslc.compiler.ir.instructions import Stmt


def _byte(*, signed: bool) -> DType:
    found = parse_dtype("i8" if signed else "u8")
    assert found is not None
    return found


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
        return _from_code(e, stmt, x, source, target, lanes)
    if is_code(target):
        return _to_code(e, stmt, x, source, target, lanes, saturate=saturate)
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


def _from_code(e: Emission, stmt: Stmt, x: str, source: DType, target: DType, lanes: int) -> str:
    """A code in a byte as what it stands for."""
    if source.is_integer:
        return converted(e, stmt, x, _byte(signed=source.is_signed), target, lanes)
    found = (
        _scale(e, stmt, x, lanes)
        if source.kind is Kind.SCALE
        else _small(e, stmt, x, source, lanes)
    )
    return converted(e, stmt, found, F32, target, lanes)


def _small(e: Emission, stmt: Stmt, x: str, source: DType, lanes: int) -> str:
    """A small float as an f32, by its bits: exponent and mantissa stand in the f32's places.

    Subnormal codes are whole numbers of the smallest one, so that no f32 on the way is subnormal.
    """
    kind, single = vector(lanes, "i32"), vector(lanes, "f32")
    flags = f"{vector(lanes, 'i1')}, " if lanes > 1 else ""
    mantissa, bias = source.mantissa, (1 << (source.exponent - 1)) - 1

    def number(value: int) -> str:
        return e.out.constant(value, kind)

    def integer(op: str, a: str, b: str) -> str:
        return e.out.op(f"arith.{op} {a}, {b} : {kind}", "bits")

    code = converted(e, stmt, x, U8, I32, lanes)
    size = integer("andi", code, number((1 << (source.bits - 1)) - 1))
    normal = integer("shli", size, number(23 - mantissa))
    normal = integer("addi", normal, number((127 - bias) << 23))
    if has_infinity(source) or has_nan(source):
        # The greatest exponent is the f32's own, or of f8e4m3 its last code.
        last = ((1 << source.exponent) - 1) << mantissa
        limit = last if has_infinity(source) else last + (1 << mantissa) - 1
        special = e.out.op(f"arith.cmpi uge, {size}, {number(limit)} : {kind}", "special")
        high = integer("ori", normal, number(0x7F800000))
        normal = e.out.op(f"arith.select {special}, {high}, {normal} : {flags}{kind}", "bits")
    value = e.out.op(f"arith.bitcast {normal} : {kind} to {single}", "value")
    if mantissa:
        low = e.out.op(f"arith.sitofp {size} : {kind} to {single}", "low")
        smallest = e.out.constant(2.0 ** (1 - bias - mantissa), single)
        low = e.out.op(f"arith.mulf {low}, {smallest} : {single}", "low")
    else:
        low = e.out.constant(0.0, single)
    below = e.out.op(f"arith.cmpi ult, {size}, {number(1 << mantissa)} : {kind}", "below")
    value = e.out.op(f"arith.select {below}, {low}, {value} : {flags}{single}", "value")
    sign = integer("shli", integer("shrui", code, number(source.bits - 1)), number(31))
    bits = e.out.op(f"arith.bitcast {value} : {single} to {kind}", "bits")
    bits = integer("ori", bits, sign)
    return e.out.op(f"arith.bitcast {bits} : {kind} to {single}", "value")


def _scale(e: Emission, stmt: Stmt, x: str, lanes: int) -> str:
    """e8m0: the code is an f32's exponent; 0 is 2^-127, 255 NaN."""
    kind, single = vector(lanes, "i32"), vector(lanes, "f32")
    code = converted(e, stmt, x, U8, I32, lanes)
    bits = e.out.op(f"arith.shli {code}, {e.out.constant(23, kind)} : {kind}", "bits")
    flags = f"{vector(lanes, 'i1')}, {kind}" if lanes > 1 else kind
    for at, special in ((0, 0x00400000), (255, 0x7FC00000)):
        same = e.out.op(f"arith.cmpi eq, {code}, {e.out.constant(at, kind)} : {kind}", "same")
        bits = e.out.op(
            f"arith.select {same}, {e.out.constant(special, kind)}, {bits} : {flags}", "bits"
        )
    return e.out.op(f"arith.bitcast {bits} : {kind} to {single}", "scale")


def _to_code(
    e: Emission, stmt: Stmt, x: str, source: DType, target: DType, lanes: int, *, saturate: bool
) -> str:
    """An integer of few bits, as its value in a byte: it wraps unless told."""
    if not target.is_integer:
        raise refuse(stmt, f"a cast from {source} to {target} has no code on an NPU")
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
