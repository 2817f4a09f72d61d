"""Every form of the language means what Python and NumPy mean by it.

A body is compiled and run on the interpreter, and executed by Python with NumPy's functions under the
names of the language: one text, two meanings, which have to agree.
"""

from __future__ import annotations

from typing import Any

import dslc
import numpy as np
import pytest

HEAD = """
kernel k(x: f32[8, 6], h: i32[8, 6], w: f32[6, 8], v: f32[8], n: i32, y: out {dtype}{shape}):
    for p in parallel(range(0, 1)):
        t = x[:, :]
        i = h[:, :]
        q = w[:, :]
{body}
        y[{all}] = r
"""
# Integers divide with remainders of both signs; floats are whole, so that sums are exact.
GIVEN = {
    "x": (np.arange(48, dtype=np.float32).reshape(8, 6) * 7 % 23) - 9,
    "h": ((np.arange(48).reshape(8, 6) * 5 % 31) - 15).astype(np.int32),
    "w": (np.arange(48, dtype=np.float32).reshape(6, 8) * 3 % 11) - 4,
    "v": np.arange(8, dtype=np.float32) * 3 - 5,
    "n": 3,
}
SUBSCRIPTS = [
    "r = t[-2]", "r = t[3]", "r = t[:, -1]", "r = t[-3, :]", "r = t[2:5]", "r = t[1:8:3]",
    "r = t[::2, 1:]", "r = t[:, :-2]", "r = t[-5:-1, ::3]", "r = t[None]", "r = t[:, None]",
    "r = t[..., 2]", "r = t[..., None]", "r = t[None, 4, :, None]", "r = t[1:3, 2][:, None] + t[5]",
    "r = x[n, 0:6]", "r = x[n - 1 : n + 3, 1:5]", "r = x[0:8:3, n]", "r = x[1:7:2, 0:5:2]",
    "r = x[3] + x[..., 5][None, 0:6]", "r = x[:, None, 2]", "r = v[n] + t", "r = t + v[:, None]",
    "r = (t * 2)[0:4]",
]  # fmt: skip
OPERATORS = [
    "r = t + 2", "r = 2 - t", "r = t * t", "r = t / 4", "r = -t", "r = +t", "r = t // 4", "r = t % 5",
    "r = i // 4", "r = i % 5", "r = i // -4", "r = i % -5", "r = t ** 2", "r = i & 6", "r = i | 6",
    "r = i ^ 6", "r = ~i", "r = i << 2", "r = i >> 1", "r = t == 5", "r = t != 5", "r = t < 3",
    "r = i <= 3", "r = t > t[0]", "r = i >= n", "r = (t > 0) & (i > 0)", "r = (t > 0) | (i > 0)",
    "r = (t > 0) ^ (i > 0)", "r = ~(t > 0)",
    "r = t + (1 if 2 < n < 4 else 0)", "r = t + (1 if n > 2 and n < 3 else 0)",
    "r = t + (1 if n > 5 or n == 3 else 0)", "r = t + (1 if not n == 3 else 2)",
    "r = i + n // 2 + n % 2 + n ** 2", "r = i + (-n) // 2", "r = i + (n << 2) + (n >> 1)",
]  # fmt: skip
FUNCTIONS = [
    "r = sum(t, 0)", "r = sum(t, 1)", "r = sum(t, -1, keepdims=True)", "r = t + sum(t)",
    "r = max(t, 0)", "r = min(t, 1, keepdims=True)", "r = t + max(t) - min(t)", "r = argmax(t, 1)",
    "r = argmin(t, 0)", "r = argmax(t, -1, keepdims=True)", "r = any(t > 12, 1)", "r = all(t > -9, 0)",
    "r = cumsum(t, 0)", "r = cumsum(t, -1)", "r = transpose(t)", "r = transpose(t, [1, 0])",
    "r = transpose(t[None], [2, 0, 1])", "r = reshape(t, [6, 8])", "r = reshape(t, [2, -1, 3])",
    "r = broadcast(t[:, 0:1], [8, 6])",
    "r = repeat(t, 3, 1)", "r = repeat(t, 2, 0)", "r = concat([t, t + 1], 0)", "r = concat([t, t], 1)",
    "r = where(t > 0, t, 0.0)", "r = where(i > 0, i, -i)", "r = minimum(t, 3)", "r = maximum(t, t[0])",
    "r = clamp(t, -2, 4)", "r = abs(t)", "r = abs(i)", "r = floor(t / 4)", "r = ceil(t / 4)",
    "r = round(t / 4)", "r = cast(t / 4, i32)", "r = cast(i, f32) / 2", "r = cast(i, i8)",
    "r = i + cdiv(n, 2)", "r = i + cdiv(n, -2)", "r = i + cdiv(n - 9, 4)", "r = i + cdiv(9, n - 5)",
    "r = t + dim(x, 0) * dim(t, 1)", "r = i + max(n, 5) + min(n, 2)",
    "r = zeros(f32, [3, 4])", "r = full(i32, [5], 7)", "r = arange(9)", "r = fma(t, t, t)",
    "r = dot(t, q)", 'r = dot(t, t, transposed="b")', 'r = dot(t, t, transposed="a")',
    'r = dot(t, q, transposed="ab")', 'r = dot(q, t, transposed="ab")',
    'r = dot(t[0:4, 0:5], q[:, 0:4], transposed="ab")', "r = dot(t[None], q[None, :, 0:3])",
    "r = gather(x[:, 1:5], arange(4) * 2, 0)", "r = select(n > 2, 4, 5) + t",
]  # fmt: skip
STATEMENTS = [
    "r = t * 1\nr += 2\nr *= t\nr -= 1",
    "a, b = t, t + 1\na, b = b, a\nr = a * 2 + b",
    "r = zeros(f32, [6])\nfor k in range(8):\n    r = r * 2 + x[k, 0:6]",
    "r = zeros(f32, [6])\nfor k in range(2, 8, 3):\n    r = r * 2 + x[k, 0:6]",
    "r = zeros(f32, [6])\nfor k in range(7, -1, -1):\n    r = r * 2 + x[k, 0:6]",
    "r = zeros(f32, [6])\nfor k in range(7, 0, -3):\n    r = r * 2 + x[k, 0:6]",
    "r = zeros(f32, [6])\nfor k in range(6, 0, -3):\n    r = r * 2 + x[k, 0:6] + k",
    "r = zeros(f32, [6])\nfor k in range(n + 4, n - 1, -2):\n    r = r * 2 + x[k, 0:6] + k",
    "r = zeros(f32, [6])\nfor k in range(n, n - 5, -1):\n    r = r * 2 + k",
    "r = zeros(f32, [6])\nfor k in range(5, 5, -1):\n    r = r + 1",
    "r = zeros(f32, [6])\nfor k in range(n):\n    for j in range(k, 8, 2):\n        r += x[j, 0:6]",
    "r = i\nfor k in range(n):\n    r = r + cdiv(k, 1 - n) + cdiv(k - 5, 2) * 7 + cdiv(k + 4, -3)",
    "r = t\nif n > 2:\n    r = r + 1\nelse:\n    r = r - 1",
    "r = t\nif n > 3:\n    r = r + 1\nelif n == 3:\n    r = r * 2\nelse:\n    r = r - 1",
    "r = i\nc = n\nwhile c > 0:\n    r = r + c\n    c = c - 1",
    "r = t\nfor k in range(0, 4):\n    if k % 2 == 0:\n        r = r + k\n    else:\n        r = r * 2",
]


def _dot(a: Any, b: Any, transposed: str = "") -> Any:
    a = np.swapaxes(a, -1, -2) if "a" in transposed else a
    return a @ (np.swapaxes(b, -1, -2) if "b" in transposed else b)


def _extreme(reduce: Any, first: Any) -> Any:
    def of(x: Any, *rest: Any, **options: Any) -> Any:
        return reduce(x, *rest, **options) if np.ndim(x) else first(x, *rest)

    return of


NUMPY: dict[str, Any] = {
    "sum": np.sum, "max": _extreme(np.max, max), "min": _extreme(np.min, min), "argmax": np.argmax,
    "argmin": np.argmin, "any": np.any, "all": np.all, "cumsum": np.cumsum, "reshape": np.reshape,
    "transpose": lambda x, axes=None: np.swapaxes(x, -1, -2) if axes is None else np.transpose(x, axes),
    "broadcast": np.broadcast_to, "repeat": np.repeat, "concat": np.concatenate, "where": np.where,
    "minimum": np.minimum, "maximum": np.maximum, "clamp": np.clip, "abs": np.abs, "floor": np.floor,
    "ceil": np.ceil, "round": np.round, "cast": lambda x, to: x.astype(to), "dot": _dot,
    "cdiv": lambda a, b: -(-a // b), "dim": lambda x, axis: x.shape[axis],
    "zeros": lambda to, shape: np.zeros(shape, to), "full": lambda to, shape, v: np.full(shape, v, to),
    "arange": lambda n: np.arange(n, dtype=np.int32), "fma": lambda a, b, c: a * b + c,
    "gather": np.take, "select": lambda c, a, b: a if c else b,
    "f32": np.float32, "i32": np.int32, "i8": np.int8,
}  # fmt: skip
NAMES = {
    "float32": "f32",
    "float64": "f32",
    "int32": "i32",
    "int64": "i32",
    "int8": "i8",
    "bool": "bool",
}


@pytest.mark.parametrize("body", [*SUBSCRIPTS, *OPERATORS, *FUNCTIONS, *STATEMENTS])
def test_it_means_what_numpy_means(body: str) -> None:
    scope = {**GIVEN, "t": GIVEN["x"], "i": GIVEN["h"], "q": GIVEN["w"]}
    exec(body, {**NUMPY}, scope)
    wanted = np.asarray(scope["r"])
    source = HEAD.format(
        dtype=NAMES[wanted.dtype.name],
        shape=list(wanted.shape),
        all=", ".join(":" * wanted.ndim),
        body="".join(f"        {line}\n" for line in body.split("\n")),
    )
    found = np.zeros(wanted.shape, {"f32": np.float32}.get(NAMES[wanted.dtype.name], wanted.dtype))
    if found.dtype == np.int64:
        found = found.astype(np.int32)
    dslc.compile(source, "interp", cache=False).k(**GIVEN, y=found)
    np.testing.assert_array_equal(found, wanted)
