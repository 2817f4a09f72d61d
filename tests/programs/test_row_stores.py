"""Stores of 1 to 7 bits to `packed row` tensors: elements that share bytes with others' elements.

What lies beside the elements that a kernel writes must stay as it was, whoever writes it: the same
turn, another one, or nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dslc
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import storage_dtype

from support.generated.cast_table import named
from support.machines import call

MACHINES = ("cuda:sm_90a", "hip:gfx950", "aarch64:base")
OF_BYTES = ("nki:trn2", "aie:npu2")  # they take such tensors as codes
DTYPES = ("u1", "i2", "u3", "u4", "i4", "f4e2m1", "u5", "i6", "f6e3m2", "u7")

# The name of each, its source for a dtype {d}, and the shapes of its arrays: `q` is written.
PROGRAMS: Mapping[str, tuple[str, Mapping[str, tuple[int, ...]]]] = {
    # Turns begin and end within bytes, the last one is ragged.
    "ragged rows": (
        "kernel k(x: {d}[M, N], q: inout {d}[M, N] packed row):\n"
        "    for m, n in parallel(range(M), range(0, N, 24)):\n"
        "        q[m, n : n + 24] = x[m, n : n + 24]\n",
        {"x": (5, 67), "q": (5, 67)},
    ),
    # Whole words: what is proved to lie in bytes is stored in bytes.
    "whole words": (
        "kernel k(x: {d}[M, N], q: out {d}[M, N] packed row):\n"
        "    require N % 256 == 0\n"
        "    for m in parallel(range(0, M, 2)):\n"
        "        for n in range(0, N, 256):\n"
        "            q[m : m + 2, n : n + 256] = x[m : m + 2, n : n + 256]\n",
        {"x": (4, 512), "q": (4, 512)},
    ),
    # A slice at an odd start, negative at first, and columns that nobody writes.
    "odd slices": (
        "kernel k(x: {d}[M, 48], q: inout {d}[M, N] packed row):\n"
        "    for m in parallel(range(0, M, 4)):\n"
        "        q[m : m + 4, 5:38] = x[m : m + 4, 0:33]\n"
        "        q[m : m + 4, -3:4] = x[m : m + 4, 40:47]\n",
        {"x": (6, 48), "q": (6, 43)},
    ),
    # Every third element; a column; one element.
    "strides": (
        "kernel k(x: {d}[M, 48], q: inout {d}[M, N] packed row):\n"
        "    for m in parallel(range(0, M, 8)):\n"
        "        q[m : m + 8, 0:30:3] = x[m : m + 8, 0:10]\n"
        "        q[m : m + 8, 31] = x[m : m + 8, 11]\n"
        "        q[m, 32] = x[m, 12]\n",
        {"x": (11, 48), "q": (11, 33)},
    ),
    # The transpose: each thread's elements are a row apart.
    "transposed": (
        "kernel k(x: {d}[M, N], q: out {d}[N, M] packed row):\n"
        "    for m, n in parallel(range(0, M, 16), range(0, N, 16)):\n"
        "        q[n : n + 16, m : m + 16] = transpose(x[m : m + 16, n : n + 16])\n",
        {"x": (19, 37), "q": (37, 19)},
    ),
    # A tensor of rank 1, written one element a turn.
    "single elements": (
        "kernel k(x: {d}[N], q: inout {d}[N] packed row):\n"
        "    for n in parallel(range(N - 2)):\n"
        "        q[n + 1] = x[n]\n",
        {"x": (39,), "q": (39,)},
    ),
    # Rows at places that the machine knows; some of them nowhere.
    "scattered": (
        "kernel k(x: {d}[M, N], i: i32[M], q: inout {d}[M, N] packed row):\n"
        "    for n in parallel(range(0, N, 8)):\n"
        "        scatter(q[:, n : n + 8], i[0:16], x[0:16, n : n + 8], 0)\n",
        {"x": (16, 21), "i": (16,), "q": (16, 21)},
    ),
    # Read, changed and written back.
    "in place": (
        "kernel k(x: {d}[M, N], q: inout {d}[M, N] packed row):\n"
        "    for m, n in parallel(range(M), range(0, N, 32)):\n"
        "        old = q[m, n : n + 32]\n"
        "        q[m, n : n + 32] = where(cast(x[m, n : n + 32], f32) > 0.0, x[m, n : n + 32], old)\n",
        {"x": (3, 77), "q": (3, 77)},
    ),
}


def drawn(name: str, shape: tuple[int, ...], seed: int) -> np.ndarray[Any, Any]:
    """Codes of a dtype."""
    dtype = named(name)
    rng = np.random.default_rng(seed)
    if dtype.is_integer:
        low, high = dtype.integer_range
        return rng.integers(low, high + 1, shape).astype(storage_dtype(dtype))
    return rng.integers(0, 1 << dtype.bits, shape, np.uint8).view(storage_dtype(dtype))


def check(target: str, program: str, dtype: str) -> None:
    """The machine's result is the interpreter's, bit by bit."""
    text, shapes = PROGRAMS[program]
    args = {n: drawn(dtype, s, k) for k, (n, s) in enumerate(shapes.items()) if n != "i"}
    if "i" in shapes:
        places = np.random.default_rng(5).permutation(20) - 2
        args["i"] = places[: shapes["i"][0]].astype(np.int32)
    wanted, given = ({**args, "q": args["q"].copy()} for _ in range(2))
    call("interp", text.format(d=dtype), wanted)
    call(target, text.format(d=dtype), given)
    np.testing.assert_array_equal(given["q"].view(np.uint8), wanted["q"].view(np.uint8))


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("target", [*MACHINES, *OF_BYTES])
def test_stores_of_nibbles(target: str, program: str) -> None:
    check(target, program, "u4")


@pytest.mark.parametrize("dtype", ["u1", "i3", "f6e3m2"])
@pytest.mark.parametrize("target", MACHINES)
def test_stores_of_other_widths(target: str, dtype: str) -> None:
    check(target, "ragged rows", dtype)


@pytest.mark.deep
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("target", MACHINES)
def test_stores_of_every_width(target: str, program: str, dtype: str) -> None:
    check(target, program, dtype)


@pytest.mark.parametrize("dtype", ["u4", "i3"])
@pytest.mark.parametrize("target", MACHINES)
def test_elements_that_share_bytes_are_not_added_to(target: str, dtype: str) -> None:
    text = (
        f"kernel k(x: {dtype}[N], q: inout {dtype}[N]):\n"
        "    for n in parallel(range(0, N, 64)):\n        q[n : n + 64] += x[n : n + 64]\n"
    )
    with pytest.raises(DiagnosticError) as failure:
        dslc.compile(text, target=target, cache=False).k.specialize()
    (found,) = failure.value.diagnostics
    assert found.code == "DSL0590"
    assert found.loc is not None
    assert found.hint
