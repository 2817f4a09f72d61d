"""Arithmetic of intervals: the least and the greatest number that an operation can give.

An interval is `(least, greatest)`, both inclusive; ends of floats may be infinite, and say nothing of
NaN. Operations are those of Tile IR by their names, on numbers of a dtype; `None` is no knowledge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np
from dslc.compiler.dtypes import BOOL, INDEX, DType, Kind, limits, round_to
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import COMPARE_OPS

Number: TypeAlias = int | float
Interval: TypeAlias = tuple[Number, Number]

MOVES = (
    ins.Transpose,
    ins.Reshape,
    ins.Broadcast,
    ins.Repeat,
    ins.Extract,
    ins.ConvertLayout,
)
"""Statements whose results are elements of their operand in other places."""

_RISING: dict[str, Callable[[float], float]] = {
    "exp": lambda x: _power(math.e, x),
    "exp2": lambda x: _power(2.0, x),
    "log": lambda x: math.log(x) if x > 0 else -math.inf,
    "log2": lambda x: math.log2(x) if x > 0 else -math.inf,
    "sqrt": lambda x: math.sqrt(max(x, 0.0)),
    "tanh": math.tanh,
    "sigmoid": lambda x: 1 / (1 + _power(math.e, -x)),
    "erf": math.erf,
    "floor": lambda x: math.floor(x) if math.isfinite(x) else x,
    "ceil": lambda x: math.ceil(x) if math.isfinite(x) else x,
    "round": lambda x: round(x) if math.isfinite(x) else x,
}
"""Functions that never fall: the ends of x give those of the result."""


def whole(dtype: DType) -> Interval:
    """All that a dtype can hold; an index is as large as it needs to be."""
    if dtype == INDEX or (dtype.is_float and limits(dtype).has_infinity):
        return -math.inf, math.inf
    known = limits(dtype)
    return known.least, known.greatest


def is_whole(interval: Interval, dtype: DType) -> bool:
    """Whether an interval says no more than the dtype does."""
    least, greatest = whole(dtype)
    return interval[0] <= least and interval[1] >= greatest


def join(intervals: Iterable[Interval]) -> Interval:
    """The least interval around all of these."""
    ends = list(intervals)
    return min(e[0] for e in ends), max(e[1] for e in ends)


def held(interval: Interval | None, dtype: DType, *, saturate: bool = False) -> Interval:
    """What a dtype holds of an exact result: integers wrap or saturate, floats overflow."""
    all_of_it = whole(dtype)
    least, greatest = all_of_it
    if interval is None or any(math.isnan(e) for e in interval):
        return all_of_it
    low, high = interval
    if dtype == INDEX:
        return interval
    if dtype.is_float:
        ends = [float(e) for e in round_to(np.array([low, high], np.float64), dtype, saturate)]
        return all_of_it if any(math.isnan(e) for e in ends) else (ends[0], ends[1])
    if saturate:
        return min(max(low, least), greatest), max(min(high, greatest), least)
    return all_of_it if low < least or high > greatest else (int(low), int(high))


def of_unary(op: str, x: Interval, dtype: DType) -> Interval | None:
    """The exact result of a unary operation on numbers of a dtype."""
    low, high = x
    match op:
        case "neg":
            return -high, -low
        case "abs":
            near = 0 if low <= 0 <= high else min(abs(low), abs(high))
            return near, max(abs(low), abs(high))
        case "rsqrt":
            ends = [1 / math.sqrt(e) if e > 0 else math.inf for e in x]
            return (0.0 if math.isinf(high) else ends[1]), ends[0]
        case "sin" | "cos":
            return -1.0, 1.0
        case "not" | "invert" if dtype == BOOL:
            return 1 - high, 1 - low
        case "invert" if dtype.kind is Kind.UINT:
            top = whole(dtype)[1]
            return top - high, top - low
        case "invert":
            return -high - 1, -low - 1
        case _ if op in _RISING:
            return _RISING[op](low), _RISING[op](high)
    return None


def of_binary(op: str, x: Interval, y: Interval, dtype: DType) -> Interval | None:
    """The exact result of a binary operation on numbers of a dtype."""
    is_natural = not dtype.is_float and min(x[0], y[0]) >= 0
    is_finite = all(math.isfinite(e) for e in (*x, *y))
    match op:
        case "add":
            return _sum(x[0], y[0]), _sum(x[1], y[1])
        case "sub":
            return _sum(x[0], -y[1]), _sum(x[1], -y[0])
        case "mul":
            return _spanned(_product, x, y)
        case "div" if y[0] > 0 or y[1] < 0:
            return _spanned(_quotient, x, y)
        case "floordiv" if y[0] > 0 and not dtype.is_float:
            return _spanned(_floor, x, y)
        case "mod" if y[0] > 0:
            if x[0] >= 0 and x[1] < y[0]:
                return x
            return 0, (y[1] if dtype.is_float else min(y[1] - 1, x[1]) if x[0] >= 0 else y[1] - 1)
        case "pow" if x[0] >= 0 and dtype.is_float:
            return 0.0, math.inf
        case "min" | "max":
            pick = min if op == "min" else max
            return pick(x[0], y[0]), pick(x[1], y[1])
        case "and" if is_natural:
            return 0, min(x[1], y[1])
        case "or" | "xor" if is_natural and is_finite:
            bits = max(int(x[1]).bit_length(), int(y[1]).bit_length())
            return (max(x[0], y[0]) if op == "or" else 0), (1 << bits) - 1
        case "shl" if is_natural and is_finite and y[1] < 64:
            return int(x[0]) << int(y[0]), int(x[1]) << int(y[1])
        case "shr" if is_natural and is_finite and y[1] < 64:
            return int(x[0]) >> int(y[1]), int(x[1]) >> int(y[0])
        case _ if op in COMPARE_OPS:
            return 0, 1
    return None


def of_cast(x: Interval, src: DType, dst: DType, *, saturate: bool = False) -> Interval:
    """Numbers of one dtype as those of another."""
    if dst == BOOL:
        return 0, 1
    if src.is_float and not dst.is_float:
        ends = [math.trunc(e) if math.isfinite(e) else e for e in x]
        # NaN becomes 0.
        return held((min(ends[0], 0), max(ends[1], 0)), dst, saturate=True)
    found = held(x, dst, saturate=saturate)
    if not src.is_float:
        return found
    nan = float(round_to(np.array([math.nan]), dst, saturate)[0])
    return found if math.isnan(nan) else join((found, (nan, nan)))


def _spanned(op: Callable[[Number, Number], Number], x: Interval, y: Interval) -> Interval:
    results = [op(a, b) for a in x for b in y]
    return min(results), max(results)


def _sum(a: Number, b: Number) -> Number:
    """An end of a sum; of infinities that meet, the one of the first (the other way it is NaN)."""
    return a if isinstance(a, float) and math.isinf(a) else a + b


def _product(a: Number, b: Number) -> Number:
    """An end of a product: 0 beside infinity, which is NaN only where it is met exactly."""
    return 0 if a == 0 or b == 0 else a * b


def _quotient(a: Number, b: Number) -> Number:
    return 0.0 if math.isinf(b) else a / b


def _floor(a: Number, b: Number) -> Number:
    if math.isinf(b):
        return 0 if a >= 0 else -1
    return a if math.isinf(a) else a // b


def _power(base: float, x: float) -> float:
    try:
        return float(base**x)
    except OverflowError:
        return math.inf
