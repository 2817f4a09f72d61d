"""The product of a and the transpose of b, both with k along their rows, scheduled for AMD chips."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import dslc
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.parser import parse_program
from dslc.compiler.passes.gpu import gpu_passes
from dslc.compiler.passes.pipeline import run_passes
from dslc.compiler.targets import find_target

SOURCE = """kernel gemm_nt(a: {t}[M, K], b: {t}[N, K], c: out {t}[M, N]):
    tune BM = 256 | 128 | 64
    tune BN = 256 | 128 | 64
    tune BK = 64 | 128
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(f32, [BM, BN])
        for k in range(0, K, BK):
            acc += dot(a[m : m + BM, k : k + BK], transpose(b[n : n + BN, k : k + BK]))
        c[m : m + BM, n : n + BN] = cast(acc, {t})
"""


@functools.cache
def product(
    chip: str,
    tile: tuple[int, int, int],
    sizes: tuple[tuple[str, int], ...] = (),
    dtype: str = "bf16",
    stages: int | None = None,
    warps: int | None = None,
) -> Kernel:
    """After all passes of the chip, with some dims fixed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "gemm_nt.tile")
        path.write_text(SOURCE.format(t=dtype), encoding="utf-8")
        lib = dslc.compile(path, "interp", define=dict(sizes))
        every = {"M": 1024, "N": 1024, "K": 1024, **dict(sizes)}
        choices = dict(zip(("BM", "BN", "BK"), tile, strict=True))
        program = parse_program(lib["gemm_nt"].specialize_for(every, choices).source("ir"))
    passes = gpu_passes(find_target(f"hip:{chip}"), stages=stages, warps=warps)
    found = run_passes(program, passes)
    assert isinstance(found, Kernel)
    return found
