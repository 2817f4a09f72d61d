"""Products with low-rank weights in large blocks (NeuronMM, section 4.2), for machines of much memory.

W of a layer is U V, of rank R. A strip of BM rows of X times U stays on the chip until it is multiplied
with V. Which operand stands still, what is transposed and what is kept follows from the placement of
tiles: the kernels only say whether X comes transposed and whether the result is wanted so.
"""

from __future__ import annotations

import time

import dslc
import ml_dtypes
import numpy as np
from dslc.lang import *
from swiglu import silu

T = bf16
BM, BN, BK, M, K, N, R, Q = dims("BM BN BK M K N R Q")


@dslc.kernel(
    BM=[64, 16, 128, 256, 512, 1024, 2048],
    BN=[128, 64, 256, 512, 1024, 2048],
    BK=[64, 32, 128, 256, 512, 1024, 2048],
)
def xw(x: tensor[T, M, K], w: tensor[T, K, N], y: out[T, M, N]) -> None:
    """y = x @ w, in blocks."""
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(f32, [BM, BN])
        for k in range(0, K, BK):
            acc += dot(x[m : m + BM, k : k + BK], w[k : k + BK, n : n + BN])
        y[m : m + BM, n : n + BN] = cast(acc, T)


@dslc.kernel(
    BM=[64, 16, 128, 256, 512, 1024, 2048],
    BN=[128, 64, 256, 512, 1024, 2048],
    BK=[64, 32, 128, 256, 512, 1024, 2048],
)
def xuv(x: tensor[T, M, K], u: tensor[T, K, R], v: tensor[T, R, N], y: out[T, M, N]) -> None:
    """y = (x @ u) @ v."""
    for m in parallel(range(0, M, BM)):
        acc = zeros(f32, [BM, R])
        for k in range(0, K, BK):
            acc += dot(x[m : m + BM, k : k + BK], u[k : k + BK, :])
        low = cast(acc, T)
        for n in range(0, N, BN):
            y[m : m + BM, n : n + BN] = cast(dot(low, v[:, n : n + BN]), T)


@dslc.kernel(
    BM=[64, 16, 128, 256, 512, 1024, 2048],
    BN=[128, 64, 256, 512, 1024, 2048],
    BK=[64, 32, 128, 256, 512, 1024, 2048],
)
def xuv_to_t(x: tensor[T, M, K], u: tensor[T, K, R], v: tensor[T, R, N], y: out[T, N, M]) -> None:
    """y = ((x @ u) @ v)^T, as the stationary operand of a later product wants it."""
    for m in parallel(range(0, M, BM)):
        acc = zeros(f32, [BM, R])
        for k in range(0, K, BK):
            acc += dot(x[m : m + BM, k : k + BK], u[k : k + BK, :])
        low = cast(acc, T)
        for n in range(0, N, BN):
            block = dot(low, v[:, n : n + BN])
            y[n : n + BN, m : m + BM] = transpose(cast(block, T))


@dslc.kernel(
    BM=[64, 16, 128, 256, 512, 1024, 2048],
    BN=[128, 64, 256, 512, 1024, 2048],
    BK=[64, 32, 128, 256, 512, 1024, 2048],
)
def xuv_from_t(x: tensor[T, K, M], u: tensor[T, K, R], v: tensor[T, R, N], y: out[T, M, N]) -> None:
    """y = (x^T @ u) @ v: x comes transposed, as xuv_to_t or up_and_gate gives it."""
    for m in parallel(range(0, M, BM)):
        acc = zeros(f32, [BM, R])
        for k in range(0, K, BK):
            acc += dot(transpose(x[k : k + BK, m : m + BM]), u[k : k + BK, :])
        low = cast(acc, T)
        for n in range(0, N, BN):
            y[m : m + BM, n : n + BN] = cast(dot(low, v[:, n : n + BN]), T)


@dslc.kernel(
    BM=[64, 16, 128, 256, 512, 1024, 2048],
    BN=[64, 128, 256, 512, 1024, 2048],
    BK=[64, 32, 128, 256, 512, 1024, 2048],
)
def up_and_gate(
    x: tensor[T, M, K],
    gate_u: tensor[T, K, R],
    gate_v: tensor[T, R, N],
    up_u: tensor[T, K, R],
    up_v: tensor[T, R, N],
    y: out[T, N, M],
) -> None:
    """y = (silu(x gate_u gate_v) * (x up_u up_v))^T: both halves of the layer in one strip."""
    for m in parallel(range(0, M, BM)):
        gate = zeros(f32, [BM, R])
        up = zeros(f32, [BM, R])
        for k in range(0, K, BK):
            block = x[m : m + BM, k : k + BK]
            gate += dot(block, gate_u[k : k + BK, :])
            up += dot(block, up_u[k : k + BK, :])
        low_gate = cast(gate, T)
        low_up = cast(up, T)
        for n in range(0, N, BN):
            a = dot(low_gate, gate_v[:, n : n + BN])
            b = dot(low_up, up_v[:, n : n + BN])
            y[n : n + BN, m : m + BM] = transpose(cast(silu(a) * b, T))


@dslc.program
def mlp_low_rank(
    x: tensor[T, M, K], gate_u: tensor[T, K, R], gate_v: tensor[T, R, N],
    up_u: tensor[T, K, R], up_v: tensor[T, R, N], down_u: tensor[T, N, Q],
    down_v: tensor[T, Q, K], y: out[T, M, K],
) -> None:  # fmt: skip
    """y = (silu(x gate) * (x up)) down, each matrix of low rank; what lies between stays transposed."""
    hidden = buffer(T, [N, M])
    up_and_gate(x, gate_u, gate_v, up_u, up_v, hidden)
    xuv_from_t(hidden, down_u, down_v, y)


def main() -> None:
    """Runs on random inputs and compares with NumPy."""
    rng = np.random.default_rng(0)
    m, k, r, n = 96, 256, 48, 320

    def matrix(rows: int, columns: int) -> np.ndarray:
        values = rng.standard_normal((rows, columns)) / rows**0.5
        return np.asarray(values, ml_dtypes.bfloat16)

    x = (rng.standard_normal((m, k))).astype(ml_dtypes.bfloat16)
    u, v = matrix(k, r), matrix(r, n)
    y = np.empty((n, m), ml_dtypes.bfloat16)
    start = time.perf_counter()
    xuv_to_t(x, u, v, y, BM=16, BN=64, BK=32)
    seconds = time.perf_counter() - start
    expected = (x.astype(np.float32) @ u.astype(np.float32) @ v.astype(np.float32)).T
    error = np.abs(y.astype(np.float32) - expected).max()
    print(
        f"rank {r} product {m} x {n} x {k}, transposed: greatest error {error:.1e}, {seconds:.3f} s"
    )


if __name__ == "__main__":
    main()
