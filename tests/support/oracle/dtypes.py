"""The dtypes of the language by docs/language.md and their standards, not by the compiler's tables.

Values in the oracle: integers are Python ints in object arrays, so that nothing wraps unless a rule
says so; floats are float64 and always numbers of their dtype; bools are bools. A *code* is the bit
pattern of an element as an unsigned integer.

OCP MX v1.0 and OFP8 define f8e4m3 (NaN alone: S.1111.111), f8e5m2 and the small floats without
specials; f8e3m4 follows IEEE 754's pattern.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any  # an ndarray of objects, float64 or bools

_IEEE = {"f8e5m2", "f8e3m4"}


@dataclass(frozen=True, slots=True)
class DType:
    """`kind` is int, uint, bool, float or scale; a float has bits of exponent and mantissa."""

    name: str
    kind: str
    bits: int
    exponent: int = 0
    mantissa: int = 0
    specials: str = "none"  # ieee: infinities and NaN; nan: NaN only

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def computes(self) -> bool:
        """Whether the language has arithmetic on it."""
        return self.is_integer or self.name in ("f16", "bf16", "f32", "f64")

    @property
    def least(self) -> int:
        return -(1 << self.bits - 1) if self.kind == "int" else 0

    @property
    def greatest(self) -> int:
        return (1 << self.bits - (self.kind == "int")) - 1

    @property
    def bias(self) -> int:
        return (1 << self.exponent - 1) - 1

    @property
    def top(self) -> float:
        """The greatest finite number."""
        if self.specials == "ieee":
            return (2 - 2.0**-self.mantissa) * 2.0**self.bias
        last = (1 << self.mantissa) - 1 - (self.specials == "nan")
        return (1 + last * 2.0**-self.mantissa) * 2.0 ** ((1 << self.exponent) - 1 - self.bias)

    @property
    def grain(self) -> int:
        """log2 of the least positive number."""
        return 1 - self.bias - self.mantissa


def _floats() -> list[DType]:
    small = [
        DType(f"f{n}e{x}m{n - 1 - x}", "float", n, x, n - 1 - x,
              "nan" if (n, x) == (8, 4) else "ieee" if f"f{n}e{x}m{n - 1 - x}" in _IEEE else "none")
        for n in range(3, 9) for x in range(1, n)
    ]  # fmt: skip
    large = [("f16", 16, 5, 10), ("bf16", 16, 8, 7), ("tf32", 32, 8, 10), ("f32", 32, 8, 23),
             ("f64", 64, 11, 52)]  # fmt: skip
    return small + [DType(n, "float", b, x, m, "ieee") for n, b, x, m in large]


_INTEGERS = [
    DType(f"{letter}{bits}", kind, bits)
    for letter, kind in (("i", "int"), ("u", "uint"))
    for bits in (1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64)
]
DTYPES = {
    d.name: d
    for d in (*_INTEGERS, DType("bool", "bool", 1), *_floats(), DType("e8m0", "scale", 8, 8))
}
INDEX = DType("index", "int", 64)


def is_small(d: DType) -> bool:
    """Whether it is a float that does not compute and fits a byte."""
    return bool(re.match(r"f\de", d.name))


@functools.cache
def _table(d: DType) -> Any:
    """The number of every code of a small float."""
    codes = range(1 << d.bits)
    return np.array([_number(c, d) for c in codes], np.float64)


def _number(code: int, d: DType) -> float:
    sign = -1.0 if code >> d.bits - 1 else 1.0
    e, m = code >> d.mantissa & (1 << d.exponent) - 1, code & (1 << d.mantissa) - 1
    ones = e == (1 << d.exponent) - 1
    if d.specials == "ieee" and ones:
        return sign * float("nan" if m else "inf")
    if d.specials == "nan" and ones and m == (1 << d.mantissa) - 1:
        return float("nan")
    if e == 0:
        return sign * 2.0 ** (1 - d.bias) * (m / 2**d.mantissa)
    return sign * 2.0 ** (e - d.bias) * (1 + m / 2**d.mantissa)


def decode(codes: Array, d: DType) -> Array:
    """The values of codes."""
    if d.is_integer:
        flat = [int(c) for c in codes.ravel()]
        return objects([c - (1 << d.bits) if c > d.greatest else c for c in flat], codes.shape)
    if d.kind == "bool":
        return codes != 0
    if d.kind == "scale":
        return np.where(codes == 255, np.nan, np.exp2(codes.astype(np.float64) - 127))
    if d.bits <= 8:
        return _table(d)[codes.astype(np.int64)]
    if d.name == "f64":
        return codes.astype(np.uint64).view(np.float64)
    if d.name == "f16":
        return codes.astype(np.uint16).view(np.float16).astype(np.float64)
    shift = 16 if d.name == "bf16" else 0
    return (codes.astype(np.uint32) << shift).view(np.float32).astype(np.float64)


def encode(values: Array, d: DType) -> Array:
    """The codes of values that are numbers of the dtype; any NaN is one NaN."""
    if d.is_integer:
        return np.array([int(v) & (1 << d.bits) - 1 for v in values.ravel()], np.uint64).reshape(
            values.shape
        )
    if d.kind == "bool":
        return values.astype(np.uint64)
    if d.kind == "scale":
        nan = np.isnan(values)
        return np.where(nan, 255, np.log2(np.where(nan, 1, values)) + 127).astype(np.uint64)
    if d.bits <= 8:
        return _nearest(values, d)
    if d.name == "f64":
        return values.astype(np.float64).view(np.uint64)
    if d.name == "f16":
        return values.astype(np.float16).view(np.uint16).astype(np.uint64)
    shift = 16 if d.name == "bf16" else 0
    return (values.astype(np.float32).view(np.uint32) >> shift).astype(np.uint64)


def _nearest(values: Array, d: DType, saturate: bool = False) -> Array:
    """The code nearest to each value; of two equally near the even one."""
    half = _table(d)[: 1 << d.bits - 1]
    finite = half[np.isfinite(half)]  # ascending, the codes in order
    next_one = 2 * finite[-1] - finite[-2] if d.mantissa else 2 * finite[-1]
    ladder = np.append(finite, next_one)
    size = np.abs(values)
    above = np.clip(np.searchsorted(ladder, size), 1, len(ladder) - 1)
    low, high = ladder[above - 1], ladder[above]
    to_high = (size - low > high - size) | ((size - low == high - size) & (above % 2 == 0))
    code = np.where(to_high, above, above - 1)
    nan = np.isnan(values)
    over = (code == len(finite)) & ~nan
    last = len(finite) - 1
    if saturate or d.specials == "none":
        code = np.where(over, last, code)
    else:
        code = np.where(over, len(finite), code)  # infinity, or the NaN of f8e4m3
    code = np.where(nan, last if d.specials == "none" else (1 << d.bits - 1) - 1, code)
    sign = np.signbit(values) & ~(nan & (d.specials == "none"))
    return (code | np.where(sign, 1 << d.bits - 1, 0)).astype(np.uint64)


def objects(values: list[int], shape: tuple[int, ...]) -> Array:
    """Python ints as an array."""
    made = np.empty(len(values), object)
    made[:] = values
    return made.reshape(shape)


def wrapped(values: Array, d: DType) -> Array:
    """Integers modulo 2^bits, in the range of the dtype."""
    size = 1 << d.bits
    return (np.asarray(values, object) - d.least) % size + d.least


def rounded(values: Array, d: DType, saturate: bool = False) -> Array:
    """Float64 numbers rounded once to a float dtype: to nearest, ties to even."""
    if saturate and (d.bits > 8 or d.kind == "scale"):
        values = (
            np.where(
                np.signbit(values) & (values != 0), values, np.clip(values, 2.0**-127, 2.0**127)
            )
            if d.kind == "scale"
            else np.clip(values, -d.top, d.top)
        )
    with np.errstate(over="ignore", invalid="ignore"):
        match d.name:
            case "f64":
                return np.asarray(values, np.float64)
            case "f32" | "f16":
                return np.asarray(values).astype("f4" if d.name == "f32" else "f2").astype("f8")
            case "bf16" | "tf32":
                return _to_mantissa(np.asarray(values, np.float64), d)
    if d.kind == "scale":
        return _to_scale(np.asarray(values, np.float64))
    return _table(d)[_nearest(np.asarray(values, np.float64), d, saturate).astype(np.int64)]


def _to_mantissa(values: Array, d: DType) -> Array:
    finite = np.isfinite(values)
    safe = np.where(finite, values, 0.0)
    power = np.maximum(np.frexp(safe)[1] - 1, 1 - d.bias) - d.mantissa
    near = np.ldexp(np.rint(np.ldexp(safe, -power)), power)
    near = np.where(np.abs(near) > d.top, np.copysign(np.inf, near), near)
    return np.where(finite, near, values)


def _to_scale(values: Array) -> Array:
    """As ml_dtypes does, which the language names as the meaning."""
    import ml_dtypes

    with np.errstate(all="ignore"):
        narrow = values.astype(np.float32).astype(ml_dtypes.float8_e8m0fnu)
    return decode(narrow.view(np.uint8), DTYPES["e8m0"])


def _to_odd(value: int) -> float:
    """An integer as a float64 that rounds onwards as the integer would: its lost bits are sticky."""
    size = abs(value)
    shift = max(size.bit_length() - 53, 0)
    kept = size >> shift
    if kept << shift != size:
        kept |= 1
    return float(-(kept << shift) if value < 0 else kept << shift)


def cast(values: Array, source: DType, to: DType, saturate: bool = False) -> Array:
    """docs/language.md, Casts."""
    if to.kind == "bool":
        return np.asarray(values != 0)
    if source.kind == "bool":
        values, source = objects([int(v) for v in values.ravel()], values.shape), INDEX
    if to.is_integer:
        if source.is_integer:
            return np.clip(values, to.least, to.greatest) if saturate else wrapped(values, to)
        return objects([_truncated(float(v), to) for v in values.ravel()], values.shape)
    if source.is_integer:
        exact = float if to.name == "f64" else _to_odd
        values = np.array([exact(v) for v in values.ravel()], np.float64).reshape(values.shape)
    return rounded(values, to, saturate)


def _truncated(value: float, to: DType) -> int:
    if value != value:
        return 0
    if value in (float("inf"), float("-inf")):
        return to.greatest if value > 0 else to.least
    return min(max(int(value), to.least), to.greatest)
