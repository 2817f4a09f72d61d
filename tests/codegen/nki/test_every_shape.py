"""Elementwise operations and reductions of tiles of every kind of shape: the interpreter's numbers.

A kernel has all operations of a type, on tiles that lie as one class of slices does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dslc
import numpy as np
import pytest
from dslc.compiler.dtypes import parse_dtype, storage_dtype

# The tensors' extents, the grid, the slices of what is loaded and stored, and how a tile is turned.
CLASSES = {
    "odd": ((5, 7), "", "0:5, 0:7", "{}"),
    "a row": ((1, 33), "", "0:1, 0:33", "{}"),
    "a column": ((33, 1), "", "0:33, 0:1", "{}"),
    "one": ((1, 1), "", "0:1, 0:1", "{}"),
    "many rows": ((150, 3), "", "0:150, 0:3", "{}"),
    "ragged": ((13, 21), "m, n in parallel(range(0, 13, 8), range(0, 21, 16))",
               "m : m + 8, n : n + 16", "{}"),
    "strided": ((16, 40), "", "1:16:3, 2:37:5", "{}"),
    "strided and ragged": ((13, 21), "m in parallel(range(0, 13, 8))", "m : m + 8 : 2, 1:27:4", "{}"),
    "before the tensor": ((13, 21), "m in parallel(range(0, 26, 8))",
                          "m - 5 : m + 3 : 3, 0:21:3", "{}"),
    "before and turned": ((21, 13), "m in parallel(range(0, 26, 8))",
                          "0:21:3, m - 5 : m + 3 : 3", "transpose({})"),
    "transposed": ((9, 20), "", "0:9, 0:20", "transpose({})"),
    "offset": ((20, 40), "", "3:12, 5:22", "{}"),
}  # fmt: skip
BOTH = ("x + y", "x - y", "x * y", "minimum(x, y)", "maximum(x, y)", "where(x < y, x, y)",
        "where(x >= y, y, x)", "where(x == y, x, y + x)", "-x", "abs(x)")  # fmt: skip
INTEGERS = ("x // y", "x % y", "x & y", "x | y", "x ^ y", "x << (y & 3)", "x >> (y & 3)", "~x",
            "x // 2", "x % 2", "x >> 1")  # fmt: skip
FLOATS = ("x / where(y == 0, 1, y)", "floor(x)", "ceil(x)", "round(x)", "sqrt(abs(x))", "tanh(x)",
          "fma(x, y, x)")  # fmt: skip
REDUCED = ("sum(x, {})", "max(x, {})", "min(x, {})", "cumsum(x, {})")
TYPES = ("i3", "u5", "i8", "u8", "i16", "u16", "i32", "u32", "f16", "bf16", "f32")
SAMPLE = (("i32", "odd"), ("i8", "strided and ragged"), ("u5", "before and turned"),
          ("f32", "transposed"), ("bf16", "ragged"))  # fmt: skip


def held_as(dtype: str) -> str:
    """Parameters of few bits are packed: these come as bytes."""
    return {"i3": "i8", "u5": "u8"}.get(dtype, dtype)


def kernel(dtype: str, shape: str) -> tuple[str, list[str]]:
    """The source, and the names of its results."""
    found = parse_dtype(dtype)
    assert found is not None
    extents, grid, at, turned = CLASSES[shape]
    out = "f32" if found.is_float else "i32"
    sizes = ", ".join(map(str, extents))
    lines = [f"{n} = {turned.format(f'cast({n}_in[{at}], {dtype})')}" for n in ("x", "y")]
    params = [f"{n}_in: {held_as(dtype)}[{sizes}]" for n in ("x", "y")]
    names = []
    back = "{}" if turned == "{}" else "transpose({})"
    for i, text in enumerate((*BOTH, *(FLOATS if found.is_float else INTEGERS))):
        names.append(f"o{i}")
        params.append(f"o{i}: out {out}[{sizes}]")
        lines.append(f"o{i}[{at}] = {back.format(f'cast({text}, {out})')}")
    for axis in (0, 1):
        for i, text in enumerate(REDUCED):
            name = f"r{axis}{i}"
            names.append(name)
            params.append(f"{name}: out {out}[{sizes}]")
            reduced = f"cast({text.format(axis)}, {out})"
            spread = "" if "cumsum" in text else "[None, :]" if axis == 0 else "[:, None]"
            value = f"cast(x, {out}) * 0 + {reduced}{spread}"
            lines.append(f"{name}[{at}] = {back.format(value)}")
    indent = "        " if grid else "    "
    head = f"    for {grid}:\n" if grid else ""
    body = "".join(f"{indent}{line}\n" for line in lines)
    return f"kernel k({', '.join(params)}):\n{head}{body}", names


def numbers(dtype: str, shape: tuple[int, ...], seed: int) -> Any:
    rng = np.random.default_rng(seed)
    found = parse_dtype(dtype)
    assert found is not None
    kind = storage_dtype(found)
    if found.is_float:
        return (rng.standard_normal(shape) * 4).astype(kind)
    low, high = found.integer_range
    return rng.integers(low, high, shape, endpoint=True).astype(kind)


def check(dtype: str, shape: str, target: str, tmp_path: Path) -> None:
    path = tmp_path / "table.tile"
    source, names = kernel(dtype, shape)
    path.write_text(source, encoding="utf-8")
    extents = CLASSES[shape][0]
    given = [numbers(held_as(dtype), extents, seed) for seed in (1, 2)]
    kind = np.float32 if dtype in ("f16", "bf16", "f32") else np.int32
    results = []
    for on in ("interp", target):
        outs = [np.zeros(extents, kind) for _ in names]
        dslc.compile(path, target=on, cache=False).k(*given, *outs)
        results.append(outs)
    rtol = {"f32": 1e-5, "f16": 4e-3, "bf16": 3e-2}.get(dtype, 0)
    for name, wanted, got in zip(names, *results, strict=True):
        line = next(x for x in source.splitlines() if x.strip().startswith(f"{name}["))
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol * 4, err_msg=line)


@pytest.mark.parametrize(("dtype", "shape"), SAMPLE)
def test_some(dtype: str, shape: str, tmp_path: Path) -> None:
    check(dtype, shape, "nki:trn2", tmp_path)


# Slices that begin before their tensor, by steps, in every order of a transfer.
BEFORE = {
    "columns in the partitions": ((21, 13), "a = transpose(x[0:21:3, m - 5 : m + 3 : 3])",
                                  "y[0:21:3, m - 5 : m + 3 : 3] = transpose(a + sum(a, 1)[:, None])"),
    "a vector": ((13,), "a = x[m - 5 : m + 3 : 3]", "y[m - 5 : m + 3 : 3] = a + sum(a, 0)"),
    "an axis in the partitions": ((4, 13, 40), "a = x[0:4, m - 5 : m + 3 : 3, 0:40]",
                                  "y[0:4, m - 5 : m + 3 : 3, 0:40] = a + sum(a, 0)[None, :, :]"),
}  # fmt: skip


@pytest.mark.parametrize("case", BEFORE)
def test_slices_that_begin_before_their_tensor(case: str, tmp_path: Path) -> None:
    extents, load, store = BEFORE[case]
    shape = ", ".join(map(str, extents))
    path = tmp_path / "before.tile"
    head = f"kernel k(x: f32[{shape}], y: out f32[{shape}]):\n    for m in parallel(range(0, 26, 8)):\n"
    path.write_text(f"{head}        {load}\n        {store}\n", encoding="utf-8")
    results = []
    for target in ("interp", "nki:trn2"):
        results.append(np.zeros(extents, np.float32))
        kernel = dslc.compile(path, target=target, cache=False).k
        kernel(numbers("f32", extents, 3), results[-1])
    np.testing.assert_allclose(results[1], results[0], rtol=1e-5, atol=1e-5)


@pytest.mark.deep
@pytest.mark.parametrize("target", ["nki:trn1", "nki:trn2", "nki:trn3"])
@pytest.mark.parametrize("shape", CLASSES)
@pytest.mark.parametrize("dtype", TYPES)
def test_all(dtype: str, shape: str, target: str, tmp_path: Path) -> None:
    check(dtype, shape, target, tmp_path)
