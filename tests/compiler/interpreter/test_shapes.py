"""Shape instructions, reductions and dot against NumPy."""

import numpy as np
import pytest
from dslc.compiler.dtypes import decode, encode, storage_dtype
from dslc.compiler.interpreter import run
from dslc.compiler.ir import instructions as ins

from support.building import Builder, dt, random_codes, whole


def evaluate(make, *inputs, dtype):
    """Run make(builder, *tiles) over whole arrays of the given (dtype, codes)."""
    b = Builder()
    tiles = [
        b.load(whole(b.tensor(f"x{n}", d, codes.shape))) for n, (d, codes) in enumerate(inputs)
    ]
    result = make(b, *tiles)
    assert result.type.dtype == dt(dtype)
    b.store(whole(b.out("y", dtype, result.type.shape)), result)
    y = np.empty(result.type.shape, storage_dtype(dt(dtype)))
    run(b.kernel(), {**{f"x{n}": c for n, (_, c) in enumerate(inputs)}, "y": y})
    return y


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "u4", "i32", "f6e3m2", "bool"])
def test_moves(dtype, rng):
    d = dt(dtype)
    x = random_codes(d, (2, 3, 4), rng)

    def instruction(kind, shape, *more):
        return lambda b, t: b.add(kind(b.value(d, shape), t, *more, loc=b.loc()))

    cases = [
        (instruction(ins.Transpose, (4, 2, 3), (2, 0, 1)), x.transpose(2, 0, 1)),
        (instruction(ins.Reshape, (6, 4)), x.reshape(6, 4)),
        (instruction(ins.Broadcast, (5, 2, 3, 4)), np.broadcast_to(x, (5, 2, 3, 4))),
        (instruction(ins.Repeat, (2, 9, 4), 3, 1), np.repeat(x, 3, 1)),
        (instruction(ins.Extract, (3, 2), (1, 0, 1), (1, 1, 2), (0,)), x[1, :, 1::2]),
        (instruction(ins.ConvertLayout, (2, 3, 4)), x),
        (lambda b, t: b.add(ins.Concat(b.value(d, (2, 6, 4)), (t, t), 1)), np.concatenate([x, x], 1)),
    ]  # fmt: skip
    for make, wanted in cases:
        np.testing.assert_array_equal(evaluate(make, (dtype, x), dtype=dtype), wanted)


def test_transpose_after_broadcast_of_stretched_axes(rng):
    x = random_codes(dt("f32"), (3, 1), rng)

    def make(b, t):
        wide = b.broadcast(t, (2, 3, 4))
        return b.add(ins.Transpose(b.value("f32", (4, 3, 2)), wide, (2, 1, 0)))

    wanted = np.broadcast_to(x, (2, 3, 4)).transpose(2, 1, 0)
    np.testing.assert_array_equal(evaluate(make, ("f32", x), dtype="f32"), wanted)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("name", ["sum", "max", "min"])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "i8", "u5", "i64"])
def test_reduce(name, dtype, axis, keepdims, rng):
    d = dt(dtype)
    x = random_codes(d, (3, 4, 5), rng)
    found = evaluate(lambda b, t: b.reduce(name, t, axis, keepdims), (dtype, x), dtype=dtype)
    values = decode(x, d)
    if name == "sum" and d.is_integer:
        values = values.astype(np.int64)
    wanted = {"sum": np.sum, "max": np.max, "min": np.min}[name](values, axis, keepdims=keepdims)
    np.testing.assert_array_equal(found, encode(wanted, d))


def test_sum_of_half_precision_rounds_once():
    x = np.array([2048.0] + [1.0] * 8, np.float16)  # every partial sum is a tie in f16
    found = evaluate(lambda b, t: b.reduce("sum", t, 0, True), ("f16", x), dtype="f16")
    assert found[0] == 2056


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_arg_reductions_give_the_first(name):
    x = np.array([[1, 7, 7], [3, 3, 0]], np.int32)
    found = evaluate(lambda b, t: b.reduce(name, t, 1, dtype="i32"), ("i32", x), dtype="i32")
    np.testing.assert_array_equal(found, {"argmax": [1, 0], "argmin": [0, 2]}[name])


@pytest.mark.parametrize("name", ["any", "all"])
def test_logical_reductions(name):
    x = np.array([[0, 0], [0, 1], [1, 1]], bool)
    found = evaluate(lambda b, t: b.reduce(name, t, 1), ("bool", x), dtype="bool")
    np.testing.assert_array_equal(found, {"any": x.any(1), "all": x.all(1)}[name])


@pytest.mark.parametrize("dtype", ["f32", "i8", "u3"])
def test_scan(dtype, rng):
    x = random_codes(dt(dtype), (4, 6), rng)
    found = evaluate(
        lambda b, t: b.add(ins.Scan(b.value(dtype, (4, 6)), "sum", t, 1)), (dtype, x), dtype=dtype
    )
    wide = x if dtype == "f32" else x.astype(np.int64)
    np.testing.assert_array_equal(found, encode(np.cumsum(wide, 1, dtype=wide.dtype), dt(dtype)))


@pytest.mark.parametrize(
    ("a", "b", "acc"),
    [("f16", "f16", "f32"), ("bf16", "bf16", "f32"), ("f32", "f32", "f32"), ("f64", "f64", "f64"),
     ("f8e4m3", "f8e5m2", "f32"), ("f4e2m1", "f6e3m2", "f32"), ("tf32", "tf32", "f32"),
     ("i8", "i8", "i32"), ("u4", "i8", "i32"), ("u8", "i3", "i32"), ("i16", "i16", "i32"),
     ("i32", "i32", "i32"), ("i64", "u64", "i32"), ("u1", "i1", "i32")],
)  # fmt: skip
@pytest.mark.parametrize("accumulate", [False, True])
def test_dot(a, b, acc, accumulate, rng):
    x, y = random_codes(dt(a), (2, 5, 300), rng), random_codes(dt(b), (2, 300, 4), rng)
    z = random_codes(dt(acc), (2, 5, 4), rng)

    def make(builder, p, q, r):
        return builder.dot(p, q, r if accumulate else None, dtype=dt(acc))

    found = evaluate(make, (a, x), (b, y), (acc, z), dtype=acc)
    if acc == "i32":
        exact = x.astype(object) @ y.astype(object) + (z.astype(object) if accumulate else 0)
        low = -(2**31)
        wanted = np.vectorize(lambda v: (int(v) - low) % 2**32 + low)(exact)
        np.testing.assert_array_equal(found, wanted)
        return
    exact = decode(x, dt(a)).astype(np.float64) @ decode(y, dt(b)).astype(np.float64)
    wanted = exact + (z if accumulate else 0)
    scale = np.abs(exact).max() + 1
    np.testing.assert_allclose(
        found, wanted, rtol=0, atol=scale * (1e-13 if acc == "f64" else 1e-5)
    )


def test_making(rng):
    def make(b):
        line = b.arange(6)
        return b.binary("add", line, b.full("i32", (6,), 3))

    np.testing.assert_array_equal(evaluate(make, dtype="i32"), np.arange(6) + 3)
