"""Floats of at most 8 bits: codes as f32 numbers, and f32 numbers as codes, by their bits."""

from __future__ import annotations

from dslc.codegen.aie.compute.emission import Emission
from dslc.codegen.aie.printing.builder import vector
from dslc.compiler.dtypes import DType, Kind, limits
from dslc.compiler.dtypes.formats import has_infinity, has_nan


def small_number(e: Emission, code: str, source: DType, lanes: int) -> str:
    """Codes in i32 as f32 numbers."""
    if source.kind is Kind.SCALE:
        return _scale(e, code, lanes)
    return _small(e, code, source, lanes)


def _small(e: Emission, code: str, source: DType, lanes: int) -> str:
    """Exponent and mantissa stand in the f32's places.

    Subnormal codes are whole numbers of the smallest one, so that no f32 on the way is subnormal.
    """
    kind, single = vector(lanes, "i32"), vector(lanes, "f32")
    flags = f"{vector(lanes, 'i1')}, " if lanes > 1 else ""
    mantissa, bias = source.mantissa, (1 << (source.exponent - 1)) - 1

    def number(value: int) -> str:
        return e.out.constant(value, kind)

    def integer(op: str, a: str, b: str) -> str:
        return e.out.op(f"arith.{op} {a}, {b} : {kind}", "bits")

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


def _scale(e: Emission, code: str, lanes: int) -> str:
    """e8m0: the code is an f32's exponent; 0 is 2^-127, 255 NaN."""
    kind, single = vector(lanes, "i32"), vector(lanes, "f32")
    bits = e.out.op(f"arith.shli {code}, {e.out.constant(23, kind)} : {kind}", "bits")
    flags = f"{vector(lanes, 'i1')}, {kind}" if lanes > 1 else kind
    for at, special in ((0, 0x00400000), (255, 0x7FC00000)):
        same = e.out.op(f"arith.cmpi eq, {code}, {e.out.constant(at, kind)} : {kind}", "same")
        bits = e.out.op(
            f"arith.select {same}, {e.out.constant(special, kind)}, {bits} : {flags}", "bits"
        )
    return e.out.op(f"arith.bitcast {bits} : {kind} to {single}", "scale")


def small_code(e: Emission, x: str, target: DType, lanes: int, *, saturate: bool) -> str:
    """f32 numbers as codes in i32, to nearest even; what is too large as the language says."""
    kind, single = vector(lanes, "i32"), vector(lanes, "f32")
    if saturate:
        most = float(limits(target).greatest)
        kept = e.out.op(f"arith.maximumf {x}, {e.out.constant(-most, single)} : {single}", "kept")
        x = e.out.op(f"arith.minimumf {kept}, {e.out.constant(most, single)} : {single}", "kept")
    bits = e.out.op(f"arith.bitcast {x} : {single} to {kind}", "bits")
    if target.kind is Kind.SCALE:
        return _scale_code(e, x, bits, lanes, saturate=saturate)

    def integer(op: str, a: str, b: str | int) -> str:
        b = b if isinstance(b, str) else e.out.constant(b, kind)
        return e.out.op(f"arith.{op} {a}, {b} : {kind}", "bits")

    def chosen(test: str, a: str, b: str) -> str:
        flag = e.out.op(test, "flag")
        flags = f"{vector(lanes, 'i1')}, {kind}" if lanes > 1 else kind
        return e.out.op(f"arith.select {flag}, {a}, {b} : {flags}", "bits")

    fields, spare = target.exponent + target.mantissa, 23 - target.mantissa
    bias = (1 << (target.exponent - 1)) - 1
    size = integer("andi", bits, 0x7FFFFFFF)
    # Half of what is cut off, less where the rest is even; then the exponent's own bias.
    odd = integer("andi", integer("shrui", size, spare), 1)
    total = integer("addi", integer("addi", size, odd), (1 << (spare - 1)) - 1)
    code = integer("subi", integer("shrui", total, spare), (127 - bias) << target.mantissa)
    # Of subnormal numbers, how many of the least: whole at 2^23, from where on f32 has no fractions.
    value = e.out.op(f"arith.bitcast {size} : {kind} to {single}", "value")
    unit = e.out.constant(2.0 ** (bias - 1 + target.mantissa), single)
    count = e.out.op(f"arith.mulf {value}, {unit} : {single}", "count")
    count = e.out.op(f"arith.addf {count}, {e.out.constant(2.0**23, single)} : {single}", "count")
    count = e.out.op(f"arith.bitcast {count} : {single} to {kind}", "count")
    count = integer("subi", count, (127 + 23) << 23)
    least = e.out.constant((128 - bias) << 23, kind)
    code = chosen(f"arith.cmpi ult, {size}, {least} : {kind}", count, code)
    most = (1 << fields) - 1
    infinity = ((1 << target.exponent) - 1) << target.mantissa
    code = integer("minui", code, infinity if has_infinity(target) else most)
    sign = integer("shli", integer("shrui", bits, 31), fields)
    signed = integer("ori", code, sign)
    none = e.out.constant(most, kind)
    if has_nan(target):
        quiet = infinity | 1 << (target.mantissa - 1) if has_infinity(target) else most
        none = integer("ori", sign, quiet)
    return chosen(f"arith.cmpf ord, {x}, {x} : {single}", signed, none)


def _scale_code(e: Emission, x: str, bits: str, lanes: int, *, saturate: bool) -> str:
    """e8m0: the nearest power of two, ties up; what is not above 0 is NaN, or the least if told."""
    kind, single = vector(lanes, "i32"), vector(lanes, "f32")
    flags = f"{vector(lanes, 'i1')}, {kind}" if lanes > 1 else kind

    def chosen(test: str, a: str, b: str) -> str:
        flag = e.out.op(test, "flag")
        return e.out.op(f"arith.select {flag}, {a}, {b} : {flags}", "code")

    zero = e.out.constant(0.0, single)
    half, less = (e.out.constant(n, kind) for n in (1 << 22, (1 << 22) - 1))
    normal = e.out.constant(1 << 23, kind)
    added = chosen(f"arith.cmpi ult, {bits}, {normal} : {kind}", less, half)
    total = e.out.op(f"arith.addi {bits}, {added} : {kind}", "code")
    code = e.out.op(f"arith.shrui {total}, {e.out.constant(23, kind)} : {kind}", "code")
    none = e.out.constant(255, kind)
    if saturate:
        least = e.out.constant(0, kind)
        none = chosen(f"arith.cmpf oeq, {x}, {zero} : {single}", least, none)
    return chosen(f"arith.cmpf ogt, {x}, {zero} : {single}", code, none)
