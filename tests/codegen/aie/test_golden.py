"""The modules of a few kernels as they stand; `--update-golden` writes them anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from dslc.codegen.aie.planning.plan_kernel import plan_kernel
from dslc.codegen.aie.printing.objectfifos import print_objectfifos

from support.npu.kernels import TARGET, lowered

GOLDEN = Path(__file__).parents[2] / "golden" / "aie"
# Name -> source, dims.
KERNELS: dict[str, tuple[str, dict[str, int]]] = {
    "vector_add": (
        """
kernel k(x: f32[N], y: f32[N], z: out f32[N]):
    for n in parallel(range(0, N, 256)):
        z[n : n + 256] = x[n : n + 256] + y[n : n + 256]
""",
        {"N": 1024},
    ),
    "softmax": (
        """
kernel k(x: f32[M, N], y: out f32[M, N]):
    for m in parallel(range(0, M, 4)):
        e = exp(x[m : m + 4, :] - max(x[m : m + 4, :], 1, keepdims=True))
        y[m : m + 4, :] = e / sum(e, 1, keepdims=True)
""",
        {"M": 16, "N": 64},
    ),
    "gemm": (
        """
kernel k(a: bf16[M, K], b: bf16[K, N], c: out f32[M, N]):
    for m, n in parallel(range(0, M, 32), range(0, N, 32)):
        acc = zeros(f32, [32, 32])
        for k in range(0, K, 32):
            acc += dot(a[m : m + 32, k : k + 32], b[k : k + 32, n : n + 32])
        c[m : m + 32, n : n + 32] = acc
""",
        {"M": 64, "N": 64, "K": 64},
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_the_module_of_a_kernel_is_as_it_was(name: str, request: pytest.FixtureRequest) -> None:
    source, dims = KERNELS[name]
    text = print_objectfifos(plan_kernel(lowered(source, "k", **dims), TARGET), "npu2")
    golden = GOLDEN / f"{name}.mlir"
    if request.config.getoption("--update-golden"):
        golden.write_text(text, "utf-8")
    assert text == golden.read_text("utf-8")
