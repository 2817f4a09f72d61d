"""Legal functions have the results of those that they come from, bit for bit."""

from __future__ import annotations

import random

import numpy as np
import pytest
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.vector.function import Function, Module
from dslc.compiler.vector.interpreter import interpret
from dslc.compiler.vector.legal import Capabilities, legalise
from dslc.compiler.vector.text import parse
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


def one(text: str, source: Array, size: int, n: int) -> Array:
    """What f(%p: ptr, %q: ptr, %n: index) writes to %q, before and after it is made legal."""
    module = parse(text)
    written = []
    for form in (module, legalise(module, PLAIN), legalise(module, FULL)):
        verify(form)
        dst = np.zeros(size, source.dtype)
        interpret(form, "f", source, dst, n)
        written.append(dst)
    np.testing.assert_array_equal(written[0], written[1])
    np.testing.assert_array_equal(written[0], written[2])
    return written[0]


@pytest.mark.parametrize("n", [0, 1, 5, 6])
@pytest.mark.parametrize("bounds", ["0, %n, 1", "%n, 0, -1"])
def test_copies_of_a_body_have_variables_of_their_own(bounds: str, n: int) -> None:
    text = f"""function f(%p: ptr, %q: ptr, %n: index) {{
  for %i in range({bounds}) unroll 3 {{
    %at = mul %i, 8 : index
    %x = load %p[%at] : i64
    store %q[%at], %x
  }}
}}
"""
    source = np.arange(1, 9)
    first = int(bounds.startswith("%n"))
    expected = np.where((np.arange(8) >= first) & (np.arange(8) < n + first), source, 0)
    np.testing.assert_array_equal(one(text, source, 8, n), expected)


def test_a_small_table_is_looked_up_modulo_its_lanes() -> None:
    text = """function f(%p: ptr, %q: ptr, %n: index) {
  %t = load %p[0] : i32x4
  %i = load %p[0] : i32x8
  %x = permute %t, %i : i32x8
  store %q[0], %x
}
"""
    source = np.array([3, 18, 1, -1, 0, 5, 6, 7], np.int32)
    np.testing.assert_array_equal(one(text, source, 8, 0), source[:4][source % 4])


@pytest.mark.deep
@pytest.mark.parametrize("start", range(0, 1000, 100))
def test_many_random_functions(start: int) -> None:
    for seed in range(start, start + 100):
        check(random.Random(seed), FULL if seed % 2 else PLAIN)
