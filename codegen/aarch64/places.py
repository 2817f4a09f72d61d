"""Where things are: scalars, arrays, tiles in registers; what is known of loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from dslc.codegen.aarch64.chunks.formats import Format
from dslc.codegen.aarch64.machine_code.blocks import Reg
from dslc.codegen.chunks.at import Coordinates
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import Linear

Blocks: TypeAlias = "tuple[tuple[int, int], tuple[int, int]]"


@dataclass(frozen=True, slots=True, eq=False)
class Array:
    """Elements in memory: a tensor, a buffer or a materialised tile; strides are in elements.

    With `blocks` the last two axes are cut into blocks: for each of them the size of a block and the
    stride within it; `strides` are then those from block to block. Elements of fewer than 8 bits may
    be `compact`: one after another, crossing bytes.
    """

    base: Reg
    offset: int  # bytes from `base`
    form: Format
    shape: tuple[ex.Expr, ...]
    strides: tuple[Linear, ...]
    alias: object
    blocks: Blocks | None = None
    compact: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class InRegisters:
    """A tile, or the part of one from an origin on, whose elements have registers and lanes."""

    form: Format
    places: Mapping[Coordinates, tuple[Reg, int]]
    origin: tuple[Linear, ...] = ()


@dataclass(slots=True)
class Loops:
    """The variable of a loop as an arithmetic sequence."""

    var: ex.Var
    start: ex.Expr
    step: ex.Expr
