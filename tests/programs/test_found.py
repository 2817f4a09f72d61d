"""Programs that long random runs found wrong or refused once, made small; each against the interpreter.

Seeds would not keep them: they change their meaning with the generator.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from support.machines import call

KINDS = {"bf16": ml_dtypes.bfloat16, "f32": np.float32, "i32": np.int32, "u64": np.uint64}
KINDS |= {"i7": np.int8, "u8": np.uint8, "i8": np.int8, "i16": np.int16}
# By what they are about: a machine, the program, and its tensors in order.
FOUND = {
    "all of a box lies past its tensor": (
        "aie:npu2",
        """
kernel k(x: bf16[9, 2, 8], y: out f32[1, M, N]):
    for n in parallel(range(0, N, 1)):
        y[:, 0 : 7, n : n + 1] = cast(load(x[0 : 1, 2 : 9, n : n + 1], other=(-2.0)), f32)
""",
        {"x": ("bf16", (9, 2, 8)), "y": ("f32", (1, 7, 31))},
    ),
    "parts of two streams would have one name": (
        "aie:npu2",
        """
kernel k(x: bf16[M, 2, 3], y: out bf16[M, N]):
    for m, n in parallel(range(0, M, 8), range(0, N, 4)):
        a = x[4 * m : 4 * m + 1, n : n + 8, 0 : 4]
        y[m : m + 8, n : n + 4] = min(minimum(a, x[0 : 1, 0 : 8, m : m + 4]), 0)
""",
        {"x": ("bf16", (31, 2, 3)), "y": ("bf16", (31, 5))},
    ),
    "a column of a stream is called what the next stream is": (
        "aie:npu2",
        """
kernel k(x: i32[M, M, M], y: out i32[M]):
    for m in parallel(range(0, M, 8)):
        y[m : m + 8] = sum(x[0, 0 : 1, m : m + 8], -2) * repeat(x[0, 0 : 4, 0], 2, 0)
""",
        {"x": ("i32", (24, 24, 24)), "y": ("i32", (24,))},
    ),
    "a tile of a core is called what a column of a stream is": (
        "aie:npu2",
        """
kernel k(x: i16[M], y: inout i16[M]):
    for m in parallel(range(0, M, 2)):
        a = y[m : m + 2]
        for i in range(3, 0, -1):
            a ^= a + 1
        y[m : m + 2] = a - maximum(x[0 : 2], x[m : m + 6 : 3])
""",
        {"x": ("i16", (9,)), "y": ("i16", (9,))},
    ),
    "a carried tile ends within a word": (
        "aie:npu2",
        """
kernel k(y: out bf16[M]):
    for m in parallel(range(0, M, 3)):
        a = full(u8, [3], 1)
        b = full(i16, [3], 1)
        for i in range(2):
            a += cast(cast(b, f6e5m0), u8)
            b = cast(a, i16)
        y[0 : 3] = cast(a, bf16)
""",
        {"y": ("bf16", (2,))},
    ),
    "every turn reads one place and writes its own": (
        "nki:trn2",
        """
kernel k(x: f32[4, M], y: out f32[4, N]):
    for n in parallel(range(0, N, 4)):
        a = x[0 : 4, 0 : 4]
        y[:, n : n + 4] = a
""",
        {"x": ("f32", (4, 16)), "y": ("f32", (4, 16))},
    ),
    "every turn writes the most of one column": (
        "nki:trn2",
        """
kernel k(x: i8[1, 7], y: out i8[M, 1]):
    for m in parallel(range(0, M, 1)):
        y[m : m + 1, 0 : 1] = max(transpose(x[0 : 1, :]), 0, keepdims=True)
""",
        {"x": ("i8", (1, 7)), "y": ("i8", (13, 1))},
    ),
    "a number of each turn is spread and summed": (
        "nki:trn2",
        """
kernel k(x: f32[M], y: out f32[M]):
    for m in parallel(range(0, M, 1)):
        y[m : m + 1] = broadcast(sum(broadcast(x[m : m + 1], [4]), 0), [1])
""",
        {"x": ("f32", (13,)), "y": ("f32", (13,))},
    ),
    "a part of a concatenation is rounded to tf32": (
        "nki:trn2",
        """
kernel k(x: i8[5, 2], y: out i32[5, 3]):
    v = concat([cast(x[:, :], tf32), full(tf32, [5, 1], 1.0)], 1)
    y[:, :] = cast(v, i32)
""",
        {"x": ("i8", (5, 2)), "y": ("i32", (5, 3))},
    ),
    "a loop sums products of 64 bits": (
        "aarch64:i8mm",
        """
kernel k(x: u64[5, 7], w: i32[7, 9], y: out i32[5, 9]):
    total = zeros(i32, [5, 9])
    for k in range(3):
        total += dot(x[:, :], w[:, :])
    y[:, :] = total
""",
        {"x": ("u64", (5, 7)), "w": ("i32", (7, 9)), "y": ("i32", (5, 9))},
    ),
    "a loop hands on weights": (
        "aarch64:i8mm",
        """
kernel k(x: i7[8, 1], n: i32, y: out u8[8, 1]):
    v = x[0 : 8, :]
    for q in range(1, n):
        v = full(i7, [8, 1], 1)
    y[0 : 8, :] = cast(v, u8)
""",
        {"x": ("i7", (8, 1)), "n": ("i32", ()), "y": ("u8", (8, 1))},
    ),
    "what changes nothing is the tile itself": (
        "aie:npu2",
        """
kernel k(y: out bf16[M]):
    v = full(bool, [1], True)
    for q in range(2, -1, -1):
        v = repeat(v, 1, 0)
    y[0 : 1] = cast(v, bf16)
""",
        {"y": ("bf16", (1,))},
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_a_program_that_failed(name: str) -> None:
    target, source, tensors = FOUND[name]
    rng = np.random.default_rng(1)
    drawn: dict[str, Any] = {
        tensor: rng.integers(-9, 10, shape).astype(KINDS[kind])
        for tensor, (kind, shape) in tensors.items()
    }
    results = []
    for machine in ("interp", target):
        args = {tensor: x.copy() for tensor, x in drawn.items()}
        call(machine, source, args)
        results.append(args)
    for tensor in drawn:
        np.testing.assert_array_equal(results[1][tensor], results[0][tensor], err_msg=tensor)
