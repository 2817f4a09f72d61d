"""Operands that several products and threads read, run by their emitted text."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.checker import check_module
from dslc.compiler.dtypes import storage_dtype
from dslc.compiler.interpreter import Options, run
from dslc.compiler.interpreter.dims import evaluate
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.frontend import parse_tile
from dslc.runtime.cuda_emulator import compiler

from support.gpu.emulation import execute, lower
from support.kernels import every

emulated = pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")
ALL = """
kernel k(a: f16[M, K], w: f16[K, N], u: f16[P, 64, N], page: i32[P], g: f16[M, K // 64],
         c: out f32[M, N]):
    require M % 64 == 0 and N % 64 == 0 and K % 64 == 0

    for m, n in parallel(range(0, M, 64), range(0, N, 64)):
        one = zeros(f32, [64, 64])
        two = zeros(f32, [64, 64])
        total = zeros(f32, [64])
        for k in range(0, K, 64):
            x = a[m : m + 64, k : k + 64]
            one += dot(x, w[k : k + 64, n : n + 64])
            two += dot(x, u[page[k // 64], :, n : n + 64])
            total += sum(cast(x, f32), 1) * cast(g[m : m + 64, k // 64], f32)
        c[m : m + 64, n : n + 64] = one * two + total[:, None]
"""

TURNED = """
kernel k(a: f16[M, K], b: f16[N, K], c: out f32[M, N]):
    require M % 64 == 0 and N % 64 == 0 and K % 64 == 0

    for m, n in parallel(range(0, M, 64), range(0, N, 64)):
        acc = zeros(f32, [64, 64])
        total = zeros(f32, [64])
        for k in range(0, K, 64):
            y = b[n : n + 64, k : k + 64]
            acc += dot(a[m : m + 64, k : k + 64], y, transposed="b")
            total += sum(cast(y, f32), 1)
        c[m : m + 64, n : n + 64] = acc + total[None, :]
"""

COMPUTED = """
kernel k(a: f16[M, K], g: f16[K], w: f16[K, N], c: out f32[M, N]):
    require M % 64 == 0 and N % 64 == 0 and K % 64 == 0

    for m, n in parallel(range(0, M, 64), range(0, N, 64)):
        acc = zeros(f32, [64, 64])
        for k in range(0, K, 64):
            x = a[m : m + 64, k : k + 64] * g[k : k + 64]
            y = maximum(w[k : k + 64, n : n + 64], 0.0)
            acc += dot(x, y)
        c[m : m + 64, n : n + 64] = acc
"""
BYTES = """
kernel k(a: i8[M, K], w: i8[K, N], c: out i32[M, N]):
    require M % 128 == 0 and N % 128 == 0 and K % 128 == 0

    for m, n in parallel(range(0, M, 128), range(0, N, 128)):
        acc = zeros(i32, [128, 128])
        for k in range(0, K, 128):
            acc += dot(a[m : m + 128, k : k + 128], w[k : k + 128, n : n + 128])
        c[m : m + 128, n : n + 128] = acc
"""
CHAIN = """
kernel k(q: f16[M, 64], x: i8[K, 64], v: i8[K, 64], c: out f32[M, 64]):
    require M % 64 == 0 and K % 64 == 0

    for m in parallel(range(0, M, 64)):
        queries = q[m : m + 64, :]
        acc = zeros(f32, [64, 64])
        for k in range(0, K, 64):
            p = dot(queries, cast(x[k : k + 64, :], f16), transposed="b")
            acc += dot(cast(minimum(p, 16.0), f16), cast(v[k : k + 64, :], f16))
        c[m : m + 64, :] = acc
"""


@emulated
@pytest.mark.parametrize("seed", range(2))
def test_an_operand_is_read_by_two_products_and_by_threads(seed: int) -> None:
    """Beside producer warps, which read the ids of what they copy; turns are shared by blocks."""
    program = check_module(parse_tile(ALL, "k.tile")).templates["k"].elaborate()
    lowered = lower(program, units=3)
    assert isinstance(lowered, Kernel)
    assert every(lowered, ins.WarpSpecialize)
    assert all(d.is_async for d in every(lowered, ins.Dot))
    rng = np.random.default_rng(seed)
    m, k, n, p = 128, 256, 64, 4
    args = {
        "a": rng.standard_normal((m, k)).astype(np.float16),
        "w": rng.standard_normal((k, n)).astype(np.float16),
        "u": rng.standard_normal((p, 64, n)).astype(np.float16),
        "page": rng.permutation(p).astype(np.int32),
        "g": rng.standard_normal((m, k // 64)).astype(np.float16),
        "c": np.full((m, n), np.nan, np.float32),
    }
    wanted = {name: x.copy() for name, x in args.items()}
    run(program, wanted, Options())
    execute(lowered, args, seed)
    np.testing.assert_allclose(args["c"], wanted["c"], rtol=1e-4, atol=1e-3)


@emulated
def test_threads_read_a_tile_whose_transpose_a_product_reads() -> None:
    program = check_module(parse_tile(TURNED, "k.tile")).templates["k"].elaborate()
    lowered = lower(program, units=3)
    rng = np.random.default_rng(0)
    args = {
        "a": rng.standard_normal((64, 128)).astype(np.float16),
        "b": rng.standard_normal((64, 128)).astype(np.float16),
        "c": np.full((64, 64), np.nan, np.float32),
    }
    wanted = {name: x.copy() for name, x in args.items()}
    run(program, wanted, Options())
    execute(lowered, args)
    np.testing.assert_allclose(args["c"], wanted["c"], rtol=1e-4, atol=1e-3)


@emulated
@pytest.mark.parametrize("text", [COMPUTED, BYTES, CHAIN], ids=["both", "bytes", "chain"])
def test_threads_store_what_a_unit_reads(text: str) -> None:
    """Operands that are computed, or of bytes that do not lie along k."""
    program = check_module(parse_tile(text, "k.tile")).templates["k"].elaborate()
    lowered = lower(program, units=3)
    assert isinstance(lowered, Kernel)
    assert all(d.is_async for d in every(lowered, ins.Dot))
    rng = np.random.default_rng(0)
    dims = {"M": 128, "K": 384, "N": 128}
    args = {}
    assert isinstance(program, Kernel)
    for param in program.tensors:
        shape = tuple(int(evaluate(e, dims)) for e in param.shape)
        numbers = rng.integers(-8, 8, shape)
        args[param.name] = numbers.astype(storage_dtype(param.dtype))
    wanted = {name: x.copy() for name, x in args.items()}
    run(program, wanted, Options())
    for seed in range(2):
        got = {name: x.copy() for name, x in args.items()}
        execute(lowered, got, seed)
        np.testing.assert_array_equal(got["c"], wanted["c"])
