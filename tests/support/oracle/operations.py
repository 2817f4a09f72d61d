"""What the operations of the language do to arrays of values, by docs/language.md."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from support.oracle.dtypes import DTYPES, Array, DType, rounded, wrapped


class Unspecified(Exception):
    """The program asks for what the language leaves open."""


_INTEGER: dict[str, Callable[..., Any]] = {
    "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y,
    "&": lambda x, y: x & y, "|": lambda x, y: x | y, "^": lambda x, y: x ^ y,
    "//": lambda x, y: x // y, "%": lambda x, y: x % y, "**": lambda x, y: x**y,
    "<<": lambda x, y: x << y, ">>": lambda x, y: x >> y,
    "neg": lambda x: -x, "invert": lambda x: ~x, "abs": abs,
    "maximum": np.maximum, "minimum": np.minimum,
}  # fmt: skip
_sigmoid = np.frompyfunc(
    lambda v: 1 / (1 + math.exp(-v)) if v >= 0 else math.exp(v) / (1 + math.exp(v)), 1, 1
)
_erf = np.frompyfunc(math.erf, 1, 1)
_FLOAT: dict[str, Callable[..., Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide,
    "//": lambda x, y: np.floor(x / y), "%": lambda x, y: x - np.floor(x / y) * y,
    "**": np.power, "neg": np.negative, "abs": np.abs,
    "maximum": np.maximum, "minimum": np.minimum,
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "sigmoid": lambda x: np.asarray(_sigmoid(x), np.float64),
    "erf": lambda x: np.asarray(_erf(x), np.float64),
    "floor": np.floor, "ceil": np.ceil, "round": np.rint, "fma": lambda x, y, z: x * y + z,
}  # fmt: skip
_BOOL: dict[str, Callable[..., Any]] = {
    "&": np.logical_and, "|": np.logical_or, "^": np.logical_xor, "invert": np.logical_not,
    "and": np.logical_and, "or": np.logical_or, "not": np.logical_not,
}  # fmt: skip
COMPARE: dict[str, Callable[..., Any]] = {
    "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal,
    ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip


def elementwise(op: str, d: DType, *args: Array) -> Array:
    """One operation on operands of dtype `d`; comparisons give bools."""
    if op in COMPARE:
        return np.asarray(COMPARE[op](*args)).astype(bool)
    if d.kind == "bool":
        return np.asarray(_BOOL[op](*args))
    if op == "clamp":
        low = elementwise("maximum", d, args[0], args[1])
        return elementwise("minimum", d, low, args[2])
    if d.is_integer:
        _check_integers(op, d, args)
        return wrapped(np.asarray(_INTEGER[op](*args), object), d)
    with np.errstate(all="ignore"):
        return rounded(np.asarray(_FLOAT[op](*args), np.float64), d)


def _check_integers(op: str, d: DType, args: tuple[Array, ...]) -> None:
    if op in ("//", "%") and np.any(args[1] == 0):
        raise Unspecified("division by 0")
    if op in ("<<", ">>") and (np.any(args[1] < 0) or np.any(args[1] >= d.bits)):
        raise Unspecified("a shift by the width")
    if op == "**" and np.any(args[1] < 0):
        raise Unspecified("a negative power of integers")


def _grain(x: Array) -> float:
    """The greatest power of two that all numbers are multiples of."""
    some = np.abs(x[np.isfinite(x) & (x != 0)])
    if not some.size:
        return 1.0
    mantissa, power = np.frexp(some)
    whole = (mantissa * 2.0**53).astype(np.int64)
    return float(np.min(np.ldexp((whole & -whole).astype(np.float64), power - 53)))


def _check_exact(total: Array, grain: float, d: DType) -> None:
    """Sums of no rounding are equal in any order."""
    finite = total[np.isfinite(total)]
    most = float(np.max(finite)) if finite.size else 0.0
    if most > min(grain * 2.0 ** (d.mantissa + 1), d.top) or np.any(np.isinf(total)):
        raise Unspecified("a sum that rounds")


def reduce(op: str, x: Array, axis: int | None, keep: bool, d: DType) -> Array:
    """A reduction over one axis, or over all elements."""
    if axis is None:
        x, axis = x.reshape(-1), 0
    match op:
        case "any" | "all":
            return np.asarray(getattr(np, op)(x, axis, keepdims=keep))
        case "argmax" | "argmin":
            return np.asarray(getattr(np, op)(x, axis, keepdims=keep)).astype(object)
        case "max" | "min":
            return np.asarray(getattr(np, op)(x, axis, keepdims=keep))
    if d.is_integer:
        by = np.multiply if op == "prod" else np.add
        return wrapped(np.asarray(by.reduce(x, axis, keepdims=keep), object), d)
    if op == "prod":
        _check_products(x, axis, d)
        return np.asarray(np.prod(x, axis, keepdims=keep))
    _check_exact(np.sum(np.abs(x), axis), _grain(x), d)
    return np.asarray(np.sum(x, axis, keepdims=keep))


def _check_products(x: Array, axis: int, d: DType) -> None:
    """Products of whole numbers of few bits are equal in any order."""
    most = float(np.max(np.prod(np.where(np.isnan(x), 1, np.maximum(np.abs(x), 1)), axis)))
    if most > 2.0 ** (d.mantissa + 1) or np.any(x % 1 != 0, where=~np.isnan(x)):
        raise Unspecified("a product that rounds")


def running(op: str, x: Array, axis: int, d: DType) -> Array:
    """Inclusive running sums, products and extremes."""
    by = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum}[op]
    if d.is_integer:
        return wrapped(by.accumulate(x, axis), d)
    if op == "cumsum":
        _check_exact(np.sum(np.abs(x), axis), _grain(x), d)
    if op == "cumprod":
        _check_products(x, axis, d)
    return np.asarray(by.accumulate(x, axis))


def order(x: Array, axis: int, descending: bool) -> Array:
    """Where the elements of an axis stand in order, NaN above all, equal ones as they stand."""
    if not descending:
        return np.argsort(x, axis, kind="stable")
    back = np.argsort(np.flip(x, axis), axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(back, axis)


def dot(x: Array, y: Array, transposed: str, d: DType) -> Array:
    """[.., m, k] by [.., k, n]; exact, or refused."""
    x = np.swapaxes(x, -1, -2) if "a" in transposed else x
    y = np.swapaxes(y, -1, -2) if "b" in transposed else y
    if x.dtype == object:
        return wrapped(np.matmul(x, y), DTYPES["i32"])
    with np.errstate(invalid="ignore"):
        _check_exact(np.matmul(np.abs(x), np.abs(y)), _grain(x) * _grain(y), d)
        return np.matmul(x, y)
