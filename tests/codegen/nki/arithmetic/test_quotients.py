"""Quotients on a machine that has reciprocals: how exact they are, and at the ends of the range."""

from __future__ import annotations

import numpy as np
import pytest

from support.nki.trainium import both, source

SHAPE, AT = "[16, 64]", "[0 : +16!, 0 : +64!]"


def kernel(dtype: str, lines: str, columns: int = 64) -> str:
    params = f"@x: in {dtype}{SHAPE}, @y: in {dtype}[16, {columns}], @z: out {dtype}{SHAPE}"
    loads = (
        f"  %x = load @x{AT} : {dtype}{SHAPE}\n"
        f"  %y = load @y[0 : +16!, 0 : +{columns}!] : {dtype}[16, {columns}]\n"
    )
    return f"kernel k[]({params}) {{\n{loads}{lines}  store @z{AT}, %z\n}}\n"


def run(text: str, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    wanted, got = both(text, {"x": x, "y": y, "z": np.zeros_like(x)})
    return wanted["z"], got["z"]


def test_two_tiles_within_two_units_in_the_last_place() -> None:
    rng = np.random.default_rng(1)
    x = (rng.standard_normal((16, 64)) * np.exp2(rng.integers(-60, 60, (16, 64)))).astype(
        np.float32
    )
    y = (rng.standard_normal((16, 64)) * np.exp2(rng.integers(-60, 60, (16, 64)))).astype(
        np.float32
    )
    x[0, :8] = [0, -0.0, 1, np.inf, -np.inf, np.nan, 1, -1]
    y[0, :8] = [0, 1, 0, 2, np.inf, 1, -0.0, np.inf]
    wanted, got = run(kernel("f32", f"  %z = div %x, %y : f32{SHAPE}\n"), x, y)
    np.testing.assert_array_max_ulp(got[1:], wanted[1:], 2)
    np.testing.assert_array_equal(got[0, :8], wanted[0, :8])


@pytest.mark.parametrize("by", [4.0, 0.125, 2048.0, 2.0**-100, 3.0, 1e37, 0.0, float("inf")])
def test_a_constant(by: float) -> None:
    x = np.random.default_rng(2).standard_normal((16, 64)).astype(np.float32)
    lines = f"  %n = full f32({by!r}) : f32{SHAPE}\n  %z = div %x, %n : f32{SHAPE}\n"
    wanted, got = run(kernel("f32", lines), x, x)
    np.testing.assert_array_max_ulp(got, wanted, 0 if np.log2(by or 3) % 1 == 0 else 2)


def test_a_column_is_inverted_once() -> None:
    rng = np.random.default_rng(3)
    x, y = (rng.uniform(1, 9, s).astype(np.float32) for s in ((16, 64), (16, 1)))
    lines = f"  %b = broadcast %y : f32{SHAPE}\n  %z = div %x, %b : f32{SHAPE}\n"
    text = kernel("f32", lines, columns=1)
    wanted, got = run(text, x, y)
    np.testing.assert_array_max_ulp(got, wanted, 2)
    assert "nl.ndarray((16, 1), dtype=nl.float32" in source(text)[0]
    assert source(text)[0].count("nisa.reciprocal") == 1


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_halves_are_rounded_once(dtype: str) -> None:
    import ml_dtypes

    kind = np.float16 if dtype == "f16" else ml_dtypes.bfloat16
    rng = np.random.default_rng(4)
    x, y = (rng.uniform(0.5, 9, (16, 64)).astype(kind) for _ in "xy")
    wanted, got = run(kernel(dtype, f"  %z = div %x, %y : {dtype}{SHAPE}\n"), x, y)
    np.testing.assert_array_equal(got.view(np.uint16), wanted.view(np.uint16))


@pytest.mark.parametrize("dtype", ["i16", "i32", "u32"])
def test_integers_stay_exact(dtype: str) -> None:
    kind = np.dtype({"i": "int", "u": "uint"}[dtype[0]] + dtype[1:])
    info = np.iinfo(kind)
    rng = np.random.default_rng(5)
    ends = np.array([info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, 10], np.int64)
    few = np.concatenate([ends, [info.max // 2, info.max // 3, -1 if info.min else 5, 1000]])
    x = np.resize(np.repeat(few, len(few)), (16, 64))
    y = np.resize(np.tile(few, len(few)), (16, 64))
    x[8:], y[8:] = rng.integers(info.min, info.max, (2, 8, 64), endpoint=True)
    y[8:] = np.where(rng.integers(0, 2, (8, 64)) > 0, y[8:], y[8:] % 1000)
    for op in ("floordiv", "mod"):
        text = kernel(dtype, f"  %z = {op} %x, %y : {dtype}{SHAPE}\n")
        wanted, got = run(text, x.astype(kind), y.astype(kind))
        np.testing.assert_array_equal(got, wanted, err_msg=op)


def test_what_is_emitted_is_documented() -> None:
    lines = f"  %a = div %x, %y : f32{SHAPE}\n  %b = rsqrt %a : f32{SHAPE}\n"
    lines += f"  %z = pow %b, %y : f32{SHAPE}\n"
    text, _ = source(kernel("f32", lines))
    assert "nl.divide" not in text
    assert text.count("op=nl.power, engine=nisa.engine.gpsimd") == text.count("nl.power") == 2
