"""Tuning for AMD GPUs, which nothing here drives: the cost model times what the compiler made."""

from __future__ import annotations

from pathlib import Path

import dslc
import pytest
from dslc.codegen.hip.compilers import compilers
from dslc.tuner.tuning import Request, Settings, tune

pytestmark = pytest.mark.skipif(
    next(compilers(), None) is None, reason="needs a clang for AMD GPUs"
)
SOURCE = """kernel scale(x: f32[N], y: out f32[N]):
    tune BN = 64 | 8192
    for n in parallel(range(0, N, BN)):
        y[n : n + BN] = x[n : n + BN] * full(f32, [BN], 2.0)
"""


def test_the_model_ranks_and_the_result_is_kept(tmp_path: Path) -> None:
    """Turns of 64 elements leave lanes without work; which is best is kept with its chip."""
    file, cache = tmp_path / "scale.tile", tmp_path / "cache"
    file.write_text(SOURCE)
    kernel = dslc.compile(file, "hip:gfx950", cache=cache).scale
    settings = Settings(top=3, jobs=1)
    result = tune(kernel.origin, Request({"N": 1 << 22}, settled={"warps": 4}), settings)
    record = result.record
    assert record is not None
    assert record.device == "AMD Instinct MI355X (modelled)"
    assert record.environment.target == "hip:gfx950"
    measured = result.found.measured
    assert len(measured) >= 2
    assert record.seconds == min(c.seconds for c in measured if c.seconds is not None)
    again = dslc.compile(file, "hip:gfx950", cache=cache).scale
    assert again.specialize_for({"N": 1 << 22}).config == result.config
    other = dslc.compile(file, "hip:gfx942", cache=cache).scale
    assert other.origin.tuned.known() == []
