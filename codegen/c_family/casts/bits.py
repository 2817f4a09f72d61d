"""Packed registers seen by their bits: views and reorderings that no instruction carries out.

A View renames bits, and a conversion between layouts that keeps every element in its thread moves them
only on paper, as long as what reads the tile can read bits where they lie. Casts can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from dslc.codegen.c_family.ctypes_of import is_packed
from dslc.codegen.c_family.registers import Tile
from dslc.codegen.c_family.unrolling import linear_loops
from dslc.codegen.c_family.writer import Writer
from dslc.compiler.dtypes import DType
from numpy.typing import NDArray

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Bits:
    """Bit b of element i is bit `at[i, b]` of the words of the array `name`, the lowest first."""

    name: str
    at: Positions  # [elements, bits]

    def viewed(self, dtype: DType) -> Bits:
        """The same bits in elements of another width."""
        return Bits(self.name, self.at.reshape(-1, dtype.bits))

    def picked(self, elements: Sequence[int]) -> Bits:
        """Some elements, in that order."""
        return Bits(self.name, self.at[list(elements)])

    @property
    def in_order(self) -> bool:
        """Whether the bits follow each other, so that the array is the tile."""
        return bool((self.at.reshape(-1) == np.arange(self.at.size)).all())


def bits_of(tile: Tile) -> Bits:
    """The bits of a packed tile."""
    assert is_packed(tile.dtype)
    return Bits(tile.name, np.arange(tile.count * tile.dtype.bits).reshape(tile.count, -1))


def runs(at: Positions) -> list[tuple[int, int, int]]:
    """An element's bits in runs of neighbours of a word: (its first bit, where it is, how many)."""
    starts: list[tuple[int, int, int]] = []
    for bit, place in enumerate(int(p) for p in at):
        if starts:
            first, start, count = starts[-1]
            if place == start + count and place % 32:
                starts[-1] = (first, start, count + 1)
                continue
        starts.append((bit, place, 1))
    return starts


def collect(out: Writer, bits: Bits, tile: Tile) -> None:
    """Write the elements one after another into a tile of zeros."""
    width = bits.at.shape[1]
    rows: dict[int, list[tuple[int, int]]] = {}
    for element, at in enumerate(bits.at):
        for first, place, count in runs(at):
            to = element * width + first
            before = 32 - to % 32
            if before < count:  # the run ends in the next word
                rows.setdefault(before, []).append((to, place))
                rows.setdefault(count - before, []).append((to + before, place + before))
            else:
                rows.setdefault(count, []).append((to, place))
    for count, moves in rows.items():
        for target, source in linear_loops(out, np.array(moves)):
            out.line(f"move_bits<{count}>({tile.name}, {target}, {bits.name}, {source});")
