"""Instructions are counted for what writes tiles as for what makes them."""

from __future__ import annotations

import pytest
from dslc.compiler.ir import Kernel
from dslc.compiler.passes.trainium.unroll_budget import instructions

from support.nki.trainium import lower

COPY = """kernel copy[](@x: in f32[{rows}, 64], @y: out f32[{rows}, 64]) {{
  %a = load @x[0 : +{rows}!, 0 : +64!] : f32[{rows}, 64]
  store @y[0 : +{rows}!, 0 : +64!], %a
}}
"""


@pytest.mark.parametrize("chunks", [1, 3, 7])
def test_a_tile_of_several_chunks_is_stored_as_it_is_loaded(chunks: int) -> None:
    kernel = lower(COPY.format(rows=128 * chunks))
    assert isinstance(kernel, Kernel)
    load, store = kernel.body
    assert instructions((load,)) == instructions((store,)) == chunks
