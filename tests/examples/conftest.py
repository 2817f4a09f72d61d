"""The references import one another, and so do the examples, as when one is run as a script."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "examples")]


@pytest.fixture(autouse=True)
def uncached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test compiles: a kernel from the user's cache would hide an error."""
    monkeypatch.setenv("DSLC_CACHE", "off")
