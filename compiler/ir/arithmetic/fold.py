"""Scalar operations on numbers known at compile time, with the language's semantics.

Integers of a machine dtype wrap at their width; `index` is exact. f16 and bf16 compute in f32 and round
once more. What machines may answer differently is not folded: transcendental functions, division by
zero, shifts by the width or more.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import TypeAlias

from dslc.compiler.dtypes import BOOL, F16, F32, F64, INDEX, DType, Kind
from dslc.compiler.dtypes.dtype import BF16
from dslc.compiler.ir.expr import COMPARE_OPS

Number: TypeAlias = int | float | bool

_COMPARE: dict[str, Callable[[Number, Number], bool]] = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}
_BITWISE: dict[str, Callable[[int, int], int]] = {
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
}
_RING: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "min": min,
    "max": max,
}
_WHOLE: dict[str, Callable[[float], int]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
}
_MAX_EXPONENT = 4096  # of `**` on index: a constant longer than this helps nobody


def fold_unary(op: str, x: Number, dtype: DType) -> Number | None:
    """`op(x)` of an x of the dtype, None where it is left to the machine."""
    if dtype == BOOL:
        return not x if op in ("not", "invert") else None
    if dtype.is_integer:
        return _integer_unary(op, int(x), dtype)
    return _float_unary(op, float(x), dtype)


def fold_binary(op: str, x: Number, y: Number, dtype: DType) -> Number | None:
    """`op(x, y)` of two operands of `dtype`, None where it is left to the machine."""
    if op in COMPARE_OPS:
        if dtype in _ROUND:
            x, y = _ROUND[dtype](float(x)), _ROUND[dtype](float(y))
        return _COMPARE[op](x, y)
    if dtype == BOOL:
        return bool(_BITWISE[op](int(x), int(y))) if op in _BITWISE else None
    if dtype.is_integer:
        return _integer_binary(op, int(x), int(y), dtype)
    return _float_binary(op, float(x), float(y), dtype)


def fold_convert(x: Number, source: DType, target: DType, saturate: bool = False) -> Number | None:
    """`cast(x, target)` between bool, integers and f16, bf16, f32, f64; None for other floats."""
    if source.is_float:
        if source not in _ROUND:
            return None
        x = _ROUND[source](float(x))
    if target == BOOL:
        return x != 0
    if target.is_integer:
        return _to_integer(x, target, saturate or source.is_float)
    return _ROUND[target](x) if target in _ROUND else None


def wrap(value: int, dtype: DType) -> int:
    """The integer modulo 2^bits, in the dtype's range; `index` is exact."""
    if dtype.kind is Kind.INDEX:
        return value
    low, high = dtype.integer_range
    return value if low <= value <= high else (value - low) % (high - low + 1) + low


def _integer_unary(op: str, x: int, dtype: DType) -> int | None:
    match op:
        case "neg":
            return wrap(-x, dtype)
        case "abs":
            return wrap(abs(x), dtype)
        case "invert":
            return wrap(~x, dtype)
        case "floor" | "ceil" | "round":
            return x
        case _:
            return None


def _integer_binary(op: str, x: int, y: int, dtype: DType) -> int | None:
    if op in _RING:
        return wrap(_RING[op](x, y), dtype)
    if op in _BITWISE:
        return wrap(_BITWISE[op](x, y), dtype)
    match op:
        case "floordiv" if y != 0:
            return wrap(x // y, dtype)
        case "mod" if y != 0:
            return wrap(x % y, dtype)
        case "shl" if 0 <= y < dtype.bits:
            return wrap(x << y, dtype)
        case "shr" if 0 <= y < dtype.bits:
            return x >> y
        case "pow" if 0 <= y <= _MAX_EXPONENT:
            return x**y if dtype == INDEX else wrap(pow(x, y, 1 << dtype.bits), dtype)
        case _:
            return None


def _float_unary(op: str, x: float, dtype: DType) -> float | None:
    if dtype not in _ROUND:
        return None
    x = _ROUND[dtype](x)
    match op:
        case "neg":
            return -x
        case "abs":
            return abs(x)
        case "sqrt" if x >= 0:
            return _ROUND[dtype](_working(math.sqrt(x), dtype))
        case "floor" | "ceil" | "round" if math.isfinite(x) and x != 0:
            return math.copysign(float(_WHOLE[op](x)), x)
        case _:
            return None


def _float_binary(op: str, x: float, y: float, dtype: DType) -> float | None:
    if dtype not in _ROUND:
        return None
    x, y = _ROUND[dtype](x), _ROUND[dtype](y)
    match op:
        case "add":
            result = x + y
        case "sub":
            result = x - y
        case "mul":
            result = x * y
        case "div" if y != 0:
            result = x / y
        case "min" | "max" if x != y and not (math.isnan(x) or math.isnan(y)):
            result = min(x, y) if op == "min" else max(x, y)
        case _:
            return None
    return _ROUND[dtype](_working(result, dtype))


def _working(value: float, dtype: DType) -> float:
    # A double of two f32 rounds to f32 as if computed exactly (53 >= 2 * 24 + 2).
    return value if dtype == F64 else _round_f32(value)


def _to_integer(x: Number, target: DType, clamp: bool) -> int:
    if isinstance(x, float):
        if math.isnan(x):
            return 0
        low, high = target.integer_range
        x = (high if x > 0 else low) if math.isinf(x) else math.trunc(x)
    if clamp:
        low, high = target.integer_range
        return max(low, min(high, int(x)))
    return wrap(int(x), target)


def _packed(code: str) -> Callable[[float], float]:
    def rounded(x: float) -> float:
        try:
            (result,) = struct.unpack(code, struct.pack(code, x))
        except OverflowError:
            return math.copysign(math.inf, x)
        return float(result)

    return rounded


_round_f32 = _packed("<f")


def _round_bf16(x: float) -> float:
    single = _round_f32(x)
    if not math.isfinite(single):
        return single
    (bits,) = struct.unpack("<I", struct.pack("<f", single))
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    (result,) = struct.unpack("<f", struct.pack("<I", bits))
    return float(result)


_ROUND: dict[DType, Callable[[float], float]] = {
    F16: _packed("<e"),
    BF16: _round_bf16,
    F32: _round_f32,
    F64: float,
}
