"""Swizzled shared layouts: how operands lie that a matrix unit (wgmma) reads from shared memory itself.

    f16[128, 128]  ->  two column blocks of 128 rows of 64 elements, one after the other

A column block is as wide as the unit's swizzle: 128, 64 or 32 bytes. Within it the 16-byte chunk of a
row is exchanged by the number of the row, so that eight rows' chunks lie in different banks (PTX ISA
8.5, "Shared memory matrix layout"). Rows of the tile are rows of a column block whichever axis is the
product's k: the unit takes operands with k along the rows or down the columns, for 16-bit elements.
"""

from __future__ import annotations

from dslc.compiler.diagnostics import Loc
from dslc.compiler.ir.expr import index
from dslc.compiler.ir.regions import whole
from dslc.compiler.ir.values import Memory, Place, Region, Role
from dslc.compiler.layout import Layout, Mode
from dslc.compiler.layout.swizzles import Swizzle

SWIZZLES = (128, 64, 32)  # bytes of a row
ALIGNMENT = 1024  # bytes after which the widest swizzle repeats
_CHUNK = 16  # bytes
_ROWS = 8  # that share a key at most
_LINE = 128  # bytes in which every bank is met once


def swizzle_width(tile: tuple[int, ...], bits: int) -> int | None:
    """The width of the column blocks of a row-major tile; None where it does not divide into any."""
    if len(tile) != 2 or bits % 8 or tile[0] % _ROWS:
        return None
    row = tile[1] * bits // 8
    return next((width for width in SWIZZLES if row % width == 0), None)


def swizzled_tile(like: Memory, shape: tuple[int, ...], loc: Loc | None) -> Region:
    """All of a new buffer `like_tile` in shared memory, for a tile that lies in column blocks."""
    memory = Memory(
        f"{like.name}_tile",
        like.dtype,
        tuple(map(index, shape)),
        Role.BUFFER,
        Place.SHARED,
        layout=swizzled_layout(shape, like.dtype.bits),
        loc=loc,
    )
    return whole(memory, shape)


def swizzled_layout(tile: tuple[int, ...], bits: int) -> Layout | None:
    """The memory layout of a tile in column blocks; None where it does not divide into any."""
    width = swizzle_width(tile, bits)
    if width is None:
        return None
    rows, columns = tile
    wide, chunk = width * 8 // bits, _CHUNK * 8 // bits
    modes = (Mode(columns // wide, 1, wide), Mode(rows, 0, 1), Mode(wide, 1, 1))
    together = _LINE // width  # rows in a line of banks share a key
    keys = width // _CHUNK
    return Layout(tile, (), modes, (Swizzle(1, chunk, keys, 0, together, keys),))
