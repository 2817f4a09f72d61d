"""Where things are: scalars, arrays, tiles in registers; which lanes of a chunk count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dslc.codegen.chunks.at import Coordinates
from dslc.compiler.dtypes import DType
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import Linear
from dslc.compiler.vector.types import VectorType, memory_bytes
from dslc.compiler.vector.values import Operand


def typed(dtype: DType, count: int) -> VectorType:
    """The register of a chunk: one element is a scalar."""
    return VectorType(dtype, None if count == 1 else count)


@dataclass(frozen=True, slots=True)
class Live:
    """The mask of a chunk's lanes that count, and the blocks around it. The first lane does."""

    mask: Operand
    level: int


@dataclass(frozen=True, slots=True, eq=False)
class Array:
    """Elements in memory: a tensor, a buffer or a materialised tile; strides are in elements.

    Elements of fewer than 8 bits may be `compact`: one after another, crossing bytes. `align` is a
    number of bytes that the first element's address is a multiple of, `level` the blocks around the
    pointer's definition.
    """

    pointer: Operand
    offset: int  # bytes from `pointer`
    dtype: DType
    shape: tuple[ex.Expr, ...]
    strides: tuple[Linear, ...]
    compact: bool = False
    align: int = 1
    level: int = 0

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return memory_bytes(VectorType(self.dtype))


@dataclass(frozen=True, slots=True, eq=False)
class InRegisters:
    """A part of a tile from an origin on, in chunks; they are read as they are, or not at all."""

    origin: tuple[Linear, ...]
    chunks: Mapping[tuple[Coordinates, ...], Operand]  # by the places of their lanes
