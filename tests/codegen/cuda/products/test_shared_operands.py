"""Operands that several products and threads read, run by their emitted text."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.checker import check_module
from dslc.compiler.interpreter import Options, run
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
