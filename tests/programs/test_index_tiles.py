"""Elements that tiles of integers choose, read, written and updated, on every machine."""

from __future__ import annotations

import numpy as np
import pytest

from support.machines import MACHINES, call

RNG = np.random.default_rng(5)
X = RNG.standard_normal((5, 6, 8)).astype(np.float32)
# One of each is out of range.
IDS = np.array([[4, 0, 2, 5], [1, -1, 3, 0]], np.int32)
COLUMNS = np.array([3, 7, 0, 2], np.int32)


def chosen(values: np.ndarray, *index: np.ndarray) -> np.ndarray:
    """values[index] over the first axes, 0 where one of them is out of range."""
    ids = np.broadcast_arrays(*index)
    inside = np.all([(i >= 0) & (i < n) for i, n in zip(ids, values.shape, strict=False)], axis=0)
    found = values[tuple(np.where(inside, i, 0) for i in ids)]
    return np.where(inside.reshape(inside.shape + (1,) * (found.ndim - inside.ndim)), found, 0)


READ = {
    "x[i, 1:5, j]": chosen(X.transpose(0, 2, 1), IDS, COLUMNS)[
        ..., 1:5
    ],  # a slice between: ids in front
    "x[i, j % 6, 2:6]": chosen(X, IDS, COLUMNS % 6)[..., 2:6],
    "x[1, i, j]": chosen(X[1], IDS, COLUMNS),
    "x[2:4, i, None, j]": np.moveaxis(chosen(X[2:4].transpose(1, 2, 0), IDS, COLUMNS), -1, 2)[
        ..., None
    ],
    "x[2:4, i, j]": np.moveaxis(chosen(X[2:4].transpose(1, 2, 0), IDS, COLUMNS), -1, 0),
    "x[i, j % 6, j]": chosen(X, IDS, COLUMNS % 6, COLUMNS),
}
TILES = {
    "v[arange(4)[:, None], j % 4]": lambda v: v[np.arange(4)[:, None], COLUMNS % 4],
    "v[:, j]": lambda v: v[:, COLUMNS],
    "v[1, j]": lambda v: v[1, COLUMNS],
    "gather(v, j, 1)": lambda v: v[:, COLUMNS],
    "v[i[0, :], 2:4]": lambda v: np.where((IDS[0] < 4)[:, None], v[IDS[0] % 4, 2:4], 0),
}


def _source(text: str, shape: tuple[int, ...]) -> str:
    where = ", ".join(":" * len(shape))
    extents = ", ".join(map(str, shape))
    return (
        f"kernel k(x: f32[5, 6, 8], ids: i32[2, 4], js: i32[4], y: out f32[{extents}]):\n"
        "    i, j, v = ids[:, :], js[:], x[0, 0:4, :]\n"
        f"    y[{where}] = {text}\n"
    )


def wanted_of(text: str) -> np.ndarray:
    if text in TILES:
        return np.ascontiguousarray(TILES[text](X[0, :4]))
    return READ[text]


@pytest.mark.parametrize("text", [*READ, *TILES])
@pytest.mark.parametrize("target", ["interp", *MACHINES])
@pytest.mark.sampled(4)
def test_read(target: str, text: str) -> None:
    wanted = wanted_of(text)
    y = np.zeros(wanted.shape, np.float32)
    call(target, _source(text, wanted.shape), {"x": X, "ids": IDS, "js": COLUMNS, "y": y})
    np.testing.assert_array_equal(y, wanted)


WRITTEN = """
kernel k(ids: i32[2, 4], js: i32[4], v: f32[2, 4], y: inout f32[5, 8], z: inout f32[5, 8, 4]):
    y[ids[:, :], js[:]] = v[:, :]
    z[ids[0, :], js[:], 1:3] = transpose(v[:, :])
"""


@pytest.mark.parametrize("target", ["interp", *MACHINES])
def test_written(target: str) -> None:
    v = RNG.standard_normal((2, 4)).astype(np.float32)
    y, z = np.zeros((5, 8), np.float32), np.zeros((5, 8, 4), np.float32)
    first, second = y.copy(), z.copy()
    for (r, c), value in np.ndenumerate(v):
        if 0 <= IDS[r, c] < 5:
            first[IDS[r, c], COLUMNS[c]] = value
    for c in range(4):
        if 0 <= IDS[0, c] < 5:
            second[IDS[0, c], COLUMNS[c], 1:3] = v[:, c]
    call(target, WRITTEN, {"ids": IDS, "js": COLUMNS, "v": v, "y": y, "z": z})
    np.testing.assert_array_equal(y, first)
    np.testing.assert_array_equal(z, second)


ADDED = """
kernel k(ids: i32[N], x: {d}[N, 16], bins: inout {d}[8, 16], flat: inout {d}[8]):
    for n in parallel(range(0, N, 8)):
        i = ids[n : n + 8]
        bins[i, 0:16] += x[n : n + 8, :]
        flat[i] -= x[n : n + 8, 3]
"""


@pytest.mark.parametrize("dtype", ["f32", "i32"])
@pytest.mark.parametrize("target", ["interp", *MACHINES])
def test_equal_ids_add_up(target: str, dtype: str) -> None:
    kind = np.dtype({"f32": np.float32, "i32": np.int32}[dtype])
    ids = np.array([3, 3, 3, 9, 0, -1, 3, 0, 7, 7, 1, 3, 0, 8, 2, 2], np.int32)
    x = RNG.integers(-9, 9, (16, 16)).astype(kind)
    bins, flat = np.ones((8, 16), kind), np.zeros(8, kind)
    first, second = bins.copy(), flat.copy()
    inside = (ids >= 0) & (ids < 8)
    np.add.at(first, ids[inside], x[inside])
    np.subtract.at(second, ids[inside], x[inside, 3])
    call(target, ADDED.format(d=dtype), {"ids": ids, "x": x, "bins": bins, "flat": flat})
    np.testing.assert_array_equal(bins, first)
    np.testing.assert_array_equal(flat, second)


UPDATES = {
    "max": ("atomic_max(y[1:9], x[n : n + 8])", np.maximum),
    "min": ("atomic_min(y[1:9], x[n : n + 8])", np.minimum),
    "exchange": ("atomic_exchange(y[1:9], x[n : n + 8])", lambda y, x: x),
    "cas": ("atomic_cas(y[1:9], {zero}, x[n : n + 8])", lambda y, x: np.where(y == 0, x, y)),
    "max by ids": ("atomic_max(y[i], x[n : n + 8])", np.maximum),
}
UPDATED = """
kernel k(ids: i32[8], x: {d}[8], y: inout {d}[8], old: out {d}[8], z: inout {d}[8]):
    n = 0
    i = ids[:]
    before = {text}
    old[:] = before
    {again}
"""


WIDE = [(t, d) for t in ("interp", *MACHINES) for d in ("f32", "i32", "u32", "i64", "f64")]


@pytest.mark.parametrize(
    ("target", "dtype"), [(t, d) for t, d in WIDE if "64" not in d or t[:3] not in ("nki", "aie")]
)
@pytest.mark.parametrize("op", UPDATES)
@pytest.mark.sampled(6)
def test_updates(target: str, op: str, dtype: str) -> None:
    """What stood there, and what stands there; y[8] is out of bounds: it reads 0 and stays away."""
    kind = np.dtype({"f": "float", "i": "int", "u": "uint"}[dtype[0]] + dtype[1:])
    x = np.array([5, 1, 9, 2, 250, 3, 7, 4], kind)
    y = np.array([4, 0, 8, 3, 0, 9, 200, 1], kind)
    ids = np.array([6, 1, 1, 8, 0, 5, 2, -1], np.int32)
    text, function = UPDATES[op]
    z, old, wanted = np.zeros(8, kind), np.zeros(8, kind), y.copy()
    at = ids if op == "max by ids" else np.arange(1, 9)
    before = np.zeros(8, kind)
    for k, place in enumerate(at):
        if 0 <= place < 8:
            before[k] = wanted[place]
            wanted[place] = function(wanted[place], x[k])
    zero = "0.0" if dtype[0] == "f" else "0"
    again = text.replace("y[", "z[").format(zero=zero)
    source = UPDATED.format(d=dtype, text=text.format(zero=zero), again=again)
    call(target, source, {"ids": ids, "x": x, "y": y, "old": old, "z": z})
    np.testing.assert_array_equal(y, wanted)
    if op == "max by ids":  # the order of equal ids is any
        before, old = np.delete(before, [1, 2]), np.delete(old, [1, 2])
    np.testing.assert_array_equal(old, before)
