"""Every operation of a core by dtype and by how its operands lie, against the interpreter."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from dslc.compiler.dtypes import all_dtypes, parse_dtype, storage_dtype

from support.machines import call

INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32")
FLOATS = ("f32", "bf16")
DTYPES = (*INTEGERS, *FLOATS)
# The extents of x, and the tile of it that a turn takes; the grid steps over the rows.
SHAPES = {
    "odd": ((5, 7), "x[m : m + 1, :]", (1, 7)),
    "one": ((3, 1), "x[m : m + 1, :]", (1, 1)),
    "ragged": ((7, 50), "x[m : m + 4, :]", (4, 50)),
    "strided": ((4, 64), "x[m : m + 2, 0:64:2]", (2, 32)),
    "offset": ((6, 40), "x[m : m + 2, 3:20]", (2, 17)),
    "whole": ((4, 64), "x[m : m + 2, :]", (2, 64)),
}
_ALIKE = [
    "a + b", "a - b", "a * b", "maximum(a, b)", "minimum(a, b)", "a // d", "a % d", "-a", "abs(a)",
    *(f"where(a {op} b, a, c)" for op in ("<", "<=", ">", ">=", "==", "!=")), "a * b + c",
]  # fmt: skip
_WHOLE = ["a & b", "a | b", "a ^ b", "~a", "a << s", "a >> s"]
_REAL = ["a / d", "floor(a)", "ceil(a)", "round(a)", "exp(a)", "exp2(a)", "log(abs(d))", "sqrt(abs(a))",
         "rsqrt(abs(d))", "sin(a)", "cos(a)", "tanh(a)", "sigmoid(a)", "erf(a)"]  # fmt: skip
_ALONG = [
    "sum(a, {})",
    "max(a, {})",
    "min(a, {})",
    "cast(argmax(a, {}), T)",
    "cast(argmin(a, {}), T)",
]


def _numbers(dtype: str, shape: tuple[int, ...], seed: int) -> Any:
    """Numbers of a dtype, the ends of its range among them; of floats none that overflow."""
    rng = np.random.default_rng(seed)
    if dtype in FLOATS:
        kind = np.float32 if dtype == "f32" else ml_dtypes.bfloat16
        return rng.uniform(-9, 9, shape).astype(kind)
    ends = np.iinfo(storage_dtype(_dtype(dtype)))
    drawn = rng.integers(ends.min, ends.max, shape, endpoint=True)
    chosen = rng.choice([ends.min, ends.max, 0, 1, ends.max // 2 + 1], shape)
    return np.where(rng.random(shape) < 0.3, chosen, drawn).astype(ends.dtype)


def _dtype(name: str) -> Any:
    found = parse_dtype(name)
    assert found is not None
    return found


def _agree(source: str, args: dict[str, Any], dtype: str) -> None:
    found = []
    for target in ("interp", "aie:npu2"):
        own = {name: x.copy() for name, x in args.items()}
        call(target, source, own)
        found.append(own["y"].astype(np.float64))
    near = {"f32": 2e-6, "bf16": 8e-3}.get(dtype, 0)
    np.testing.assert_allclose(found[1], found[0], rtol=near, atol=near, equal_nan=True)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_elementwise(dtype: str, shape: str) -> None:
    extents, part, tile = SHAPES[shape]
    ops = [*_ALIKE, *(_REAL if dtype in FLOATS else _WHOLE)]
    if dtype.startswith("u"):
        ops.remove("-a")
    stores = "".join(f"        y[{i}, m : m + {tile[0]}, :] = {op}\n" for i, op in enumerate(ops))
    one = f"full({dtype}, [{tile[0]}, {tile[1]}], 1)"
    bits = int(dtype.strip("biuf"))
    shift = "" if dtype in FLOATS else f"        s = b & {bits - 1}\n"
    source = f"""
kernel k(x: {dtype}[M, N], z: {dtype}[M, N], y: out {dtype}[{len(ops)}, M, {tile[1]}]):
    for m in parallel(range(0, M, {tile[0]})):
        a = {part}
        b = {part.replace("x[", "z[")}
        c = a * b
        d = where(b == {one} - {one}, {one}, b)
{shift}{stores}"""
    args = {"x": _numbers(dtype, extents, 1), "z": _numbers(dtype, extents, 2)}
    args["y"] = np.zeros((len(ops), extents[0], tile[1]), args["x"].dtype)
    _agree(source, args, dtype)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_along_an_axis(dtype: str, shape: str) -> None:
    """Of each line; the numbers of the second half are all below 0, where there are such."""
    extents, part, tile = SHAPES[shape]
    ops = [op.format(1).replace("T", dtype) for op in _ALONG]
    stores = "".join(
        f"        y[{i}, m : m + {tile[0]}] = cast({op}, {dtype})\n" for i, op in enumerate(ops)
    )
    source = f"""
kernel k(x: {dtype}[M, N], y: out {dtype}[{len(ops)}, M]):
    for m in parallel(range(0, M, {tile[0]})):
        a = {part}
{stores}"""
    x = _numbers(dtype, extents, 3)
    if not dtype.startswith("u"):
        half = extents[0] // 2
        x[half:] = np.where(x[half:] < 0, x[half:], -1)
    _agree(source, {"x": x, "y": np.zeros((len(ops), extents[0]), x.dtype)}, dtype)


_NARROW = tuple(d.name for d in all_dtypes() if d.bits <= 8 and d.name != "bool")
_TARGETS = ("i8", "u8", "i16", "u16", "i32", "u32", "f32", "bf16", "i5", "u3", "f8e4m3", "f4e2m1")


@pytest.mark.sampled(7)
@pytest.mark.parametrize("source", _NARROW)
def test_every_code_of_few_bits(source: str) -> None:
    """To each of the targets, plain and saturating, in rows of 256 codes."""
    own = _dtype(source)
    count = 1 << own.bits
    codes = np.arange(256) % count
    if own.is_integer and own.is_signed:
        codes = codes - (codes >> (own.bits - 1)) * count
    x = codes.astype(storage_dtype(own))
    for to in (t for t in _TARGETS if t != source):
        for how in ("", ", saturate=True"):
            text = f"""
kernel k(x: {source}[256], y: out {to}[256]):
    for n in parallel(range(0, 256, 64)):
        y[n : n + 64] = cast(x[n : n + 64], {to}{how})
"""
            args = {"x": x, "y": np.zeros(256, storage_dtype(_dtype(to)))}
            _agree(text, args, "")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("to", INTEGERS)
@pytest.mark.parametrize("source", INTEGERS)
def test_integers_saturate(source: str, to: str) -> None:
    text = f"""
kernel k(x: {source}[N], y: out {to}[N]):
    for n in parallel(range(0, N, 16)):
        y[n : n + 16] = cast(x[n : n + 16], {to}, saturate=True)
"""
    x = _numbers(source, (64,), 4)
    _agree(text, {"x": x, "y": np.zeros(64, storage_dtype(_dtype(to)))}, to)


def test_quotients_that_round_up_to_a_whole_number() -> None:
    """x / y is just below a whole number and rounds to it: `//` takes the one below."""
    rng = np.random.default_rng(0)
    y = rng.uniform(0.1, 9, 100_000).astype(np.float32)
    x = np.nextafter(y * rng.integers(2, 99, y.shape).astype(np.float32), np.float32(0))
    exact = np.floor(x.astype(np.float64) / y)
    (at,) = np.nonzero(np.floor(x / y) != exact)
    x, y, exact = x[at][:64], y[at][:64], exact[at][:64]
    assert len(at) >= 64
    source = """
kernel k(x: f32[64], y: f32[64], q: out f32[64]):
    q[:] = x[:] // y[:]
"""
    q = np.zeros(64, np.float32)
    call("aie:npu2", source, {"x": x, "y": y, "q": q})
    np.testing.assert_array_equal(q, exact)
