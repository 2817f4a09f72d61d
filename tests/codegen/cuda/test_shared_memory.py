"""Shared memory of buffers and of exchanges between threads together must fit the machine."""

from __future__ import annotations

from pathlib import Path

import dslc
import pytest

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "gemm_quantized.tile"


def test_exchanges_beside_rings_that_fill_the_memory_are_refused() -> None:
    # Rows of 205 columns are stored through shared memory, beside six stages that the call names.
    library = dslc.compile(EXAMPLE, target="cuda:sm_90a", define={"W": "u4"}, cache=False)
    kernel = library["gemm_quantized"]
    choices = {"BM": 256, "BN": 128, "BK": 64, "warps": 8}
    with pytest.raises(dslc.DiagnosticError) as refused:
        kernel.specialize(K=640, N=205, stages=6, **choices)
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.code == "DSL0501"
    assert "for exchanges between threads" in diagnostic.message
    assert "fewer stages" in diagnostic.hint
    # Left to itself the compiler keeps room for them.
    made = kernel.specialize(K=640, N=205, **choices)
    assert made.artifact.shared_bytes <= 232448
