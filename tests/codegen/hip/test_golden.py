"""The HIP C++ of a few kernels as it stands; `--update-golden` writes it anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from dslc.codegen.hip.generate import emit
from dslc.compiler.ir import Kernel
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target

from support.kernels import one

GOLDEN = Path(__file__).parents[2] / "golden" / "hip"
KERNELS = {
    "vector_add": """
kernel vector_add(x: f32[N], y: f32[N], z: out f32[N]):
    for n in parallel(range(0, N, 1024)):
        z[n : n + 1024] = x[n : n + 1024] + y[n : n + 1024]
""",
    "softmax": """
kernel softmax(x: f32[M, 512], y: out f32[M, 512]):
    for m in parallel(range(M)):
        e = exp(x[m, :] - max(x[m, :]))
        y[m, :] = e / sum(e)
""",
    "gemm": """
kernel gemm(a: f16[M, K], b: f16[K, N], c: out f16[M, N]):
    require K % 32 == 0 and N % 64 == 0
    for m, n in parallel(range(0, M, 64), range(0, N, 64)):
        acc = zeros(f32, [64, 64])
        for k in range(0, K, 32):
            acc += dot(a[m : m + 64, k : k + 32], b[k : k + 32, n : n + 64])
        c[m : m + 64, n : n + 64] = cast(acc, f16)
""",
}


@pytest.mark.parametrize("name", KERNELS)
def test_the_text_of_a_kernel_is_as_it_was(name: str, request: pytest.FixtureRequest) -> None:
    target = find_target("hip:gfx942")
    kernel = run_passes(one(KERNELS[name]), gpu_passes(target))
    assert isinstance(kernel, Kernel)
    text, golden = emit(kernel, target)[0], GOLDEN / f"{name}.hip"
    if request.config.getoption("--update-golden"):
        golden.write_text(text, "utf-8")
    assert text == golden.read_text("utf-8")
