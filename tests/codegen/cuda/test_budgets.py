"""What main loops cost in machine code: no more than can be issued while memory delivers weights."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "casts.py"


@pytest.fixture(scope="module")
def casts(nvdisasm: None) -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmark_casts", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Lane-instructions a weight, a little above what they are.
@pytest.mark.parametrize(
    ("weights", "most"),
    [
        ("u1", 0.97),
        ("u2", 1.3),
        ("u3", 1.7),
        ("u4", 1.3),
        ("u6", 1.9),
        ("i4", 1.8),
        ("f6e3m2", 2.8),
    ],
)
def test_a_weight_costs_no_more(casts: ModuleType, weights: str, most: float) -> None:
    loop, each = casts.main_loop(weights)
    assert each <= most <= casts.BUDGET[int(weights[1])]
    assert not loop.spills()
    assert loop.count("HMMA") > 0
