"""Functions of the language beyond elementwise ones: the interpreter's numbers on two generations."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import dslc
import numpy as np
import pytest
from dslc.compiler.dtypes import parse_dtype, storage_dtype

from support.nki.trainium import both

CASES = {
    "argmax of a middle axis": ("x: f32[4, 8, 16], y: out i32[4, 16]", "argmax(x[:4, :8, :16], 1)"),
    "argmin of the last of three": (
        "x: i8[4, 8, 16], y: out i32[4, 8]",
        "argmin(x[:4, :8, :16], 2)",
    ),
    "argmax across partitions": ("x: f32[200, 16], y: out i32[16]", "argmax(x[:200, :16], 0)"),
    "repeat rows": ("x: f32[8, 16], y: out f32[24, 16]", "repeat(x[:8, :16], 3, 0)"),
    "repeat rows of several chunks": (
        "x: f32[72, 600], y: out f32[144, 600]",
        "repeat(x[:72, :600], 2, 0)",
    ),
    "repeat rows that part within a chunk": (
        "x: f32[72, 600], y: out f32[216, 600]",
        "repeat(x[:72, :600], 3, 0)",
    ),
    "repeat columns": ("x: f32[8, 16], y: out f32[8, 48]", "repeat(x[:8, :16], 3, 1)"),
    "product of i16": (
        "x: i16[16, 300], w: i16[300, 24], y: out i32[16, 24]",
        "dot(x[:16, :300], w[:300, :24])",
    ),
    "product of i32": (
        "x: i32[16, 32], w: i32[32, 24], y: out i32[16, 24]",
        "dot(x[:16, :32], w[:32, :24])",
    ),
    "product of i8 and u16": (
        "x: i8[16, 32], w: u16[32, 24], y: out i32[16, 24]",
        "dot(x[:16, :32], w[:32, :24])",
    ),
    "products of i8": (
        "x: i8[2, 16, 2100], w: u8[2, 2100, 24], y: out i32[2, 16, 24]",
        "dot(x[:2, :16, :2100], w[:2, :2100, :24])",
    ),
    "products of i16": (
        "x: i16[2, 16, 40], w: i16[2, 40, 24], y: out i32[2, 16, 24]",
        "dot(x[:2, :16, :40], w[:2, :40, :24])",
    ),
    "prefix sums of rows": ("x: i8[16, 32], y: out i8[16, 32]", "cumsum(x[:16, :32], 0)"),
    "greatest of u32": ("x: u32[16, 32], y: out u32[16]", "max(x[:16, :32], 1)"),
    "columns by number": (
        "x: f32[16, 32], i: i32[8], y: out f32[16, 8]",
        "gather(x[:16, :], i[:8], 1)",
    ),
    "codes of f8e5m2": ("x: f8e5m2[16, 16], y: out f32[16, 16]", "cast(x[:16, :16], f32)"),
    "codes of f8e4m3": ("x: f8e4m3[16, 16], y: out f32[16, 16]", "cast(x[:16, :16], f32)"),
    "codes of f8e3m4": ("x: f8e3m4[16, 16], y: out bf16[16, 16]", "cast(x[:16, :16], bf16)"),
    "codes of e8m0": ("x: e8m0[16, 16], y: out f32[16, 16]", "cast(x[:16, :16], f32)"),
    "codes of u3, transposed": (
        "x: u3[16, 32], y: out i32[32, 16]",
        "transpose(cast(x[:16, :32], i32))",
    ),
    "rounding to f4e2m1": ("x: f32[16, 32], y: out f4e2m1[16, 32]", "cast(x[:16, :32], f4e2m1)"),
    "cutting to i6": ("x: i32[16, 32], y: out i6[16, 32]", "cast(x[:16, :32], i6)"),
}


def argument(name: str, dtype: str, shape: tuple[int, ...]) -> Any:
    found = parse_dtype(dtype)
    assert found is not None
    random, kind = np.random.default_rng(ord(name)), storage_dtype(found)
    if name == "i":
        return random.permutation(40)[: shape[0]].astype(kind)  # some of them out of range
    if found.is_integer:
        low, high = found.integer_range
        return random.integers(low, high, shape, endpoint=True).astype(kind)
    if found.bits <= 8:  # every code
        return (np.arange(np.prod(shape)) % 256).reshape(shape).astype(np.uint8).view(kind)
    return random.standard_normal(shape).astype(kind)


def results(text: str, params: str, target: str, folder: Path) -> Any:
    path = folder / "case.tile"
    path.write_text(text, encoding="utf-8")
    found = re.findall(r"(\w+): (?:out )?(\w+)\[([\d, ]+)\]", params)
    args = [argument(n, t, tuple(int(s) for s in d.split(","))) for n, t, d in found]
    args[-1] = np.zeros_like(args[-1])
    dslc.compile(path, target=target, cache=False).k(*args)
    out = args[-1]
    return out.view(np.uint8) if out.dtype.itemsize == 1 else out.astype(np.float64)


@pytest.mark.parametrize("target", ["nki:trn1", "nki:trn2"])
@pytest.mark.parametrize("case", CASES)
def test_function(case: str, target: str, tmp_path: Path) -> None:
    params, expression = CASES[case]
    expression = expression.replace("[:", "[0 : ").replace(", :", ", 0 : ").replace(" 0 : ]", " :]")
    shape = re.findall(r"out \w+\[([\d, ]+)\]", params)[0].split(", ")
    out = ", ".join(f"0 : {n}" for n in shape)
    text = f"kernel k({params}):\n    y[{out}] = {expression}\n"
    wanted, got = (results(text, params, t, tmp_path) for t in ("interp", target))
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


@pytest.mark.parametrize("op", ["argmax", "argmin"])
def test_the_place_of_an_integer_that_f32_has_not(op: str, tmp_path: Path) -> None:
    text = f"kernel k(x: i32[8, 16], y: out i32[8]):\n    y[0 : 8] = {op}(x[0 : 8, 0 : 16], 1)\n"
    path = tmp_path / "case.tile"
    path.write_text(text, encoding="utf-8")
    x, y = np.full((8, 16), 1 << 24, np.int32), np.zeros(8, np.int32)
    x[:, 5] += 1 if op == "argmax" else -1
    x[:, 9] = x[:, 5]
    dslc.compile(path, target="nki:trn2", cache=False).k(x, y)
    assert (y == 5).all()


def test_a_slice_that_begins_at_a_choice() -> None:
    text = (
        "kernel k[M, N](@x: in f32[M, N], @y: out f32[M, 1, 8]) {\n"
        "  grid m in range(0, M, 1)\n"
        "  %y = load @x[select(M >= 9, 1, N) : +1, 0 : +8] : f32[1, 8]\n"
        "  store @y[m!, 0 : +1!, 0 : +8!], %y\n}\n"
    )
    x = np.random.default_rng(0).standard_normal((12, 20)).astype(np.float32)
    wanted, got = both(text, {"x": x, "y": np.zeros((12, 1, 8), np.float32)})
    np.testing.assert_array_equal(got["y"], wanted["y"])
