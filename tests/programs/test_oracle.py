"""Random programs of the whole language on every machine, against an oracle outside the compiler."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from dslc.compiler.interpreter.steps import tiles

from support.machines import require
from support.oracle.__main__ import report
from support.oracle.dtypes import DTYPES, cast, decode, encode, objects
from support.oracle.generator import generate
from support.oracle.printer import source
from support.oracle.profiles import profile
from support.oracle.running import run
from support.oracle.shrinker import shrink

# The seeds that make test runs on a machine, and how many programs make test-deep runs in its shards.
SAMPLES = {"interp": range(25), "aarch64:i8mm": range(6), "nki:trn2": range(5),
           "aie:npu2": range(5), "cpu:x86-64-v3": range(6), "cuda:sm_90a": range(2),
           "hip:gfx950": range(2)}  # fmt: skip
DEEP = {"interp": 10_000, "aarch64:i8mm": 10_000, "aie:npu2": 10_000, "cpu:x86-64-v3": 10_000,
        "nki:trn2": 2_000, "cuda:sm_90a": 2_000, "hip:gfx950": 2_000}  # fmt: skip
SHARDS = 20
FIRST = int(os.environ.get("DSLC_TEST_SEED", "0"))


def check(target: str, seeds: range) -> None:
    """All programs are right or refused, and not too many are refused."""
    require(target)
    kinds: Counter[str] = Counter()
    failed = []
    for seed in seeds:
        outcome = run(target, generate(seed, profile(target)))
        kinds[outcome.kind] += 1
        if outcome.kind == "refused":
            print(f"{seed}: {outcome.detail}")
        if outcome.is_failure:
            report(target, seed, outcome, 300)
            failed.append(seed)
    assert not failed, kinds
    assert kinds["refused"] <= max(0.2 * len(seeds), 3), kinds


@pytest.mark.parametrize("target", SAMPLES)
def test_a_sample_of_programs(target: str) -> None:
    check(target, SAMPLES[target])


@pytest.mark.deep
@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize("target", DEEP)
def test_many_programs(target: str, shard: int) -> None:
    count = DEEP[target] // SHARDS
    first = 1_000_000 * FIRST + shard * count
    check(target, range(first, first + count))


@pytest.mark.parametrize(
    ("name", "other"),
    [("f8e4m3", "float8_e4m3fn"), ("f8e5m2", "float8_e5m2"), ("f8e3m4", "float8_e3m4"),
     ("f6e2m3", "float6_e2m3fn"), ("f6e3m2", "float6_e3m2fn"), ("f4e2m1", "float4_e2m1fn"),
     ("bf16", "bfloat16"), ("e8m0", "float8_e8m0fnu")],
)  # fmt: skip
def test_its_floats_are_those_of_ml_dtypes(name: str, other: str) -> None:
    d, kind = DTYPES[name], np.dtype(getattr(ml_dtypes, other))
    codes = np.arange(1 << d.bits).astype(f"u{kind.itemsize}")
    values = codes.view(kind).astype(np.float64)
    np.testing.assert_array_equal(decode(codes, d), values)
    numbers = ~np.isnan(values)
    np.testing.assert_array_equal(encode(values, d)[numbers], codes[numbers])
    near = np.concatenate([values[numbers], values[numbers] * 1.03, (values[1:] + values[:-1]) / 2])
    near = near[np.isfinite(near) & (np.abs(near) <= d.top)]
    np.testing.assert_array_equal(
        cast(near, DTYPES["f64"], d), near.astype(kind).astype(np.float64)
    )


def test_its_integers_round_to_floats_once() -> None:
    found = cast(
        objects([2**24 + 1, 2**63 - 1, -(2**54) - 2**30 - 1], (3,)), DTYPES["i64"], DTYPES["f32"]
    )
    assert found.tolist() == [2.0**24, 2.0**63, -(2.0**54) - 2.0**31]


def test_it_catches_a_fault_and_shrinks_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Casts of floats to integers that round: few programs have one, and a line is left of them."""
    right = tiles.cast

    def wrong(x: Any, src: Any, dst: Any, saturate: bool = False) -> Any:
        return right(np.rint(x) if src.is_float and dst.is_integer else x, src, dst, saturate)

    monkeypatch.setattr(tiles, "cast", wrong)
    programs = (generate(seed, profile("interp")) for seed in range(60))
    found = next(p for p in programs if run("interp", p).kind == "wrong")
    small = shrink(found, lambda p: run("interp", p).kind == "wrong")
    assert len(source(small).splitlines()) <= 4
    assert "cast(" in source(small)


def test_the_same_seed_gives_the_same_text() -> None:
    texts = {source(generate(seed, profile("interp"))) for seed in (1, 2, 3, 1, 2, 3)}
    assert len(texts) == 3
