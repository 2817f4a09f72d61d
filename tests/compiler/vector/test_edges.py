"""Every operation of every dtype that computes, on all pairs of edge values, legal and as it was.

Integers are compared with Python's numbers, floats with the function before it was made legal.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable

import numpy as np
import pytest
from dslc.compiler.dtypes import (
    BF16,
    F16,
    F32,
    F64,
    DType,
    Kind,
    all_dtypes,
    encode,
    parse_dtype,
    storage_dtype,
)
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.ir.expr import ARITHMETIC_OPS, COMPARE_OPS
from dslc.compiler.vector.building import Builder
from dslc.compiler.vector.function import Module
from dslc.compiler.vector.interpreter import interpret
from dslc.compiler.vector.legal import Capabilities, legalise
from dslc.compiler.vector.types import VectorType

from strategies.random_vector import same

FULL = Capabilities(
    f16_converts=True, masked_bits=8, scales=True, multishifts=True, vector_bits=512
)
MACHINES = {"plain": Capabilities(), "full": FULL}
INTEGERS = [d for d in all_dtypes() if d.kind in (Kind.INT, Kind.UINT) and d.bits >= 2]
FLOATS = (F16, BF16, F32, F64)
SPECIAL = (0.0, -0.0, 1.0, -1.0, 1.5, -2.5, 3.0, 0.1, -7.25, 1e-8, 65504.0, -65520.0, 3e38, 1e-40)
SPECIAL += (6e-8, float("inf"), float("-inf"), float("nan"), 2048.0, 2049.0, -0.5, 0.49999997)


def edges(dtype: DType) -> list[int]:
    low, high = dtype.integer_range
    some = {low, low + 1, low // 2, -7, -3, -2, -1, 0, 1, 2, 3, 7, dtype.bits - 1, dtype.bits}
    some |= {dtype.bits + 1, high // 2, high // 2 + 1, high - 1, high}
    return sorted(v for v in some if low <= v <= high)


def _wrapped(value: int, dtype: DType) -> int:
    low, _ = dtype.integer_range
    return (value - low) % (1 << dtype.bits) + low


def _power(x: int, y: int) -> int:
    if y >= 0:
        return x ** min(y, 64 + y % 2) if abs(x) < 2 else pow(x, y, 1 << 64)
    return 0 if abs(x) != 1 else x if y % 2 else 1


MEANING: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda x, y, _: x + y,
    "sub": lambda x, y, _: x - y,
    "mul": lambda x, y, _: x * y,
    "floordiv": lambda x, y, _: x // y if y else 0,
    "mod": lambda x, y, _: x % y if y else 0,
    "pow": lambda x, y, _: _power(x, y),
    "and": lambda x, y, _: x & y,
    "or": lambda x, y, _: x | y,
    "xor": lambda x, y, _: x ^ y,
    "shl": lambda x, y, bits: x << y if 0 <= y < bits else 0,
    "shr": lambda x, y, bits: x >> y if 0 <= y < bits else 0,
    "min": lambda x, y, _: min(x, y),
    "max": lambda x, y, _: max(x, y),
}
COMPARE = {op: getattr(operator, op) for op in COMPARE_OPS}


def _meaning(op: str, x: int, y: int, dtype: DType) -> int:
    if op in COMPARE:
        return int(COMPARE[op](x, y))
    return _wrapped(MEANING[op](x, y, dtype.bits), dtype)


def results(op: str, dtype: DType, operands: list[Array], machine: Capabilities | None) -> Array:
    """What a function of one operation stores."""
    b = Builder("f")
    pointers = [b.pointer(name) for name in "xyz"[: len(operands)]]
    to = b.pointer("to")
    count = len(operands[0])
    values = [b.load(p, 0, VectorType(dtype, count)) for p in pointers]
    if op == "fma":
        found = b.fma(*values)
    elif len(values) == 1:
        found = b.unary(op, values[0])
    else:
        found = b.binary(op, *values)
    b.store(to, 0, found)
    module = Module((b.function(),))
    module = module if machine is None else legalise(module, machine)
    out = np.zeros(count, np.bool_ if op in COMPARE_OPS else storage_dtype(dtype))
    with np.errstate(all="ignore"):
        interpret(module, "f", *operands, out)
    return out


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("op", [*MEANING, *COMPARE])
@pytest.mark.sampled(5)
def test_integers_are_pythons(op: str, dtype: DType) -> None:
    pairs = list(itertools.product(edges(dtype), repeat=2))
    operands = [
        np.array([p[k] for p in pairs], object).astype(storage_dtype(dtype)) for k in (0, 1)
    ]
    wanted = [_meaning(op, x, y, dtype) for x, y in pairs]
    for name, machine in (("as it was", None), *MACHINES.items()):
        found = results(op, dtype, operands, machine).tolist()
        wrong = [(p, f, w) for p, f, w in zip(pairs, found, wanted, strict=True) if f != w]
        assert not wrong, (name, wrong[:3])


@pytest.mark.parametrize("dtype", ["i8", "u8", "i32", "u64"])
@pytest.mark.parametrize("op", [*MEANING, *COMPARE])
def test_one_of_two_integers_is_known(op: str, dtype: str) -> None:
    d = parse_dtype(dtype)
    given = edges(d)
    for known in (v for v in (-1, 0, 1, 2, d.integer_range[1]) if v >= d.integer_range[0]):
        for first in (False, True):
            b = Builder("f")
            source, to = b.pointer("x"), b.pointer("to")
            x = b.load(source, 0, VectorType(d, len(given)))
            b.store(to, 0, b.binary(op, known, x) if first else b.binary(op, x, known))
            out = np.zeros(len(given), np.bool_ if op in COMPARE else storage_dtype(d))
            operand = np.array(given, object).astype(storage_dtype(d))
            module = legalise(Module((b.function(),)), Capabilities())
            with np.errstate(all="ignore"):
                interpret(module, "f", operand, out)
            pairs = [(known, v) if first else (v, known) for v in given]
            assert out.tolist() == [_meaning(op, *pair, d) for pair in pairs], (known, first)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("op", ["neg", "invert", "abs"])
@pytest.mark.sampled(5)
def test_one_integer(op: str, dtype: DType) -> None:
    given = edges(dtype)
    meaning = {"neg": operator.neg, "invert": operator.invert, "abs": abs}[op]
    wanted = [_wrapped(meaning(v), dtype) for v in given]
    operand = np.array(given, object).astype(storage_dtype(dtype))
    for machine in (None, *MACHINES.values()):
        assert results(op, dtype, [operand], machine).tolist() == wanted


def _numbers(dtype: DType, values: list[float]) -> Array:
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(encode(np.array(values, np.float64), dtype))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", [op for op in (*ARITHMETIC_OPS, *COMPARE_OPS) if op not in (
    "and", "or", "xor", "shl", "shr", "pow")])  # fmt: skip
@pytest.mark.sampled(4)
def test_floats_stay_what_they_were(op: str, dtype: DType, machine: str) -> None:
    pairs = list(itertools.product(SPECIAL, repeat=2))
    operands = [_numbers(dtype, [p[k] for p in pairs]) for k in (0, 1)]
    want, have = (results(op, dtype, operands, m) for m in (None, MACHINES[machine]))
    if op in COMPARE_OPS:
        assert want.tolist() == have.tolist()
        return
    if op in ("min", "max"):  # which 0 is chosen is open
        want, have = (results("add", dtype, [x, np.zeros_like(x)], None) for x in (want, have))
    assert same(want, have, dtype)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", ["neg", "abs", "floor", "ceil", "round", "trunc", "fma"])
def test_one_float_and_three(op: str, dtype: DType, machine: str) -> None:
    rng = np.random.default_rng(1)
    if op == "fma":  # products whose last bits decide a tie of the sum
        x, y = (1 + rng.integers(0, 64, 600) / 64.0 for _ in range(2))
        z = rng.choice([1.0, -1.0, 2.0**9, 2.0**-20, -(2.0**-24), 2.0**12], 600)
        m, half = dtype.mantissa, dtype.mantissa // 2
        least = 2.0**-m  # a sum that is a little less than a tie, by less than wider floats tell
        x, y = [*x, 2.0**-half * (1 + least)], [*y, 2.0 ** (half - m - 1) * (1 - least)]
        # A product that is a tie, and a sum that is not, by less than f64 tells.
        x, y = [*x, 1.5, 1.5], [*y, 1 + least, 1 + 3 * least]
        z = [*z, 1 + least, -(2.0**-100), 2.0**-100]
        operands = [_numbers(dtype, list(v)) for v in (x, y, z)]
    else:
        halves = [n / 2 for n in range(-9, 10)]
        operands = [_numbers(dtype, [*SPECIAL, *halves, 2.0**24 + 1, -(2.0**52) - 0.5])]
    want, have = (results(op, dtype, operands, m) for m in (None, MACHINES[machine]))
    assert same(want, have, dtype)
