"""`dslc inspect` for NPUs: the simulated run has an end."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from dslc.cli.main import run

GEMM = Path(__file__).parents[3] / "examples" / "gemm.tile"


def test_a_run_ends_with_the_budget(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["inspect", str(GEMM), "-k", "gemm", "-t", "aie:npu2", "-D", "T=bf16"]
    begin = time.monotonic()
    assert (
        run([*words, "--dim", "M=128", "--dim", "N=128", "--dim", "K=128", "--budget", "0.001"])
        == 0
    )
    assert time.monotonic() - begin < 100
    shown = capsys.readouterr()
    assert "modelled:     no run within 0.001 s; --budget 0.004 gives it more" in shown.out
    assert "running the simulator" in shown.err
