"""The accumulators that are read as floats stay where that is exact: the proof, and its edge."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.codegen.aarch64.chunks.ranges import BIASED, LIMIT, SIXTEENTHS, fits_biased
from dslc.codegen.aarch64.products.nibbles import DEEPEST, reads_as_floats
from dslc.codegen.chunks.intervals import interval
from dslc.compiler.dtypes import parse_dtype
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import results, walk

from support.kernels import one

BIAS = 1.5 * 2**23  # what a biased accumulator begins at


def test_every_sum_below_the_limit_is_read_exactly() -> None:
    sums = np.array([0, 1, -1, 12345, LIMIT - 1, -LIMIT + 1], np.int32)
    words = (sums + np.int32(BIASED)).astype(np.int32)
    np.testing.assert_array_equal(words.view(np.float32) - np.float32(BIAS), sums)


def test_past_the_limit_it_is_not() -> None:
    words = np.array([-LIMIT - 1], np.int32) + np.int32(BIASED)
    assert words.view(np.float32)[0] - np.float32(BIAS) != -LIMIT - 1


@pytest.mark.parametrize(("width", "fits"), [("u4", True), ("u8", False)])
def test_a_product_fits_by_its_codes(width: str, fits: bool) -> None:
    kernel = one(f"""
kernel k(a: i8[M, K], w: {width}[K, N], c: out f32[M, N]):
    for m, n in parallel(range(0, M, 8), range(0, N, 8)):
        acc = zeros(f32, [8, 8])
        for k in range(0, K, 256):
            q = cast(w[k : k + 256, n : n + 8], i16) - 8
            acc += cast(dot(a[m : m + 8, k : k + 256], q), f32)
        c[m : m + 8, n : n + 8] = acc
""")
    made = {v: s for s in walk(kernel.body) for v in results(s) if isinstance(v, Value)}
    (dot,) = (s for s in made.values() if isinstance(s, ins.Dot))
    low, high = interval(dot.b, made)
    assert (low, high) == (-8, (1 << int(width[1])) - 1 - 8)
    f32 = parse_dtype("f32")
    assert f32 is not None
    assert fits_biased(dot, made, f32) is fits


def test_what_may_wrap_has_the_whole_range() -> None:
    kernel = one("""
kernel k(a: i8[N], y: out i8[N]):
    for n in parallel(range(0, N, 16)):
        y[n : n + 16] = a[n : n + 16] + 1
""")
    made = {v: s for s in walk(kernel.body) for v in results(s) if isinstance(v, Value)}
    (store,) = (s for s in walk(kernel.body) if isinstance(s, ins.Store))
    assert interval(store.x, made) == (-128, 127)


def test_sixteenths_are_read_exactly_below_their_limit() -> None:
    sums = np.array([0, 16, -16, LIMIT - 16, 16 - LIMIT], np.int64)
    words = (sums + SIXTEENTHS).astype(np.uint32)
    np.testing.assert_array_equal(words.view(np.float32) - np.float32(1.5 * 2**19), sums / 16)


@pytest.mark.parametrize("zero", [0, 8, 15, 100])
def test_upper_codes_are_read_as_floats_only_where_every_sum_fits(zero: int) -> None:
    """The extremes: codes of 15 or 0 and activations of -128 or 127, over k of them."""
    deepest = max(k for k in range(1, 2048) if reads_as_floats(k, zero))
    for k in (1, deepest):
        for code in (0, 15):
            for x in (-128, 127):
                for taken in (16 * code * x * k, 16 * zero * x * k):
                    assert -LIMIT < taken < LIMIT
    assert not reads_as_floats(deepest + 1, zero)
    assert (deepest + 1) * 16 * 128 * max(15, zero) >= LIMIT


def test_a_block_of_turns_keeps_sums_of_bytes_apart_exactly() -> None:
    """16 sum(high) is read from 32 bits that may have wrapped: it must fit 31."""
    assert DEEPEST * 240 * 128 < 1 << 31
    assert DEEPEST * 15 * 128 < 1 << 31


@pytest.mark.parametrize("op", ["+", "-", "*"])
def test_an_interval_holds_every_result_and_its_ends(op: str) -> None:
    """Of codes 0 to 15 and -4 to 3."""
    kernel = one(f"""
kernel k(a: u4[N], b: i3[N], y: out i32[N]):
    for n in parallel(range(0, N, 16)):
        y[n : n + 16] = cast(a[n : n + 16], i32) {op} cast(b[n : n + 16], i32)
""")
    made = {v: s for s in walk(kernel.body) for v in results(s) if isinstance(v, Value)}
    (store,) = (s for s in walk(kernel.body) if isinstance(s, ins.Store))
    a, b = np.arange(16)[:, None], np.arange(-4, 4)
    found = {"+": a + b, "-": a - b, "*": a * b}[op]
    assert interval(store.x, made) == (found.min(), found.max())
