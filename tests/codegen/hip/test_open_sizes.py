"""Products whose sizes are known at the call only: copies by steps in registers, rounded stores."""

from __future__ import annotations

import re
from pathlib import Path

import dslc
import ml_dtypes
import numpy as np
import pytest
from dslc.runtime.hip_emulator import compiler

from support.hip.products import OPERANDS, SOURCE

pytestmark = [
    pytest.mark.usefixtures("clang"),
    pytest.mark.skipif(compiler() is None, reason="needs a C compiler"),
]
TYPES = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}


@pytest.mark.parametrize(("chip", "dtype"), [("gfx942", "f16"), ("gfx950", "bf16")])
def test_any_size_of_a_call(chip: str, dtype: str, tmp_path: Path) -> None:
    """K below a tile's, where steps are less than what an instruction adds by itself."""
    file = tmp_path / "gemm.tile"
    file.write_text(SOURCE.format(t=dtype, **OPERANDS["nt"]))
    gemm = dslc.compile(file, f"hip:{chip}").gemm
    rng = np.random.default_rng(0)
    for m, n, k in ((130, 144, 16), (33, 272, 80), (1, 16, 208)):
        a, b = (rng.integers(-3, 4, (rows, k)).astype(TYPES[dtype]) for rows in (m, n))
        c = np.full((m, n), np.nan, TYPES[dtype])
        gemm(a, b, c, BM=128, BN=128, BK=64)
        wanted = (a.astype(np.float32) @ b.astype(np.float32).T).astype(TYPES[dtype])
        np.testing.assert_array_equal(c.view(np.uint16), wanted.view(np.uint16))
    text = gemm.specialize_for({"M": m, "N": n, "K": k}, {"BM": 128, "BN": 128}).source("hip")
    assert re.search(r"load_to_lds_\d+_by_4\(to", text)
    assert "buffer_before(" in text
    assert "here(acc[" in text
