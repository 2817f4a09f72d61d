"""Kernels for NPUs by the face: compiled for a call's sizes, run in the simulator, shown by inspect."""

from __future__ import annotations

from pathlib import Path

import dslc
import ml_dtypes
import numpy as np
import pytest
from dslc.cli.main import run
from dslc.compiler.diagnostics import DiagnosticError

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_a_call_with_ragged_sizes() -> None:
    library = dslc.compile(
        EXAMPLES / "rmsnorm.tile", target="aie:npu2", define={"T": "bf16"}, cache=False
    )
    rng = np.random.default_rng(3)
    x = rng.standard_normal((7, 50)).astype(ml_dtypes.bfloat16)
    g = rng.standard_normal(50).astype(ml_dtypes.bfloat16)
    y = np.zeros_like(x)
    library.rmsnorm(x, g, y)
    wide = x.astype(np.float32)
    wanted = wide / np.sqrt((wide * wide).mean(1, keepdims=True) + 1e-6) * g.astype(np.float32)
    np.testing.assert_allclose(y.astype(np.float32), wanted, rtol=1.6e-2, atol=1e-3)


def test_blocks_that_do_not_fit_are_not_chosen() -> None:
    library = dslc.compile(
        EXAMPLES / "gemm.tile", target="aie:npu2", define={"T": "bf16"}, cache=False
    )
    made = library.gemm.specialize(M=64, N=64, K=64)  # the first choices take 80 KB of a core
    assert "vector.contract" in made.source("aie-mlir")
    assert "aie.dma_bd" in made.source("aie-explicit")
    assert "aie.objectfifo" not in made.source("aie-explicit")


def test_dims_must_be_known() -> None:
    library = dslc.compile(EXAMPLES / "vector_add.tile", target="aie:npu2", cache=False)
    with pytest.raises(DiagnosticError):
        library.vector_add.specialize()


def test_inspect_shows_the_array(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "run.svg"
    arguments = ["inspect", str(EXAMPLES / "swiglu.tile"), "-t", "aie:npu2", "-D", "T=bf16"]
    arguments += ["--dim", "M=16", "--dim", "F=512", "--timeline", str(picture)]
    assert run(arguments) == 0
    shown = capsys.readouterr().out
    assert "us" in shown
    assert "column 0" in shown
    assert "core 0, 2" in picture.read_text()
