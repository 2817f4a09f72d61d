"""Elementwise instructions, casts and fma against NumPy and exact rational arithmetic."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from dslc.compiler.dtypes import cast, decode, encode, parse_dtype, round_to, value_dtype, wrap
from dslc.compiler.interpreter import run
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic import elements
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support.building import Builder, dt, random_codes, whole

FLOATS = ["f16", "bf16", "f32", "f64"]
INTEGERS = ["i1", "u1", "i3", "u5", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]
TO_NUMPY = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip
REFERENCE = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power,
    "floordiv": np.floor_divide, "mod": np.mod, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "min": np.minimum, "max": np.maximum, "eq": np.equal,
    "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "neg": np.negative, "abs": np.abs, "floor": np.floor, "ceil": np.ceil,
    "round": np.rint, "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2,
    "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "invert": np.invert,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}  # fmt: skip


def same(found, wanted):
    """Equal with NaN equal to itself, which comparisons of ml_dtypes arrays do not know."""
    if wanted.dtype.kind not in "iub":
        found, wanted = found.astype(np.float64), wanted.astype(np.float64)
    np.testing.assert_array_equal(found, wanted)


def evaluate(instruction, dtype, *codes, out=None):
    """Run `instruction(out, *operands)` over whole arrays; gives the out array's codes."""
    b = Builder()
    shape = codes[0].shape
    operands = [b.load(whole(b.tensor(f"x{n}", dtype, shape))) for n in range(len(codes))]
    result = instruction(b, *operands)
    y = b.out("y", out or result.type.dtype, result.type.shape)
    b.store(whole(y), result)
    from dslc.compiler.dtypes import storage_dtype

    found = np.empty(result.type.shape, storage_dtype(result.type.dtype))
    args = {f"x{n}": c for n, c in enumerate(codes)}
    run(b.kernel(), {**args, "y": found})
    return found


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "name", ["add", "sub", "mul", "div", "min", "max", "lt", "eq", "ge", "floordiv", "mod"]
)
def test_binary_on_floats(name, dtype):
    rng = np.random.default_rng(1)
    x, y = (random_codes(dt(dtype), (5, 7), rng) for _ in range(2))
    found = evaluate(lambda b, p, q: b.binary(name, p, q), dtype, x, y)
    wide = np.float64 if dtype == "f64" else np.float32
    wanted = REFERENCE[name](x.astype(wide), y.astype(wide))
    wanted = wanted if wanted.dtype == bool else wanted.astype(TO_NUMPY[dtype])
    same(found, wanted)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(
    "name", ["add", "sub", "mul", "and", "or", "xor", "min", "max", "ne", "le", "gt"]
)
def test_binary_on_integers_wraps(name, dtype):
    d = dt(dtype)
    rng = np.random.default_rng(2)
    x, y = (random_codes(d, (40,), rng) for _ in range(2))
    found = evaluate(lambda b, p, q: b.binary(name, p, q), dtype, x, y)
    wanted = REFERENCE[name](x.astype(object), y.astype(object)) if name not in (
        "min", "max") else REFERENCE[name](x, y)  # fmt: skip
    low, high = (False, True) if found.dtype == bool else d.integer_range
    exact = [(int(v) - low) % (int(high) - int(low) + 1) + low for v in wanted]
    assert found.tolist() == exact


@pytest.mark.parametrize("dtype", INTEGERS)
def test_division_of_integers_rounds_down_and_by_zero_gives_zero(dtype):
    d = dt(dtype)
    low, high = d.integer_range
    numbers = sorted({low, low // 3, -1 if low else 0, 0, 1, high // 2, high})
    pairs = [(a, b) for a in numbers for b in numbers if low <= a <= high and low <= b <= high]
    x, y = (np.array(v, value_dtype(d)) for v in zip(*pairs, strict=True))
    quotient = evaluate(lambda b, p, q: b.binary("floordiv", p, q), dtype, x, y)
    rest = evaluate(lambda b, p, q: b.binary("mod", p, q), dtype, x, y)
    for (a, b), q, r in zip(pairs, quotient.tolist(), rest.tolist(), strict=True):
        exact = a // b if b else 0
        assert q == (exact - low) % (high - low + 1) + low
        assert r == (a % b if b else 0)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_by_the_width_or_more_give_zero(dtype):
    d = dt(dtype)
    low, high = d.integer_range
    counts = [n for n in (0, 1, d.bits - 1, d.bits, 100, -1) if low <= n <= high]
    numbers = [n for n in (low, -3, 0, 1, 5, high) if low <= n <= high]
    pairs = [(a, n) for a in numbers for n in counts]
    x, y = (np.array(v, value_dtype(d)) for v in zip(*pairs, strict=True))
    left = evaluate(lambda b, p, q: b.binary("shl", p, q), dtype, x, y)
    right = evaluate(lambda b, p, q: b.binary("shr", p, q), dtype, x, y)
    for (a, n), up, down in zip(pairs, left.tolist(), right.tolist(), strict=True):
        legal = 0 <= n < d.bits
        assert up == (((a << n) - low) % (high - low + 1) + low if legal else 0)
        assert down == (a >> n if legal else 0)


@pytest.mark.parametrize("dtype", ["i8", "i32", "u8", "i64"])
def test_power_of_integers(dtype):
    d = dt(dtype)
    low, high = d.integer_range
    pairs = [(a, n) for a in (-3, -2, -1, 0, 1, 2, 5) for n in (-2, -1, 0, 1, 3, 9)
             if low <= a and low <= n]  # fmt: skip
    x, y = (np.array(v, value_dtype(d)) for v in zip(*pairs, strict=True))
    found = evaluate(lambda b, p, q: b.binary("pow", p, q), dtype, x, y)
    for (a, n), power in zip(pairs, found.tolist(), strict=True):
        exact = a**n if n >= 0 else {1: 1, -1: 1 if n % 2 == 0 else -1}.get(a, 0)
        assert power == (exact - low) % (high - low + 1) + low, (a, n)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "name",
    ["neg", "abs", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid",
     "floor", "ceil", "round"],
)  # fmt: skip
def test_unary_on_floats(name, dtype):
    x = random_codes(dt(dtype), (6, 5), np.random.default_rng(3))
    found = evaluate(lambda b, p: b.unary(name, p), dtype, x)
    wide = np.float64 if dtype == "f64" else np.float32
    with np.errstate(all="ignore"):
        wanted = REFERENCE[name](x.astype(wide)).astype(TO_NUMPY[dtype])
    same(found, wanted)


@pytest.mark.parametrize("dtype", FLOATS)
def test_erf(dtype):
    import math

    x = random_codes(dt(dtype), (50,), np.random.default_rng(4))
    found = evaluate(lambda b, p: b.unary("erf", p), dtype, x)
    wanted = np.array([math.erf(float(v)) for v in x])
    same(found, encode(wanted, dt(dtype)))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ["neg", "abs", "invert"])
def test_unary_on_integers_wraps(name, dtype):
    d = dt(dtype)
    low, high = d.integer_range
    x = np.array([low, low + 1, 0, high - 1, high], value_dtype(d))
    found = evaluate(lambda b, p: b.unary(name, p), dtype, x)
    exact = {"neg": lambda v: -v, "abs": abs, "invert": lambda v: ~v}[name]
    assert found.tolist() == [(exact(v) - low) % (high - low + 1) + low for v in x.tolist()]


def test_logic_on_bools():
    x, y = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    for name, wanted in {
        "and": x & y, "or": x | y, "xor": x ^ y, "eq": x == y, "lt": x < y, "max": x | y,
    }.items():  # fmt: skip
        found = evaluate(lambda b, p, q, name=name: b.binary(name, p, q), "bool", x, y)
        same(found, wanted)
    for name in ("not", "invert"):
        np.testing.assert_array_equal(
            evaluate(lambda b, p, name=name: b.unary(name, p), "bool", x), ~x
        )


def test_minimum_propagates_nan():
    x, y = np.array([1, np.nan, 2], np.float32), np.array([np.nan, 1, 1], np.float32)
    found = evaluate(lambda b, p, q: b.binary("min", p, q), "f32", x, y)
    np.testing.assert_array_equal(found, [np.nan, np.nan, 1])


@pytest.mark.parametrize("src", ["u4", "i6", "f16", "f6e3m2", "f8e4m3", "e8m0", "i32", "f64"])
@pytest.mark.parametrize("dst", ["f16", "bf16", "f32", "i8", "u3", "f4e2m1", "bool", "tf32"])
@pytest.mark.parametrize("saturate", [False, True])
def test_cast(src, dst, saturate):
    x = random_codes(dt(src), (64,), np.random.default_rng(5))
    found = evaluate(lambda b, p: b.cast(p, dst, saturate), src, x)
    values = cast(decode(x, dt(src)), dt(src), dt(dst), saturate)
    same(found, encode(values, dt(dst)))


def test_where():
    x = np.arange(12, dtype=np.int32).reshape(3, 4)

    def choose(b, p):
        low = b.binary("lt", p, b.full("i32", (3, 4), 5))
        return b.add(ins.Where(b.value("i32", (3, 4)), low, p, b.unary("neg", p)))

    np.testing.assert_array_equal(evaluate(choose, "i32", x), np.where(x < 5, x, -x))


def rounded(value: Fraction, dtype: str) -> float:
    """The nearest number of the dtype, by exact comparison of its neighbours."""
    d = parse_dtype(dtype)
    near = float(value)  # CPython rounds a fraction to nearest even
    if dtype == "f64":
        return near
    start = round_to(np.array([near]), d)[0]
    kind = {"f16": np.float16, "f32": np.float32, "bf16": ml_dtypes.bfloat16}[dtype]
    start = kind(start)
    with np.errstate(over="ignore"):
        options = [start, *(np.nextafter(start, kind(end)) for end in (np.inf, -np.inf))]
    finite = [o for o in options if np.isfinite(o)]
    return float(min(finite, key=lambda o: (abs(Fraction(float(o)) - value), _odd(o))))


def _odd(x) -> int:
    return int(np.asarray(x).view(f"u{x.dtype.itemsize}")) & 1


@pytest.mark.parametrize("dtype", FLOATS)
def test_fma_rounds_once(dtype):
    d = dt(dtype)

    @settings(max_examples=150)
    @given(st.lists(st.floats(-1e4, 1e4, width=16), min_size=3, max_size=3),
           st.integers(-20, 20), st.booleans())  # fmt: skip
    def law(xs, shift, cancel):
        x, y, z = (round_to(np.array([v]), d) for v in xs)
        if cancel:  # a sum near a tie of the product is where two roundings differ from one
            z = round_to(np.asarray(-(x * y) * (1 + 2.0 ** -abs(shift))), d)
        else:
            z = round_to(z * 2.0**shift, d)
        assume(all(np.isfinite(v[0]) for v in (x, y, z)))
        exact = Fraction(float(x[0])) * Fraction(float(y[0])) + Fraction(float(z[0]))
        assume(abs(exact) <= 65504)
        with np.errstate(all="ignore"):
            found = elements.fma(d)(x, y, z)
        assert float(found[0]) == rounded(exact, dtype)

    law()


def test_fma_on_integers_wraps():
    x = np.array([100, -100, 7], np.int8)
    found = evaluate(
        lambda b, p: b.add(ins.Fma(b.value("i8", (3,)), p, p, p)), "i8", x
    )  # fmt: skip
    np.testing.assert_array_equal(found, wrap(x.astype(np.int64) ** 2 + x, dt("i8")))
