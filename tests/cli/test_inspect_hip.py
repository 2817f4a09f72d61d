"""`dslc inspect` of a kernel for AMD GPUs: registers, LDS, occupancy, the main loop, the time."""

from __future__ import annotations

from pathlib import Path

import pytest
from dslc.cli.main import run
from dslc.codegen.hip.compilers import compilers

SOURCE = """kernel gemm(a: f16[M, K], b: f16[N, K], c: out f16[M, N]):
    for m, n in parallel(range(0, M, 64), range(0, N, 64)):
        acc = zeros(f32, [64, 64])
        for k in range(0, K, 64):
            acc += dot(a[m : m + 64, k : k + 64], transpose(b[n : n + 64, k : k + 64]))
        c[m : m + 64, n : n + 64] = cast(acc, f16)
"""

pytestmark = pytest.mark.skipif(
    next(compilers(), None) is None, reason="needs a clang for AMD GPUs: pip install ziglang"
)


def test_inspect_says_what_a_kernel_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "gemm.tile"
    file.write_text(SOURCE)
    assert run(["inspect", str(file), "-t", "hip:gfx950", "--dim", "K=1024"]) == 0
    text = capsys.readouterr().out
    for label in (
        "workgroup:",
        "lane:",
        "occupancy:",
        "instructions:",
        "main loop:",
        "times:",
        "predicted:",
    ):
        assert label in text
    assert "nothing spilled" in text
    loop = next(line for line in text.splitlines() if "main loop:" in line)
    assert "% matrix" in loop
