"""Products scheduled for AMD chips: of a and b, whose rows run along k (nt) or along n (nn)."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import dslc
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target

SOURCE = """kernel gemm(a: {t}[M, K], b: {t}[{shape}], c: out {t}[M, N]):
    tune BM = 256 | 128 | 64
    tune BN = 256 | 128 | 64
    tune BK = 64 | 128
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(f32, [BM, BN])
        for k in range(0, K, BK):
            acc += dot(a[m : m + BM, k : k + BK], {b})
        c[m : m + BM, n : n + BN] = cast(acc, {t})
"""
OPERANDS = {
    "nt": {"shape": "N, K", "b": "transpose(b[n : n + BN, k : k + BK])"},
    "nn": {"shape": "K, N", "b": "b[k : k + BK, n : n + BN]"},
}


@functools.cache
def product(
    chip: str,
    tile: tuple[int, int, int],
    sizes: tuple[tuple[str, int], ...] = (),
    dtype: str = "bf16",
    stages: int | None = None,
    warps: int | None = None,
    operands: str = "nt",
) -> Kernel:
    """After all passes of the chip, with some dims fixed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "gemm.tile")
        path.write_text(SOURCE.format(t=dtype, **OPERANDS[operands]), encoding="utf-8")
        lib = dslc.compile(path, "interp", define=dict(sizes))
        every = {"M": 1024, "N": 1024, "K": 1024, **dict(sizes)}
        choices = dict(zip(("BM", "BN", "BK"), tile, strict=True))
        program = parse_program(lib["gemm"].specialize_for(every, choices).source("ir"))
    passes = gpu_passes(find_target(f"hip:{chip}"), stages=stages, warps=warps)
    found = run_passes(program, passes)
    assert isinstance(found, Kernel)
    return found
