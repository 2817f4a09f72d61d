"""The text of a few kernels as it stands: what a change does to emitted code is seen in its diff."""

from __future__ import annotations

from pathlib import Path

import pytest
from dslc.codegen.aarch64.generate import emit
from dslc.compiler.ir import Kernel
from dslc.compiler.passes.pass_lists.cpu import aarch64_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target

from support.kernels import one

GOLDEN = Path(__file__).parents[2] / "golden" / "aarch64"
KERNELS = {
    "add": """
kernel add(x: f32[N], y: f32[N], z: out f32[N]):
    require N % 64 == 0
    for n in parallel(range(0, N, 64)):
        z[n : n + 64] = x[n : n + 64] + y[n : n + 64]
""",
    "largest": """
kernel largest(x: f16[M, N], y: out f16[M]):
    require N % 64 == 0
    for m in parallel(range(M)):
        top = full(f16, [1], -inf)
        for n in range(0, N, 64):
            top = maximum(top, max(x[m : m + 1, n : n + 64], 1))
        y[m : m + 1] = top
""",
    "product": """
kernel product(a: i8[M, K], w: u4[K, N], c: out i32[M, N]):
    require M % 12 == 0
    require N % 8 == 0
    require K % 64 == 0
    for m, n in parallel(range(0, M, 12), range(0, N, 8)):
        acc = zeros(i32, [12, 8])
        for k in range(0, K, 64):
            acc += dot(a[m : m + 12, k : k + 64], cast(w[k : k + 64, n : n + 8], i8))
        c[m : m + 12, n : n + 8] = acc
""",
}


@pytest.mark.parametrize("name", KERNELS)
def test_golden(name: str, request: pytest.FixtureRequest) -> None:
    target = find_target("aarch64:i8mm")
    kernel = run_passes(one(KERNELS[name]), aarch64_passes())
    assert isinstance(kernel, Kernel)
    found, path = emit(kernel, target).text, GOLDEN / f"{name}.s"
    if request.config.getoption("--update-golden"):
        path.write_text(found)
    assert found == path.read_text()


def test_the_same_program_gives_the_same_text() -> None:
    target = find_target("aarch64:i8mm")
    texts = set()
    for _ in range(2):
        kernel = run_passes(one(KERNELS["product"]), aarch64_passes())
        assert isinstance(kernel, Kernel)
        texts.add(emit(kernel, target).text)
    assert len(texts) == 1
