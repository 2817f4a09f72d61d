"""Tuning on a GPU, from the kernel to the call that uses the result."""

from __future__ import annotations

import time
from pathlib import Path

import dslc
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.library import Library
from dslc.runtime.cuda.device import CudaDevice

from support.tuning import SOURCE

pytestmark = pytest.mark.gpu
SIZES = {"M": 16, "K": 2048, "N": 2048}


@pytest.fixture
def lib(tmp_path: Path) -> Library:
    try:
        CudaDevice.get(0)
    except DiagnosticError as missing:
        pytest.skip(str(missing))
    return dslc.compile(SOURCE, "cuda", cache=tmp_path)


def test_the_tuned_kernel_is_used_and_right(lib: Library) -> None:
    began = time.monotonic()
    result = lib.gemm.tune(**SIZES, top=24)
    elapsed = time.monotonic() - began
    assert result.record is not None
    assert not result.found.dropped, [reason for _, reason in result.found.dropped]
    assert result.record.seconds <= result.record.default_seconds
    assert 1e-6 < result.record.seconds < 1e-3
    assert elapsed < 60
    rng = np.random.default_rng(0)
    a = rng.standard_normal((16, 2048)).astype(np.float16)
    w = rng.integers(0, 16, (2048, 2048), np.uint8)
    c = np.zeros((16, 2048), np.float16)
    lib.gemm(a, w, c)
    assert lib.gemm.specialize_for(SIZES).config == result.config
    expected = a.astype(np.float32) @ w.astype(np.float32)
    assert np.abs(c - expected).max() < 2e-2 * np.abs(expected).max()


def test_two_measurements_agree(lib: Library) -> None:
    times = []
    for _ in range(2):
        result = lib.scale.tune(N=1 << 26, s=2.0, top=3)
        assert result.record is not None
        times.append(result.record.seconds)
    assert max(times) < 1.15 * min(times)
    # 512 MB in all: no faster than the memory, and not many times slower.
    assert 1.0e-4 < times[0] < 3e-4


def test_the_first_call_may_tune(lib: Library, tmp_path: Path) -> None:
    library = dslc.compile(SOURCE, "cuda", cache=tmp_path / "other", autotune=True)
    x, y = np.ones(5000, np.float32), np.zeros(5000, np.float32)
    library.scale(x, 2.5, y)
    assert (y == 2.5).all()
    assert list((tmp_path / "other" / "tuning").glob("scale-*.json"))
