"""The same bits seen as another type of the same width."""

from __future__ import annotations

from dataclasses import replace

from dslc.codegen.nki.dtypes import element
from dslc.codegen.nki.emission import Emission
from dslc.codegen.nki.held import Held
from dslc.compiler.dtypes import DType


def viewed(e: Emission, held: Held, dtype: DType) -> Held:
    """A tile's bits as elements of another type."""
    view, name = element(dtype), e.out.name("bits")
    if held.chunks > 1:
        e.out.line(f"{name} = [t.view({view}) for t in {held.name}]")
    else:
        e.out.line(f"{name} = {held.name}.view({view})")
    return replace(held, name=name, dtype=dtype)
