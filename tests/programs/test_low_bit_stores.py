"""Codes that kernels write: one a byte in an array of the tensor's shape, or packed rows of bytes."""

from __future__ import annotations

import dslc
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import parse_dtype

from support.machines import MACHINES, call
from support.oracle.arguments import packed

_DTYPES = ("u4", "i3", "u6", "u1", "f4e2m1", "f6e3m2")
_SHAPES = ((5, 96), (5, 95), (3, 7))


def _source(dtype: str, m: int, n: int) -> str:
    return f"""
kernel quantize(x: i8[{m}, {n}], q: inout {dtype}[{m}, {n}] packed row):
    for m in parallel(range(0, {m}, 2)):
        q[m : m + 2, 1:{n}] = cast(x[m : m + 2, 1:{n}], {dtype})
"""


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("target", ["aie:npu2"])
def test_codes_are_written(target: str, dtype: str) -> None:
    found = parse_dtype(dtype)
    assert found is not None
    storage = np.int8 if found.is_integer and found.is_signed else np.uint8
    for m, n in _SHAPES:
        x = np.random.default_rng(n).integers(0, min(4, 2**found.bits), (m, n)).astype(np.int8)
        source = _source(dtype, m, n)
        results = []
        for machine in ("interp", target):
            codes = np.ones((m, n), storage)
            call(machine, source, {"x": x, "q": codes})
            rows = np.full(-(-m * n * found.bits // 8), 0x35, np.uint8)
            call(machine, source, {"x": x, "q": rows})
            results.append((codes, rows))
        for own, wanted in zip(*results, strict=True):
            np.testing.assert_array_equal(own, wanted)


def test_rows_of_another_size_are_refused() -> None:
    kernel = dslc.compile(_source("u4", 5, 96), target="aie:npu2", cache=False)["quantize"]
    x = np.zeros((5, 96), np.int8)
    with pytest.raises(DiagnosticError, match="DSL0795"):
        kernel(x=x, q=np.zeros(239, np.uint8))


@pytest.mark.parametrize("columns", [1, 2, 3, 6])
@pytest.mark.parametrize("role", ["out", "inout"])
def test_columns_of_codes_that_are_no_whole_words(role: str, columns: int) -> None:
    source = f"""
kernel k(w: u4[N], y: {role} u4[M, {columns}], z: {role} u4[{columns}]):
    for m in parallel(range(0, M, 2)):
        y[m : m + 2, :] = broadcast(w[m : m + {columns}][None, :], [2, {columns}])
        if m == 2:
            z[:] = w[m : m + {columns}]
"""
    w = np.arange(16, dtype=np.uint8)
    results = []
    for target in ("interp", "aie:npu2"):
        y, z = np.zeros((8, columns), np.uint8), np.zeros(columns, np.uint8)
        call(target, source, {"w": w, "y": y, "z": z})
        results.append((y, z))
    for own, wanted in zip(*results, strict=True):
        np.testing.assert_array_equal(own, wanted)


OTHER = """
kernel beyond(x: {d}[2, 9, 16]{row}, y: out i32[2, 8, 16]):
    y[:, :, :] = cast(load(x[0:2, 0:24:3, :], other={other}), i32)
"""


@pytest.mark.parametrize("row", ["", " packed row"])
@pytest.mark.parametrize(("dtype", "other"), [("i4", -3), ("u3", 5), ("u1", 1), ("i7", -64)])
@pytest.mark.parametrize("target", ["interp", *MACHINES])
@pytest.mark.sampled(5)
def test_what_is_out_of_bounds_reads_the_other(
    target: str, dtype: str, other: int, row: str
) -> None:
    bits = int(dtype[1:])
    low = -(1 << bits - 1) if dtype[0] == "i" else 0
    codes = np.random.default_rng(1).integers(low, low + (1 << bits), (2, 9, 16))
    wanted = np.full((2, 8, 16), other, np.int32)
    wanted[:, :3] = codes[:, ::3]
    held = codes.astype(np.int8 if low else np.uint8)
    x = packed((codes % (1 << bits)).astype(np.uint64), bits) if row else held
    y = np.zeros_like(wanted)
    call(target, OTHER.format(d=dtype, row=row, other=other), {"x": x, "y": y})
    np.testing.assert_array_equal(y, wanted)
