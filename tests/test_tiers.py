"""Two tiers: what `make test` samples of long tables, and that it is not nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.resuming import Resuming
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


_RUN = """
import sys, pytest
from support.resuming import Resuming
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", sys.argv[1]], plugins=[Resuming(*sys.argv[2:])]))
"""


def test_a_run_goes_on_where_it_ended_and_parts_share_the_tests(tmp_path: Path) -> None:
    file, passed = tmp_path / "test_ten.py", tmp_path / "passed"
    file.write_text(
        "import pytest\n@pytest.mark.parametrize('n', range(10))\ndef test_n(n): assert n != 7\n"
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    environment["PYTHONPATH"] = str(Path(__file__).parent)

    def run(shard: str) -> str:
        command = [sys.executable, "-c", _RUN, file, passed, shard]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        return done.stdout

    parts = [run(f"{part}/2") for part in (1, 2)]
    assert len(passed.read_text().splitlines()) == 9
    assert sorted("1 failed" in out for out in parts) == [False, True]
    assert "1 failed, 9 deselected" in run("")


@pytest.mark.parametrize("shard", ["0/2", "3/2", "2", "a/b"])
def test_a_part_that_is_none_is_said(shard: str) -> None:
    with pytest.raises(pytest.UsageError, match="which part of how many"):
        Resuming("", shard)
