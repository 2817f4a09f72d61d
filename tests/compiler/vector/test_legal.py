"""Legal functions have the results of those that they come from, bit for bit."""

from __future__ import annotations

import random

import numpy as np
import pytest
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.vector.function import Function, Module
from dslc.compiler.vector.interpreter import interpret
from dslc.compiler.vector.legal import Capabilities, legalise
from dslc.compiler.vector.verifying import verify
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies.random_vector import Made, random_function, random_source, read_results, same

PLAIN = Capabilities()
FULL = Capabilities(
    f16_converts=True,
    masked_bits=8,
    scales=True,
    multishifts=True,
    vector_bits=512,
    atoms={"vpdpbusd": (16, 8, 4), "smmla": (4,)},
    permutations=frozenset({(8, 64), (16, 32), (32, 16), (64, 8)}),
)


def results(function: Function, made: Made, source: Array, n: int) -> list[Array]:
    dst = np.zeros(made.bytes, np.uint8)
    interpret(Module((function,)), "f", source.copy(), dst, n)
    return read_results(dst, made)


def check(rng: random.Random, capabilities: Capabilities) -> None:
    made = random_function(rng)
    (legal,) = legalise(Module((made.function,)), capabilities).functions
    verify(Module((legal,)))
    source, n = random_source(rng), rng.randrange(9)
    with np.errstate(all="ignore"):
        want = results(made.function, made, source, n)
        have = results(legal, made, source, n)
    for (_, type_), x, y in zip(made.results, want, have, strict=True):
        assert same(x, y, type_.dtype), (type_, x, y)


@pytest.mark.parametrize("capabilities", [PLAIN, FULL], ids=["plain", "full"])
@given(rng=st.randoms(use_true_random=False))
@settings(max_examples=12, deadline=None)
def test_random_functions_keep_their_results(
    capabilities: Capabilities, rng: random.Random
) -> None:
    check(rng, capabilities)


@pytest.mark.deep
@pytest.mark.parametrize("start", range(0, 1000, 100))
def test_many_random_functions(start: int) -> None:
    for seed in range(start, start + 100):
        check(random.Random(seed), FULL if seed % 2 else PLAIN)
