"""Kernels in NKI for the simulator's tests: whole ones, and a frame for a few instructions."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
from dslc.runtime.nki_simulator import Run, simulate

HEAD = "import nki\nimport nki.isa as nisa\nimport nki.language as nl\n\n\n"

GEMM = (
    HEAD
    + """
@nki.jit
def kernel(a_t, b, bias):
    K, M = a_t.shape
    N = b.shape[1]
    c = nl.ndarray((M, N), dtype=b.dtype, buffer=nl.shared_hbm)
    bias_row = nl.ndarray((128, N), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=bias_row, src=bias.ap(pattern=[[0, 128], [1, N]]))
    for m in range(0, M, 128):
        rows = min(128, M - m)
        for n in range(0, N, 512):
            cols = min(512, N - n)
            acc = nl.ndarray((rows, cols), dtype=nl.float32, buffer=nl.psum)
            for k in range(0, K, 128):
                depth = min(128, K - k)
                a_tile = nl.ndarray((depth, rows), dtype=a_t.dtype, buffer=nl.sbuf)
                b_tile = nl.ndarray((depth, cols), dtype=b.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=a_tile, src=a_t[k:k + depth, m:m + rows])
                nisa.dma_copy(dst=b_tile, src=b[k:k + depth, n:n + cols])
                nisa.nc_matmul(dst=acc, stationary=a_tile, moving=b_tile, accumulate=(k > 0))
            total = nl.ndarray((rows, cols), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=total, data1=acc, data2=bias_row[0:rows, n:n + cols], op=nl.add)
            out = nl.ndarray((rows, cols), dtype=c.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=out, src=total, engine=nisa.engine.gpsimd)
            nisa.dma_copy(dst=c[m:m + rows, n:n + cols], src=out)
    return c
"""
)

SOFTMAX = (
    HEAD
    + """
@nki.jit
def kernel(x):
    M, N = x.shape
    y = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    for m in range(0, M, 128):
        rows = min(128, M - m)
        tile = nl.ndarray((rows, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[m:m + rows, 0:N])
        top = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=top, op=nl.maximum, data=tile, axis=(1,), negate=True)
        power = nl.ndarray((rows, N), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation_reduce(dst=power, op=nl.exp, data=tile, bias=top,
                               reduce_op=nl.add, reduce_res=total)
        scale = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=scale, data=total)
        out = nl.ndarray((rows, N), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=out, data=power, op0=nl.multiply, operand0=scale)
        nisa.dma_copy(dst=y[m:m + rows, 0:N], src=out)
    return y
"""
)

RING = (
    HEAD
    + """
@nki.jit
def kernel(x):
    M, N = x.shape
    y = nl.ndarray((N, M), dtype=x.dtype, buffer=nl.shared_hbm)
    ring = [nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.sbuf) for _ in range(2)]
    banks = [nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.psum) for _ in range(2)]
    count = 0
    for m in range(0, M, 128):
        for n in range(0, N, 128):
            slot = count % 2
            nisa.dma_copy(dst=ring[slot], src=x[m:m + 128, n:n + 128])
            nisa.nc_transpose(dst=banks[slot], data=ring[slot], engine=nisa.engine.tensor)
            out = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=out, src=banks[slot], engine=nisa.engine.vector)
            nisa.dma_copy(dst=y[n:n + 128, m:m + 128], src=out)
            count += 1
    return y
"""
)

MASKED = (
    HEAD
    + """
@nki.jit
def kernel(x, limit):
    M, N = x.shape
    y = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    bound = nl.ndarray((M, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=bound, src=limit)
    index = nl.ndarray((M, N), dtype=nl.int32, buffer=nl.sbuf)
    nisa.iota(dst=index, pattern=[[1, N]], offset=0, channel_multiplier=0)
    keep = nl.ndarray((M, N), dtype=nl.uint8, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=keep, data=index, op0=nl.less, operand0=bound)
    root = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=root, op=nl.sqrt, data=tile, scale=4.0)
    masked = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=masked, value=0.0, engine=nisa.engine.gpsimd)
    nisa.tensor_copy_predicated(dst=masked, src=root, predicate=keep)
    lower = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.sbuf)
    nisa.affine_select(dst=lower, pattern=[[-1, N]], channel_multiplier=1, on_true_tile=masked,
                       on_false_value=-1.0, cmp_op=nl.greater_equal, offset=0)
    half = nl.ndarray((M // 2, N), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(dst=half, src=lower[M // 2:M, 0:N], engine=nisa.engine.vector)
    nisa.dma_copy(dst=y[0:M // 2, 0:N], src=lower[0:M // 2, 0:N])
    nisa.dma_copy(dst=y[M // 2:M, 0:N], src=half)
    return y
"""
)


def run(source: str, *args: Any, target: str = "trn2", **options: Any) -> Run:
    """A whole kernel."""
    return simulate(source, "kernel", args, target, **options)


def frame(body: str, results: str = "out") -> str:
    """A kernel of tensors x, y, z that loads them whole as tx, ty, tz and stores `out`, a tile."""
    text = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    loads = "".join(
        f"    t{n} = nl.ndarray({n}.shape, dtype={n}.dtype, buffer=nl.sbuf)\n"
        f"    nisa.dma_copy(dst=t{n}, src={n})\n"
        for n in "xyz"
    )
    store = (
        f"    result = nl.ndarray({results}.shape, dtype={results}.dtype, buffer=nl.shared_hbm)\n"
        f"    nisa.dma_copy(dst=result, src={results})\n    return result\n"
    )
    return f"{HEAD}@nki.jit\ndef kernel(x, y, z):\n{loads}{text}\n{store}"


def compute(
    body: str, x: Any, y: Any = None, z: Any = None, target: str = "trn2"
) -> np.ndarray[Any, np.dtype[Any]]:
    """The tile `out` after the body's instructions on tx, ty and tz."""
    blank = np.zeros((1, 1), np.float32)
    arrays = [blank if a is None else a for a in (x, y, z)]
    return run(frame(body), *arrays, target=target).outputs[0]


def tile(shape: tuple[int, ...], dtype: str = "float32", buffer: str = "sbuf") -> str:
    """Text that allocates."""
    return f"nl.ndarray({shape}, dtype=nl.{dtype}, buffer=nl.{buffer})"
