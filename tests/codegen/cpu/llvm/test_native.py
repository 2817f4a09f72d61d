"""Native code gives what the interpreter of Vector IR gives."""

from __future__ import annotations

import random

import numpy as np
import pytest
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.targets.cpu import Processor
from dslc.compiler.vector.function import Module
from dslc.compiler.vector.interpreter import interpret
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies.native_vector import PROCESSORS, aligned, run_native
from strategies.random_vector import random_function, random_source, read_results, same


def check(rng: random.Random, processor: Processor) -> None:
    made = random_function(rng)
    module = Module((made.function,))
    source, n = random_source(rng), rng.randrange(9)
    want, have = (aligned(made.bytes) for _ in range(2))
    with np.errstate(all="ignore"):
        interpret(module, "f", source.copy(), want, n)
    run_native(module, "f", processor, copied(source), have, n)
    pairs = zip(read_results(want, made), read_results(have, made), made.results, strict=True)
    for x, y, (_, type_) in pairs:
        with np.errstate(all="ignore"):
            assert same(x, y, type_.dtype), (type_, x, y)


def copied(content: Array) -> Array:
    found = aligned(len(content))
    found[:] = content
    return found


@pytest.mark.parametrize("name", sorted(PROCESSORS))
@given(rng=st.randoms(use_true_random=False))
@settings(max_examples=10, deadline=None)
def test_random_functions(name: str, rng: random.Random) -> None:
    check(rng, PROCESSORS[name])


@pytest.mark.deep
@pytest.mark.parametrize("name", sorted(PROCESSORS))
@pytest.mark.parametrize("start", range(10_000, 11_000, 100))
def test_many_random_functions(start: int, name: str) -> None:
    for seed in range(start, start + 100):
        check(random.Random(seed), PROCESSORS[name])
