"""The same bits in other words: as another type of the same width, or with fewer axes."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from dslc.codegen.nki.dtypes import element
from dslc.codegen.nki.emission import Emission
from dslc.codegen.nki.tile_values import TileValue, dense_strides
from dslc.compiler.dtypes import DType


def flat(e: Emission, held: TileValue) -> TileValue:
    """A dense tile whose tensors have one axis behind the partitions."""
    if len(held.extents) == 1:
        return held
    name, width = e.out.name("flat"), prod(held.extents)
    if held.chunks > 1:
        e.out.line(f"{name} = [t.reshape((t.shape[0], {width})) for t in {held.name}]")
    else:
        e.out.line(f"{name} = {held.name}.reshape(({held.rows}, {width}))")
    strides = dense_strides(held.place, held.shape)
    return replace(held, name=name, extents=(width,), strides=strides)


def viewed(e: Emission, held: TileValue, dtype: DType) -> TileValue:
    """A tile's bits as elements of another type."""
    view, name = element(dtype), e.out.name("bits")
    if held.chunks > 1:
        e.out.line(f"{name} = [t.view({view}) for t in {held.name}]")
    else:
        e.out.line(f"{name} = {held.name}.view({view})")
    return replace(held, name=name, dtype=dtype)
