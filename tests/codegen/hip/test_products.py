"""Products of every type that the matrix cores take, in the emulator against NumPy."""

from __future__ import annotations

import re
from pathlib import Path

import dslc
import ml_dtypes
import numpy as np
import pytest
from dslc.runtime.hip_emulator import compiler

pytestmark = [
    pytest.mark.usefixtures("clang"),
    pytest.mark.skipif(compiler() is None, reason="needs a C compiler"),
]
SOURCE = """kernel product(a: {a}[M, K], b: {b}[N, K], c: out {c}[M, N]):
    const BK = {k}
    for m, n in parallel(range(0, M, 64), range(0, N, 64)):
        acc = zeros({c}, [64, 64])
        for k in range(0, K, BK):
            acc += dot(a[m : m + 64, k : k + BK], transpose(b[n : n + 64, k : k + BK]))
        c[m : m + 64, n : n + 64] = acc
"""
# Operands, result, k of an iteration, the instruction of each chip.
CASES = [
    ("f16", "f16", "f32", 64, "16x16x16_f16", "16x16x32_f16"),
    ("bf16", "bf16", "f32", 64, "16x16x16_bf16", "16x16x32_bf16"),
    ("i8", "i8", "i32", 64, "16x16x32_i8", "16x16x64_i8"),
    ("f32", "f32", "f32", 32, "16x16x4_f32", "16x16x4_f32"),
    ("f8e4m3", "f8e5m2", "f32", 32, "16x16x16_f16", "16x16x32_fp8_bf8|16x16x32_bf8_fp8"),
    ("f8e5m2", "f8e4m3", "f32", 128, "16x16x16_f16", "16x16x128_f8f6f4"),
]
NUMPY = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8, "i32": np.int32,
    "f32": np.float32, "f8e4m3": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2,
}  # fmt: skip


@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]}-{c[1]}-{c[3]}")
def test_products(case: tuple[str, str, str, int, str, str], chip: str, tmp_path: Path) -> None:
    left, right, result, k, *instructions = case
    file = tmp_path / "product.tile"
    file.write_text(SOURCE.format(a=left, b=right, c=result, k=k))
    kernel = dslc.compile(file, f"hip:{chip}", define={"K": 256})["product"]
    rng = np.random.default_rng(0)
    a, b = (
        rng.integers(-4, 5, (rows, 256)).astype(NUMPY[t]) for t, rows in ((left, 70), (right, 65))
    )
    c = np.zeros((70, 65), NUMPY[result])
    kernel(a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)
    wanted = instructions[chip == "gfx950"]
    isa = kernel.specialize_for({"M": 70, "N": 65, "K": 256}).source("isa")
    found = re.search(rf"v_mfma_[fi]32_(?:{wanted})", isa)
    assert (found is not None) if wanted else ("v_mfma" not in isa)
