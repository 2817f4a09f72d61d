"""What each operation does to elements: NumPy functions over value arrays, rounded to the dtype.

Values are in `value_dtype`: an f16 tile is float32 with every element on f16's grid. Integers wrap at
their width; f16 and bf16 compute in float32 and round once more. Division by zero and shifts by the
width or more give 0. The functions serve scalars as well, as NumPy scalars.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from dslc.compiler.dtypes import BOOL, DType, Kind, round_to, value_dtype, wrap
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.ir.expr import COMPARE_OPS

Function: TypeAlias = Callable[..., Any]


def _erf(x: Array) -> Array:
    return np.asarray(_ERF(np.asarray(x, np.float64))).astype(np.float64)


def _sigmoid(x: Array) -> Any:
    return 1 / (1 + np.exp(-x))


def _rsqrt(x: Array) -> Any:
    return 1 / np.sqrt(x)


_ERF = np.frompyfunc(math.erf, 1, 1)
_UNARY: dict[str, Function] = {
    "neg": np.negative,
    "not": np.logical_not,
    "invert": np.invert,
    "abs": np.abs,
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "sqrt": np.sqrt,
    "rsqrt": _rsqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "erf": _erf,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
}
_BINARY: dict[str, Function] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "floordiv": np.floor_divide,
    "mod": np.mod,
    "pow": np.power,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "min": np.minimum,
    "max": np.maximum,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_EXACT = {"neg", "abs", "not", "floor", "ceil", "round", "min", "max"}  # stay on a float's grid


@functools.cache
def unary(op: str, dtype: DType) -> Function:
    """`op(x)` for x of the dtype."""
    if dtype.is_integer and op in ("floor", "ceil", "round"):
        return np.asarray
    return _rounded(_UNARY[op], dtype, op)


@functools.cache
def binary(op: str, dtype: DType) -> Function:
    """`op(x, y)` for operands of the dtype; comparisons give bool."""
    if op in COMPARE_OPS:
        return _BINARY[op]
    if dtype.is_integer and op in _INTEGER:
        return _rounded(functools.partial(_INTEGER[op], bits=dtype.bits), dtype, op)
    return _rounded(_BINARY[op], dtype, op)


@functools.cache
def fma(dtype: DType) -> Function:
    """The function x * y + z rounded once; integers wrap."""
    if not dtype.is_float:
        return _rounded(lambda x, y, z: x * y + z, dtype, "fma")
    if dtype.bits == 64:
        return _fma_double

    def fused(x: Array, y: Array, z: Array) -> Array:
        product = np.multiply(x, y, dtype=np.float64)  # exact: at most 48 bits
        return round_to(_add_to_odd(product, np.asarray(z, np.float64)), dtype)

    return fused


def finish(dtype: DType) -> Function | None:
    """What brings the result of a NumPy operation to the dtype's grid; None where it is there."""
    if dtype.is_float:
        return None if dtype.name in ("f32", "f64") else functools.partial(round_to, dtype=dtype)
    if dtype.kind is Kind.BOOL or dtype.bits >= 8:
        return None
    return functools.partial(wrap, dtype=dtype)


def _rounded(function: Function, dtype: DType, op: str) -> Function:
    end = finish(dtype)
    kind = value_dtype(dtype)
    if op == "erf":
        return lambda x: round_to(function(x), dtype)
    if end is None or (dtype.is_float and op in _EXACT):
        return function
    return lambda *xs: end(np.asarray(function(*xs), kind))


def _floordiv(x: Array, y: Array, bits: int) -> Any:
    return np.where(y == 0, y, np.floor_divide(x, np.where(y == 0, y + y.dtype.type(1), y)))


def _mod(x: Array, y: Array, bits: int) -> Any:
    return np.where(y == 0, y, np.mod(x, np.where(y == 0, y + y.dtype.type(1), y)))


def _shift(x: Array, y: Array, bits: int, function: Function) -> Any:
    legal = (y >= 0) & (y < bits)
    zero = y.dtype.type(0)
    return np.where(legal, function(x, np.where(legal, y, zero)), x.dtype.type(0))


def _pow(x: Array, y: Array, bits: int) -> Any:
    """A negative exponent leaves the whole part of the fraction: 0 but for bases of 1 and -1."""
    one, zero = x.dtype.type(1), x.dtype.type(0)
    power = np.power(x, np.where(y < 0, zero, y))
    if y.dtype.kind == "u":
        return power
    unit = np.where((y & one) == one, x, one)
    return np.where(y >= 0, power, np.where((x == one) | (x == -one), unit, zero))


_INTEGER: dict[str, Function] = {
    "floordiv": _floordiv,
    "mod": _mod,
    "shl": functools.partial(_shift, function=np.left_shift),
    "shr": functools.partial(_shift, function=np.right_shift),
    "pow": _pow,
}


def _two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """The sum of two numbers, rounded, and its error, exact (Knuth)."""
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


def _add_to_odd(x: Array, y: Array) -> Array:
    """The sum in float64, an inexact one rounded to odd, so that a later rounding is the only one.

    Boldo and Melquiond, Emulation of FMA and correctly rounded sums, IEEE Trans. Computers 57(4).
    """
    total, low = _two_sum(x, y)
    even = (np.asarray(total).view(np.int64) & 1) == 0
    towards = np.where(low > 0, np.inf, -np.inf)
    inexact = (low != 0) & np.isfinite(total) & np.isfinite(low)
    return np.asarray(np.where(inexact & even, np.nextafter(total, towards), total))


def _split(x: Array) -> tuple[Array, Array]:
    scaled = x * 134217729.0  # 2^27 + 1 (Veltkamp)
    high = scaled - (scaled - x)
    return high, x - high


_SPLITTABLE = 2.0**990
_DOWN = 2.0**-64


def _fma_double(x: Array, y: Array, z: Array) -> Any:
    """Boldo and Melquiond's emulation: exact unless parts underflow.

    Numbers that cannot be split are made smaller first, and the sum with them. Where the result
    overflows it is x * y + z.
    """
    great_x, great_y = (np.isfinite(v) & (np.abs(v) > _SPLITTABLE) for v in (x, y))
    great = great_x | great_y
    if np.any(great):
        down = np.where(great, _DOWN, 1.0)
        x_down, y_down = np.where(great_x, x * _DOWN, x), np.where(great_y, y * _DOWN, y)
        scaled = _fma_double(x_down, y_down, z * down) / down
        return np.where(np.isfinite(scaled), scaled, x * y + z)
    high = np.asarray(x * y)
    (xh, xl), (yh, yl) = _split(x), _split(y)
    low = ((xh * yh - high) + xh * yl + xl * yh) + xl * yl
    upper, lower = _two_sum(z, low)
    total, rest = _two_sum(high, upper)
    result = total + _add_to_odd(np.asarray(rest), np.asarray(lower))
    return np.where(np.isfinite(result), result, x * y + z)


@functools.cache
def dot(a: DType, b: DType, depth: int) -> Function:
    """The product of tiles whose contraction has `depth` terms: i32 for integers, else f32 or f64.

    Integers go through float products where every partial sum is exact in them, as these are fast.
    """
    if a.is_float:
        return np.matmul
    bits = a.bits + b.bits + max(depth - 1, 0).bit_length()
    if bits <= 24:
        return lambda x, y: np.matmul(x.astype(np.float32), y.astype(np.float32)).astype(np.int32)
    if bits <= 53:

        def wide(x: Array, y: Array) -> Array:
            product = np.matmul(x.astype(np.float64), y.astype(np.float64))
            return np.asarray(product.astype(np.int64).astype(np.int32))

        return wide
    return lambda x, y: np.matmul(x.astype(np.int64), y.astype(np.int64)).astype(np.int32)


def reduction(op: str, out: DType) -> Function:
    """`f(x, axis=, keepdims=)` for one of Reduce's ops; f16 and bf16 sum in f32 and round once."""
    kind = value_dtype(out)
    if op == "sum":
        end = finish(out)
        if end is None:
            return functools.partial(np.sum, dtype=kind)
        return lambda tile, **where: end(np.sum(tile, dtype=kind, **where))
    if op in ("mean", "variance"):
        moment = np.mean if op == "mean" else np.var
        return functools.partial(moment, dtype=kind)
    if op in ("argmax", "argmin"):
        function = np.argmax if op == "argmax" else np.argmin
        return lambda tile, **where: function(tile, **where).astype(kind)
    others: dict[str, Function] = {"max": np.max, "min": np.min, "any": np.any, "all": np.all}
    return others[op]


def scan(out: DType) -> Function:
    """`f(x, axis=)`: the inclusive prefix sum."""
    kind, end = value_dtype(out), finish(out)
    if end is None:
        return functools.partial(np.cumsum, dtype=kind)
    return lambda tile, **where: end(np.cumsum(tile, dtype=kind, **where))


def zero(dtype: DType) -> Any:
    """What an element out of bounds reads: code 0, which is 0 for every dtype but e8m0 (2^-127)."""
    return value_dtype(dtype).type(2.0**-127 if dtype.kind is Kind.SCALE else 0)


def is_plain(dtype: DType) -> bool:
    """Whether a scalar of this dtype is a Python number: index and bool."""
    return dtype.kind is Kind.INDEX or dtype == BOOL
