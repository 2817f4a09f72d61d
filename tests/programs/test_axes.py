"""Scans, reductions by a function, products and sorts: what they mean, on every machine."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from support.machines import MACHINES, call

FUNCTIONS = """
def add(a, b):
    return a + b


def best(a, b):
    take = b[0] > a[0]
    return [where(take, b[0], a[0]), where(take, b[1], a[1])]


def after(a, b):
    g, u = a
    k, v = b
    return [g * k, u * k + v]


def first(a, b):
    return where(a == 0, b, a)
"""
NAN, INF = np.nan, np.inf
RNG = np.random.default_rng(8)


def kernel(params: str, body: str) -> str:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return f"{FUNCTIONS}\nkernel k({params}):\n    for m in parallel(range(0, M, 4)):\n{lines}\n"


def result(
    target: str, source: str, x: NDArray[np.generic], shape: tuple[int, ...], dtype: object
) -> NDArray[np.generic]:
    y = np.zeros(shape, dtype)  # type: ignore[call-overload]
    call(target, source, {"x": x, "y": y})
    return y


def along(n: int, dtype: str, made: str, out: str, outs: str = "m : m + 4, :") -> str:
    """A kernel that writes what is made of rows t of n elements."""
    return kernel(f"x: {dtype}[M, {n}], y: out {out}", f"t = x[m : m + 4, :]\ny[{outs}] = {made}")


def rows(n: int, m: int = 5) -> NDArray[np.float32]:
    return (RNG.standard_normal((m, n)) * 2).astype(np.float32)


def affine(x: NDArray[np.float32]) -> NDArray[np.float64]:
    h, out = np.zeros(len(x)), np.zeros(x.shape)
    for i in range(x.shape[1]):
        h = h * x[:, i] + x[:, i]
        out[:, i] = h
    return out


SCANS = {
    "sums": ("scan(add, t, 1)", lambda x: np.cumsum(x, 1)),
    "sums from behind": (
        "scan(add, t, 1, reverse=True)",
        lambda x: np.cumsum(x[:, ::-1], 1)[:, ::-1],
    ),
    "recurrence": ("scan(after, [t, t], 1)[1]", affine),
    "cumprod": ("cumprod(t, 1)", lambda x: np.cumprod(x, 1)),
    "cummax": ("cummax(t, -1)", lambda x: np.maximum.accumulate(x, 1)),
    "cummin": ("cummin(t, 1)", lambda x: np.minimum.accumulate(x, 1)),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("n", [1, 7, 32])
@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("target", ["interp", *MACHINES])
def test_scans(target: str, name: str, n: int) -> None:
    made, meant = SCANS[name]
    x = rows(n)
    y = result(target, along(n, "f32", made, f"f32[M, {n}]"), x, x.shape, np.float32)
    np.testing.assert_allclose(y, meant(x.astype(np.float64)), rtol=1e-4, atol=1e-4)


REDUCTIONS = {
    "sum": ("reduce(add, t, 1)", lambda x: x.sum(1), np.float32),
    "place": (
        "reduce(best, [t, broadcast(arange({n}), [4, {n}])], 1)[1]",
        lambda x: x.argmax(1),
        np.int32,
    ),
    "recurrence": ("reduce(after, [t, t], 1)[1]", lambda x: affine(x)[:, -1], np.float32),
    "builtin": ("reduce(maximum, t, 1)", lambda x: x.max(1), np.float32),
    "product": ("prod(t, 1)", lambda x: x.prod(1), np.float32),
    # Its order matters, and it does not commute.
    "first": (
        "reduce(first, where(t > 0, t, 0), 1)",
        lambda x: np.array([(*r[r > 0], 0)[0] for r in x]),
        np.float32,
    ),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("n", [1, 13, 16])
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("target", ["interp", *MACHINES])
def test_reductions(target: str, name: str, n: int) -> None:
    made, meant, dtype = REDUCTIONS[name]
    x = rows(n)
    out = "i32[M]" if dtype is np.int32 else "f32[M]"
    y = result(target, along(n, "f32", made.format(n=n), out, "m : m + 4"), x, (5,), dtype)
    np.testing.assert_allclose(y, meant(x.astype(np.float64)), rtol=1e-4, atol=1e-4)


def awkward(n: int, dtype: str) -> NDArray[np.generic]:
    """Rows with equal elements, NaN and infinities, or with the ends of an integer type."""
    x = RNG.integers(-3, 4, (5, n))
    if dtype.startswith("f"):
        floats = x.astype(np.float16 if dtype == "f16" else np.float32)
        floats[1, n // 2] = NAN
        floats[2, [0, n - 1]] = NAN
        floats[3, 0], floats[3, n - 1] = -INF, INF
        floats[4] = NAN
        return floats
    x[1, 0], x[2, n - 1] = np.iinfo(dtype_of(dtype)).min, np.iinfo(dtype_of(dtype)).max
    return x.astype(dtype_of(dtype))


def dtype_of(name: str) -> type[np.generic]:
    return {"f16": np.float16, "f32": np.float32, "i32": np.int32, "i8": np.int8}[name]  # type: ignore[return-value]


def places(x: NDArray[np.generic], descending: bool) -> NDArray[np.int64]:
    """A stable sort's places, NaN above all."""
    if not descending:
        return np.argsort(x, 1, kind="stable")
    # The order of the mirrored row, mirrored: equal elements as they stand.
    n = x.shape[1]
    return n - 1 - np.argsort(x[:, ::-1], 1, kind="stable")[:, ::-1]


SORTS = {
    "sort": ("sort(t, 1)", lambda x: np.sort(x, 1)),
    "descending": ("sort(t, 1, descending=True)", lambda x: np.sort(x, 1)[:, ::-1]),
    "argsort": ("argsort(t, 1)", lambda x: places(x, False)),
    "argsort descending": ("argsort(t, 1, descending=True)", lambda x: places(x, True)),
    "topk": ("topk(t, 3, 1)[0]", lambda x: np.take_along_axis(x, places(x, True)[:, :3], 1)),
    "topk places": ("topk(t, 3, 1)[1]", lambda x: places(x, True)[:, :3]),
    "sorted by": ("sort([t, broadcast(arange({n}), [4, {n}]) + m], 1)[1]", None),
}


@pytest.mark.sampled(14)
@pytest.mark.parametrize("n", [3, 8, 21])
@pytest.mark.parametrize("dtype", ["f32", "f16", "i32", "i8"])
@pytest.mark.parametrize("name", SORTS)
@pytest.mark.parametrize("target", ["interp", *MACHINES])
def test_sorts(target: str, name: str, dtype: str, n: int) -> None:
    if target.startswith("aie") and n > 8:
        pytest.skip("its program memory has no room for so many steps")
    made, meant = SORTS[name]
    x = awkward(n, dtype)
    # `m` is the first row of a turn's four.
    wanted = np.add(places(x, False), [[0], [0], [0], [0], [4]]) if meant is None else meant(x)
    is_place = wanted.dtype == np.int64
    out = f"{'i32' if is_place else dtype}[M, {wanted.shape[1]}]"
    kind = np.int32 if is_place else dtype_of(dtype)
    y = result(target, along(n, dtype, made.format(n=n), out), x, wanted.shape, kind)
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("target", ["interp", *MACHINES])
def test_other_axes(target: str) -> None:
    source = kernel(
        "x: f32[M, 6, 3], y: out f32[M, 6, 3]",
        "t = x[m : m + 4, :, :]\ny[m : m + 4, :, :] = sort(t, 1) + scan(add, t, -2)",
    )
    x = RNG.standard_normal((5, 6, 3)).astype(np.float32)
    y = result(target, source, x, x.shape, np.float32)
    np.testing.assert_allclose(y, np.sort(x, 1) + np.cumsum(x, 1), rtol=1e-4, atol=1e-4)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("n", [2, 5, 16, 40, 100])
@pytest.mark.parametrize("k", [1, 2, 7])
def test_topk_of_every_length(n: int, k: int) -> None:
    k = min(k, n)
    x = awkward(n, "f32")
    y = result(
        "interp", along(n, "f32", f"topk(t, {k}, 1)[1]", f"i32[M, {k}]"), x, (5, k), np.int32
    )
    np.testing.assert_array_equal(y, places(x, True)[:, :k])
