"""Instructions of units that multiply matrices: tiles of rows of bytes, which are registers by number.

A unit has `TILES` of them; the code that uses them configures their shapes first, and at its end
releases them. A product of tiles adds to sums of 32 bits, a row of which are words of columns:

    sums[i, j] + sum over t of a[i, t] * b[j, t]

a has a row of elements for each row of sums; b has a row for each word of k, in it that word of every
column, so `depth` elements of k side by side (`TILE_ATOMS`). Sums of integers wrap.

Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18 (AMX).
"""

from __future__ import annotations

from dataclasses import dataclass

from dslc.compiler.diagnostics import Loc
from dslc.compiler.ir.located import loc_field as _loc
from dslc.compiler.vector.atoms import DotAtom, atom_of
from dslc.compiler.vector.values import Operand

TILES, ROWS, ROW_BYTES = 8, 16, 64
TILE_ATOMS: dict[str, DotAtom] = {
    atom.name: atom
    for atom in (
        atom_of("tdpbssd", "i8 i8 i32", 4),
        atom_of("tdpbsud", "i8 u8 i32", 4),
        atom_of("tdpbusd", "u8 i8 i32", 4),
        atom_of("tdpbuud", "u8 u8 i32", 4),
        atom_of("tdpbf16ps", "bf16 bf16 f32", 2),
    )
}
"""The products by their names, which are the machine's mnemonics."""


@dataclass(frozen=True, slots=True, eq=False)
class TileConfigure:
    """Shapes of all tiles, each so many rows of so many bytes; they hold zeros then."""

    rows: tuple[int, ...]
    row_bytes: tuple[int, ...]
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class TileRelease:
    """No tile is configured any longer."""

    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class TileZero:
    """A tile of zeros."""

    tile: int
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class TileLoad:
    """A tile's rows from memory, `stride` bytes apart."""

    pointer: Operand
    offset: Operand
    stride: Operand
    tile: int
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class TileStore:
    """A tile's rows to memory, `stride` bytes apart."""

    pointer: Operand
    offset: Operand
    stride: Operand
    tile: int
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class TileDot:
    """The tile `sums` plus the product of the tiles a and b, by the atom of that name."""

    atom: str
    sums: int
    a: int
    b: int
    loc: Loc | None = _loc()
