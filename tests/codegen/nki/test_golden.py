"""The emitted nki of a few kernels, as it is read: `--update-golden` writes it anew."""

from __future__ import annotations

from pathlib import Path

import dslc
import pytest

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "nki"
CASES: dict[str, tuple[str, str, dict[str, int]]] = {
    "vector_add": ("vector_add", "vector_add", {}),
    "softmax_rows": ("softmax", "softmax_rows", {"M": 4096, "N": 1024, "BM": 16}),
    "rmsnorm": ("rmsnorm", "rmsnorm", {"M": 4096, "H": 2048, "BM": 16}),
    "gemm": ("gemm", "gemm", {"M": 1000, "N": 1000, "K": 1000, "BM": 128, "BN": 256, "BK": 128}),
    "gemm_quantized": (
        "gemm_quantized",
        "gemm_quantized",
        {"M": 64, "N": 256, "K": 256, "BM": 16, "BN": 128, "BK": 128},
    ),
    "xuv": (
        "neuronmm",
        "xuv",
        {"M": 4096, "K": 7168, "R": 4096, "N": 18432, "BM": 1024, "BN": 1024, "BK": 512},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_text_is_the_golden_one(name: str, request: pytest.FixtureRequest) -> None:
    file, kernel, fixed = CASES[name]
    library = dslc.compile(ROOT / "examples" / f"{file}.tile", "nki:trn2", cache=False)
    text = library[kernel].specialize(**fixed).source("nki")
    path = GOLDEN / f"{name}.nki"
    if request.config.getoption("--update-golden"):
        path.write_text(text)
    assert path.read_text() == text
