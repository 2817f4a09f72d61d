"""`dslc inspect` for Arm CPUs: what outside models take has an end."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from dslc.cli.main import run
from dslc.codegen.aarch64.tools.mca import VERSIONS, mca_path

GEMM = Path(__file__).parents[3] / "examples" / "gemm.tile"


@pytest.mark.skipif(not any(map(mca_path, VERSIONS)), reason="llvm-mca is not installed")
def test_simulations_end_with_the_budget(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["inspect", str(GEMM), "-k", "gemm", "-t", "aarch64:bf16", "--dim", "M=64"]
    begin = time.monotonic()
    assert run([*words, "--dim", "N=64", "--dim", "K=64", "--budget", "0.01"]) == 0
    assert time.monotonic() - begin < 60
    shown = capsys.readouterr()
    assert "llvm-mca:     0 of " in shown.out
    assert "--budget 0.04 gives it more" in shown.out
    assert "simulations of products" in shown.err
