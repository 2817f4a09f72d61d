"""Scientific kernels: arguments and meaning."""

from __future__ import annotations

import numpy as np

from corpus.cases import Array, Family, Generator, Trial, f64, normal

case = Family("numerics")


def shifted_sum(x: Array) -> Array:
    """The sum of the neighbours along all axes, zeros outside."""
    wide = np.pad(f64(x), 1)
    inner = tuple(slice(1, -1) for _ in x.shape)
    return sum(np.roll(wide, d, axis)[inner] for d in (1, -1) for axis in range(x.ndim))


def stencil(rng: Generator, *shape: int) -> Trial:
    x = normal(rng, *shape)
    return Trial({"x": x, "a": 0.5, "b": 0.25}, {"y": 0.5 * x + 0.25 * shifted_sum(x)})


@case()
def stencil3d(rng: Generator) -> Trial:
    return stencil(rng, 5, 9, 37)


@case("stencil3d of one", kernel="stencil3d")
def one_point(rng: Generator) -> Trial:
    return stencil(rng, 1, 1, 1)


@case()
def two_jacobi_steps(rng: Generator) -> Trial:
    x, right = normal(rng, 21, 21), normal(rng, 21, 21)
    once = (shifted_sum(x) - right) / 4
    return Trial({"x": x, "right": right}, {"y": (shifted_sum(once) - right) / 4})


@case()
def game_of_life(rng: Generator) -> Trial:
    x = rng.integers(0, 2, (19, 45), np.uint8)
    wide = np.pad(x, 1)
    near = (
        sum(np.roll(wide, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1))[1:-1, 1:-1] - x
    )
    return Trial({"x": x}, {"y": (near == 3) | ((near == 2) & (x == 1))})


@case(near=1e-4)
def batched_cholesky(rng: Generator) -> Trial:
    x = normal(rng, 3, 13, 20)
    a = x @ x.transpose(0, 2, 1) + 2 * np.eye(13, dtype=np.float32)
    return Trial({"a": a}, {"l": np.linalg.cholesky(f64(a))})


@case(near=1e-4)
def triangular_solve(rng: Generator) -> Trial:
    low = np.tril(normal(rng, 17, 17)) / 4 + 2 * np.eye(17, dtype=np.float32)
    b = normal(rng, 17, 21)
    return Trial({"l": low.astype("f4"), "b": b}, {"x": np.linalg.solve(f64(low), f64(b))})


@case(near=1e-4)
def fft(rng: Generator) -> Trial:
    re, im = normal(rng, 3, 64), normal(rng, 3, 64)
    y = np.fft.fft(f64(re) + 1j * im)
    return Trial({"re": re, "im": im, "levels": 6}, {"re": y.real, "im": y.imag})


@case()
def hadamard(rng: Generator) -> Trial:
    x = normal(rng, 7, 16)
    h = np.array([[(-1) ** (i & j).bit_count() for j in range(16)] for i in range(16)]) / 4
    return Trial({"x": x}, {"y": f64(x) @ h})


@case(near=1e-4)
def csr_spmm(rng: Generator) -> Trial:
    dense = np.where(rng.random((11, 17)) < 0.2, normal(rng, 11, 17), 0).astype("f4")
    dense[4] = 0
    starts = np.concatenate([[0], np.cumsum((dense != 0).sum(1))]).astype(np.int32)
    columns = np.nonzero(dense)[1].astype(np.int32)
    x = normal(rng, 17, 45)
    args = {"starts": starts, "columns": columns, "values": dense[dense != 0], "x": x}
    return Trial(args, {"y": f64(dense) @ f64(x)})


@case(near=1e-4)
def n_body(rng: Generator) -> Trial:
    p, mass = normal(rng, 37, 3), rng.random(37, "f4")
    d = f64(p)[None] - f64(p)[:, None]
    a = (d * (mass / ((d * d).sum(2) + 0.01) ** 1.5)[..., None]).sum(1)
    return Trial({"p": p, "mass": mass, "soft": 0.01}, {"a": a})


def distance(a: Array, b: Array) -> int:
    table = np.zeros((len(a) + 1, len(b) + 1), int)
    table[:, 0], table[0] = range(len(a) + 1), range(len(b) + 1)
    for i in range(len(a)):
        for j in range(len(b)):
            both = table[i, j] + (a[i] != b[j])
            table[i + 1, j + 1] = min(both, table[i, j + 1] + 1, table[i + 1, j] + 1)
    return int(table[-1, -1])


@case()
def edit_distance(rng: Generator) -> Trial:
    a, b = rng.integers(0, 3, (3, 7)).astype(np.int32), rng.integers(0, 3, (3, 6)).astype(np.int32)
    return Trial({"a": a, "b": b}, {"d": np.array([distance(*p) for p in zip(a, b, strict=True)])})


@case(near=1e-4)
def kmeans_assign(rng: Generator) -> Trial:
    x, centres = normal(rng, 45, 8), normal(rng, 7, 8)
    at = ((f64(x)[:, None] - centres) ** 2).sum(2).argmin(1)
    hot = f64(at[:, None] == np.arange(7))
    args = {"x": x, "centres": centres, "sums": np.zeros((7, 8), "f4"), "counts": np.zeros(7, "i4")}
    return Trial(args, {"at": at, "sums": hot.T @ f64(x), "counts": hot.sum(0)})


@case(near=1e-3)
def power_iteration(rng: Generator) -> Trial:
    basis, _ = np.linalg.qr(rng.standard_normal((11, 11)))
    a = basis @ np.diag([5.0, *np.linspace(-2, 2, 10)]) @ basis.T
    x = basis[:, 0] + 0.1 * rng.standard_normal(11)
    args = {"a": a.astype("f4"), "x": x.astype("f4"), "steps": 15}
    return Trial(args, {"x": basis[:, 0], "value": np.array([5.0])})


@case()
def monte_carlo_pi(rng: Generator) -> Trial:
    first = (np.arange(1000, dtype=np.uint64) * 747796405 + 77) & 0xFFFFFFFF
    second = (first * 1664525 + 1013904223) & 0xFFFFFFFF
    x, y = (f64(b >> np.uint64(16)) / 65536 for b in (first, second))
    args = {"seed": 77, "samples": 1000, "hits": np.zeros(1, np.int32)}
    return Trial(args, {"hits": np.array([(x * x + y * y < 1).sum()])})
