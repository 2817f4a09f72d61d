"""Where things are: chunks of tiles, scalars, arrays, tiles in registers; what is known of loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from dslc.codegen.aarch64.chunks.formats import Format
from dslc.codegen.aarch64.machine_code.blocks import Reg
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import Linear, to_expr

Coordinates: TypeAlias = "tuple[int, ...]"


@dataclass(frozen=True, slots=True)
class At:
    """Which elements of a tile a chunk is: where it begins, and each lane's distance from there."""

    base: tuple[Linear, ...]
    lanes: tuple[Coordinates, ...]

    @property
    def count(self) -> int:
        """How many elements it is."""
        return len(self.lanes)

    def key(self) -> object:
        """What two equal chunks have in common."""
        return tuple(to_expr(b) for b in self.base), self.lanes


@dataclass(frozen=True, slots=True)
class Bound:
    """A scalar's register and the number of loops around its definition."""

    reg: Reg
    level: int


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


@dataclass(frozen=True, slots=True)
class Inside:
    """A fact of the current loops: `form` and the `count` - 1 numbers after it are below `extent`."""

    form: Linear
    count: int
    extent: ex.Expr


@dataclass(slots=True)
class Loops:
    """The variable of a loop as an arithmetic sequence."""

    var: ex.Var
    start: ex.Expr
    step: ex.Expr
