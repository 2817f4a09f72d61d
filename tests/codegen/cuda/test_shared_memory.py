"""Shared memory of buffers and of exchanges between threads together must fit the machine."""

from __future__ import annotations

from pathlib import Path

import dslc
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.text.parser import parse_program

from support.gpu.emulation import emitted, lower

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "gemm_quantized.tile"
BETWEEN = """kernel k[](@x: in i32[16384], @y: out i32[16384]) {
  threads(256)
  alloc @a: buffer shared i32[49152]
  %v = load @x[0 : +16384!] : i32[16384] `local(64).spatial(256)`
  store @a[0 : +16384!], %v
  sync
  %s = scan sum %v, axis=0 : i32[16384] `local(64).spatial(256)`
  store @y[0 : +16384!], %s
  %w = load @a[0 : +16384!] : i32[16384] `local(64).spatial(256)`
  store @y[0 : +16384!], %w
}
"""


def test_exchanges_beside_buffers_that_fill_the_memory_are_refused() -> None:
    lowered = lower(parse_program(BETWEEN))
    assert isinstance(lowered, Kernel)
    with pytest.raises(DiagnosticError) as refused:
        emitted(lowered)
    (diagnostic,) = refused.value.diagnostics
    assert diagnostic.code == "DSL0501"
    assert "196608 for its buffers and 65536 for exchanges between threads" in diagnostic.message
    assert "fewer stages" in diagnostic.hint


def test_after_a_loop_exchanges_have_the_memory_of_its_rings() -> None:
    # Rows of 205 columns are stored through shared memory, after six stages that the call names.
    library = dslc.compile(EXAMPLE, target="cuda:sm_90a", define={"W": "u4"}, cache=False)
    choices = {"BM": 256, "BN": 128, "BK": 64, "warps": 8}
    made = library["gemm_quantized"].specialize(K=640, N=205, stages=6, **choices)
    assert made.artifact.shared_bytes <= 232448
