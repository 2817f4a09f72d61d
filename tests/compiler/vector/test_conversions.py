"""Conversions after legalisation are those of the language, every code of every dtype in deep."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from dslc.compiler.dtypes import BOOL, DType, all_dtypes, cast, decode, encode
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.vector.building import Builder
from dslc.compiler.vector.evaluation import from_bits
from dslc.compiler.vector.function import Module
from dslc.compiler.vector.interpreter import interpret
from dslc.compiler.vector.legal import Capabilities, legalise
from dslc.compiler.vector.types import VectorType

from strategies.random_vector import same

MACHINES = {
    "plain": Capabilities(),
    "f16": Capabilities(f16_converts=True),
    "bytes": Capabilities(f16_converts=True, permutations=frozenset({(8, 16)})),
    "numbers": Capabilities(f16_converts=True, permutations=frozenset({(32, 16)})),
}
DTYPES = all_dtypes()


def codes(dtype: DType) -> Array:
    """All codes of up to 16 bits; of more the edges, random ones, and those near others' halves."""
    if dtype == BOOL:
        return np.array([False, True])
    if dtype.bits <= 16:
        kind = np.uint8 if dtype.bits <= 8 else np.uint16
        return from_bits(np.arange(1 << dtype.bits).astype(kind), dtype)
    numbers = np.random.default_rng(dtype.bits)
    near = numbers.integers(-(1 << 20), 1 << 20, 500) * 2.0 ** numbers.integers(-60, 44, 500)
    bits = numbers.integers(0, 256, 500 * dtype.bits // 8, np.uint8).view(f"u{dtype.bits // 8}")
    if not dtype.is_float:
        powers = [s * (1 << n) + d for n in range(dtype.bits) for s in (1, -1) for d in (-1, 0, 1)]
        halves = (8, 9, 11, 24)  # of floats of a few bits, and what is just beside them
        powers += [s * (1 << n | 1 << n - h) + d for n in range(24, dtype.bits) for h in halves
                   for s in (1, -1) for d in (-1, 0, 1)]  # fmt: skip
        wrapped = np.array(powers, object) % (1 << dtype.bits)
        return from_bits(np.concatenate([bits, wrapped.astype(bits.dtype)]), dtype)
    halves = np.array([m * 2.0**e for m in (1, 1.5, 1.25, 1.75) for e in range(-30, 70)])
    around = np.concatenate([near, halves, halves * (1 + 2.0**-23), halves * (1 - 2.0**-23)])
    edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 3.5e38, 1e-45, 2.0**63, 2.0**31])
    values = np.concatenate([around, -around, edges])
    with np.errstate(all="ignore"):
        return np.concatenate(
            [encode(values, dtype), encode(decode(from_bits(bits, dtype), dtype), dtype)]
        )


def check(src: DType, dst: DType, saturate: bool, machine: Capabilities) -> None:
    given = np.ascontiguousarray(codes(src))
    b = Builder("f")
    x, y = b.pointer("x"), b.pointer("y")
    value = b.load(x, 0, VectorType(src, len(given)))
    b.store(y, 0, b.convert(value, dst, saturate=saturate))
    module = legalise(Module((b.function(),)), machine)
    with np.errstate(all="ignore"):
        want = encode(cast(decode(given, src), src, dst, saturate), dst)
        have = np.empty_like(want)
        interpret(module, "f", given, have)
        wrong = [
            i for i in range(len(want)) if not same(want[i : i + 1], have[i : i + 1], dst)
        ] if not same(want, have, dst) else []  # fmt: skip
        if dst.is_float and dst.kind.value == "float":  # a NaN keeps its sign
            wrong += list(
                np.flatnonzero(np.signbit(decode(want, dst)) != np.signbit(decode(have, dst)))
            )
    assert not wrong, [(given[i], have[i], want[i]) for i in wrong[:5]]


PAIRS = list(itertools.product(DTYPES, DTYPES, (False, True), MACHINES))


@pytest.mark.parametrize("src", random.Random(1).sample(DTYPES, 12), ids=str)
def test_some_conversions(src: DType) -> None:
    chosen = random.Random(src.name).sample(DTYPES, 8)
    for number, dst in enumerate(chosen):
        check(src, dst, bool(number % 2), list(MACHINES.values())[number % 4])


@pytest.mark.parametrize(
    "names",
    [
        "f32 f8e4m3",
        "f64 f8e4m3",
        "f64 f16",
        "f64 bf16",
        "i64 f16",
        "u64 tf32",
        "i64 bf16",
        "i32 i8",
    ],
)
def test_conversions_that_round_from_wide_numbers(names: str) -> None:
    """Numbers without a code, beside the halves, and beyond the range."""
    src, dst = (next(d for d in DTYPES if d.name == name) for name in names.split())
    for saturate in (False, True):
        check(src, dst, saturate, MACHINES["f16"])


@pytest.mark.deep
@pytest.mark.parametrize("src", DTYPES, ids=str)
def test_all_conversions(src: DType) -> None:
    for _, dst, saturate, machine in (p for p in PAIRS if p[0] == src):
        if src.bits <= 4 or machine in ("plain", "f16"):  # tables are of few codes
            check(src, dst, saturate, MACHINES[machine])
