"""Matrix descriptors: what wgmma is told of an operand in shared memory, proved by enumeration.

A descriptor has a start, two strides and a swizzle (PTX ISA 8.5, "Matrix descriptor format"). With w
bytes in a row, the width of the swizzle, the unit finds element (i, k) of an instruction's operand, i
along m or n, at the byte

    k along the rows     i / 8 * stride + i % 8 * w + k * size
    i along the rows     i * size / w * leading + k / 8 * stride + k % 8 * w + i * size % w

past the start, and exchanges bits 4.. of the address by bits 7.. . Whether a memory's layout, with its
swizzle in the algebra, puts the element there is checked for every element of every instruction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from dslc.codegen.c_family.products.instruction_operands import Mismatch
from dslc.compiler.ir import Region
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.layout import Layout, Mode
from dslc.compiler.layout.inversion import local_numbers
from numpy.typing import NDArray

Indices = NDArray[np.int64]
_CHUNK, _ROWS, _LINE = 16, 8, 128
SWIZZLES = {128: 1, 64: 2, 32: 3}  # the code of a swizzle of that many bytes


@dataclass(frozen=True, slots=True)
class Format:
    """How an operand lies: bytes of the swizzle and the strides; `along` where k is in the rows."""

    swizzle: int
    leading: int
    stride: int
    along: bool

    def places(self, i: Indices, k: Indices, size: int) -> Indices:
        """The byte of each element past the start, before the swizzle."""
        if self.along:
            return i // _ROWS * self.stride + i % _ROWS * self.swizzle + k * size
        block, inside = np.divmod(i * size, self.swizzle)
        return block * self.leading + k // _ROWS * self.stride + k % _ROWS * self.swizzle + inside

    def swizzled(self, at: Indices) -> Indices:
        """The address from which the unit reads."""
        return at ^ (at // _LINE % (self.swizzle // _CHUNK)) * _CHUNK


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of all instructions: its format, and the byte at which each of its tiles starts."""

    format: Format
    starts: Indices


def operand(
    memory: Layout, bits: int, along: bool, tile: tuple[int, int], origins: Indices
) -> Operand:
    """The descriptors' facts for tiles of `tile` = (i, k) at `origins` (i, k) of a memory layout.

    The memory has the rows of a row-major tile on its first axis; `along` says that k runs along them.
    Raises Mismatch where the layout is none that the unit reads.
    """
    plain = Layout(memory.shape, (), memory.local_modes)
    size = bits // 8

    def place(layout: Layout, i: Indices, k: Indices) -> Indices:
        numbers: Indices = local_numbers(layout, [i, k] if along else [k, i]) * size
        return numbers

    starts = place(plain, origins[:, 0], origins[:, 1])
    i, k = (x.reshape(-1) for x in np.indices(tile))
    wanted = place(memory, origins[:, :1] + i, origins[:, 1:] + k)
    for width in SWIZZLES:
        form = _format(plain, size, along, tile, width)
        if form is None:
            continue
        reads = form.swizzled(starts[:, None] + form.places(i, k, size))
        if (reads == wanted).all():
            return Operand(form, starts)
    raise Mismatch("its layout in shared memory is none from which the unit can read")


def placed(region: Region) -> tuple[Layout, list[tuple[ex.Expr, int]]]:
    """The layout of the two axes of the tile, and the bytes that an index of the ring counts.

    Raises Mismatch where that is not one tile of a ring.
    """
    memory = region.memory
    layout, size = memory.layout, memory.dtype.bits // 8
    kept = [d for d, a in enumerate(region.axes) if not a.dropped]
    if layout is None or len(kept) != 2:
        raise Mismatch("it is no tile of a memory with a layout")
    starts = [constant(region.axes[d].start) for d in kept]
    if any(starts) or any(region.axes[d].size != layout.shape[d] for d in kept):
        raise Mismatch("it is a part of what lies in memory together")
    weight = 1
    slots: list[tuple[ex.Expr, int]] = []
    modes: list[Mode] = []
    for mode in reversed(layout.local_modes):
        if mode.axis in kept:
            modes.insert(0, Mode(mode.size, kept.index(mode.axis), mode.stride))
            if slots:
                raise Mismatch("the tiles of a ring do not lie one after another")
        else:
            slots.append((region.axes[mode.axis].start, weight * size))
        weight *= mode.size
    swizzles = [s for s in layout.swizzles if s.dim in kept and s.source in kept]
    if len(slots) > 1 or len(swizzles) != len(layout.swizzles):
        raise Mismatch("the tiles of a ring do not lie one after another")
    places = [kept.index(d) if d in kept else -1 for d in range(layout.rank)]
    shape = tuple(layout.shape[d] for d in kept)
    return Layout(shape, (), tuple(modes), tuple(s.moved(places) for s in swizzles)), slots


def _format(
    plain: Layout, size: int, along: bool, tile: tuple[int, int], width: int
) -> Format | None:
    """The strides that the first tile has, for a swizzle of that width."""

    def at(i: int, k: int) -> int:
        inside = all(x < n for x, n in zip((i, k) if along else (k, i), plain.shape, strict=True))
        return int(local_numbers(plain, [i, k] if along else [k, i])) * size if inside else 0

    if along:
        return Format(width, 0, at(_ROWS, 0), along) if tile[1] * size <= width else None
    return Format(width, at(width // size, 0), at(0, _ROWS), along)


def repeats(format_: Format) -> int:
    """The bytes after which the swizzle begins anew: starts of memories are multiples."""
    return _ROWS * format_.swizzle


def separated(starts: Indices, groups: int, steps: Sequence[int]) -> tuple[Indices, Indices]:
    """Starts [groups, *steps] as a part of the group plus a part of the step; Mismatch otherwise."""
    table = starts.reshape(groups, *steps)
    own = table.reshape(groups, -1)[:, 0]
    if (table - own.reshape(-1, *(1,) * len(steps)) != table[:1] - own[0]).any():
        raise Mismatch("the groups of warps read operands that lie differently")
    return own, table[0] - own[0]
