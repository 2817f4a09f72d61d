"""Two tiers: what `make test` samples of long tables, and that it is not nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.tiers import stays


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_each_row_and_column_of_a_table_has_a_case_that_stays(n: int) -> None:
    there = [divmod(case, n) for case in range(n * n) if stays(case, n)]
    assert sorted(row for row, _ in there) == list(range(n))
    assert sorted(column for _, column in there) == list(range(n))


def test_every_example_stays_in_the_short_tier() -> None:
    """By what pytest itself collects: each kernel of the examples' table, on more machines than one."""
    files = ["emulated", "emulated_hip", "compiled", "examples_arm", "nki"]
    root = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "not deep and not gpu"]
    found = [p for f in files for p in (root / "tests" / "examples").rglob(f"test_{f}.py")]
    command += [str(path) for path in found]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    names = [line for line in done.stdout.splitlines() if "::" in line]
    for kernel in ("softmax", "gemm_quantized", "attention", "mlp", "lm_head"):
        here = {f for f in files for n in names if f"test_{f}.py::" in n and f"[{kernel}-" in n}
        assert len(here) >= 2, (kernel, here)
