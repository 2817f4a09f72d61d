"""Planned buffers share bytes: a right plan changes nothing, a wrong one corrupts and is reported."""

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Place

from support.building import Builder, at, dt, random_codes, whole


def two_buffers(first, second, both_live, place=Place.SHARED):
    """x goes through buffer a and y through buffer b; `both_live`: a is read after b is written."""
    b = Builder()
    (d1, o1), (d2, o2) = first, second
    a = b.buffer("a", d1, [3, 8], place, offset=o1)
    b.store(whole(a), b.load(whole(b.tensor("x", d1, [3, 8]))))
    if not both_live:
        b.store(whole(b.out("p", d1, [3, 8])), b.load(whole(a)))
    c = b.buffer("c", d2, [3, 8], place, offset=o2)
    b.store(whole(c), b.load(whole(b.tensor("y", d2, [3, 8]))))
    if both_live:
        b.store(whole(b.out("p", d1, [3, 8])), b.load(whole(a)))
    b.store(whole(b.out("q", d2, [3, 8])), b.load(whole(c)))
    rng = np.random.default_rng(0)
    x, y = random_codes(dt(d1), (3, 8), rng), random_codes(dt(d2), (3, 8), rng)
    return b.kernel(), {"x": x, "y": y, "p": np.zeros_like(x), "q": np.zeros_like(y)}


DTYPES = ["f32", "f16", "bf16", "u4", "i3", "f6e3m2", "bool", "i64"]


@pytest.mark.parametrize("first", DTYPES)
@pytest.mark.parametrize("second", DTYPES)
def test_buffers_that_live_one_after_the_other_may_share_bytes(first, second):
    kernel, args = two_buffers((first, 16), (second, 16), both_live=False)
    run(kernel, args)
    np.testing.assert_array_equal(args["p"], args["x"])
    np.testing.assert_array_equal(args["q"], args["y"])


@pytest.mark.parametrize("first", DTYPES)
def test_buffers_side_by_side_do_not_disturb_each_other(first):
    size = -(-24 * dt(first).bits // 8)
    kernel, args = two_buffers((first, 0), ("f32", size), both_live=True)
    run(kernel, args)
    np.testing.assert_array_equal(args["p"], args["x"])
    np.testing.assert_array_equal(args["q"], args["y"])


@pytest.mark.parametrize("first", DTYPES)
def test_live_buffers_that_overlap_corrupt_each_other(first):
    size = -(-24 * dt(first).bits // 8)
    kernel, args = two_buffers((first, 0), ("f32", size - 1), both_live=True)
    with pytest.raises(DiagnosticError) as caught:
        run(kernel, args)
    bits = dt(first).bits
    last = (3 * bits - 1) * 8 // bits % 8  # the first element with bits in the last byte
    wanted = f"DSL0611]: the read takes element [2, {last}] of a, which another buffer has"
    assert wanted in caught.value.summary
    kernel, args = two_buffers((first, 0), ("f32", 0), both_live=True)
    run(kernel, args, Options(check=False))
    assert not np.array_equal(args["p"], args["x"])
    np.testing.assert_array_equal(args["q"], args["y"])


def test_buffers_of_different_places_do_not_share_bytes():
    b = Builder()
    s = b.buffer("s", "f32", [4], Place.SHARED, offset=0)
    r = b.buffer("r", "f32", [4], Place.REGISTER, offset=0)
    b.store(whole(s), b.full("f32", (4,), 1.0))
    b.store(whole(r), b.full("f32", (4,), 2.0))
    y = b.out("y", "f32", [8])
    b.store(at(y, (0, 4)), b.load(whole(s)))
    b.store(at(y, (4, 4)), b.load(whole(r)))
    found = np.zeros(8, np.float32)
    run(b.kernel(), {"y": found})
    assert found.tolist() == [1] * 4 + [2] * 4


def test_a_planned_buffer_is_undefined_at_first():
    b = Builder()
    s = b.buffer("s", "u4", [2, 3], offset=32)
    b.store(at(s, 0, (0, 3)), b.full("u4", (3,), 5))
    b.store(at(b.out("y", "u4", [6]), (0, 3)), b.load(at(s, 1, (0, 3))))
    with pytest.raises(DiagnosticError, match=r"DSL0603.*element \[1, 0\] of s"):
        run(b.kernel(), {"y": np.zeros(6, np.uint8)})
