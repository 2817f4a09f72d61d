"""ldmatrix: shared memory to fragments, four matrices of eight rows of 16 bytes an instruction.

A register layout of 16-bit elements that divides by spatial(8, 4).local(1, 2) holds such matrices by
rows, as does one of 8-bit elements that divides by spatial(8, 4).local(1, 4). One of 16-bit elements
that divides by column_spatial(4, 8).local(2, 1) holds them transposed (PTX ISA, "ldmatrix"). Lane l
gives the address of row l % 8 of matrix l / 8.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from dslc.codegen.c_family.ctypes_of import memory_type
from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.exchanges.through_shared import thread_part
from dslc.codegen.c_family.indexing import add, fastest_run
from dslc.codegen.c_family.memory import accesses
from dslc.codegen.c_family.memory.accesses import pointer, swizzled_address
from dslc.codegen.c_family.memory.widths import multiple, strides
from dslc.compiler.ir import Memory, Place, Region
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.expr import Expr
from dslc.compiler.layout import Layout, column_spatial, divide, divisible, spatial
from numpy.typing import NDArray

ROWS = {bits: spatial(8, 4).local(1, 32 // bits) for bits in (8, 16)}
COLUMNS = column_spatial(4, 8).local(2, 1)
_SIDE = 8
_ROW_BITS = 128


@dataclass(frozen=True, slots=True)
class Matrices:
    """The matrices of a layout, `count` of them an instruction; `.trans` where transposed.

    `at` are their block coordinates: [warps, matrices, 2]; `columns` are the elements of a row.
    """

    at: NDArray[np.int64]
    count: int
    columns: int
    transposed: bool

    @property
    def suffix(self) -> str:
        """Of the names of the instructions that move them."""
        return f"x{self.count}{'_trans' if self.transposed else ''}"

    def rows(self, threads: int, first: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The row and column that each thread points to in the instruction that begins at `first`."""
        t = np.arange(threads)
        lane = t % 32
        which = first + lane // _SIDE % self.count
        block = self.at[t // 32, which]
        return block[:, 0] * _SIDE + lane % _SIDE, block[:, 1] * self.columns


def matrices(layout: Layout, bits: int) -> Matrices | None:
    """The layout of elements of so many bits as matrices, if it is made of them."""
    if layout.rank != 2 or layout.threads % 32 or bits not in ROWS:
        return None
    atoms = [(ROWS[bits], False), *([(COLUMNS, True)] if bits == 16 else [])]
    for atom, transposed in atoms:
        if divisible(layout, atom):
            table = divide(layout, atom).table()
            count = next(c for c in (4, 2, 1) if table.shape[1] % c == 0)
            return Matrices(table, count, _ROW_BITS // bits, transposed)
    return None


def _load_of_other(e: Emission, s: ins.Load, rank: Expr) -> None:
    """A load from the shared memory of another block of the cluster: its place there has an address."""
    memory = s.region.memory
    own = pointer(e, memory)
    there = e.out.name(f"{memory.name}_there")
    e.out.line(
        f"{memory_type(memory.dtype)}* const {there} = in_block({own}, (int)({e.scalar(rank)}));"
    )
    e.memories[memory] = there
    accesses.load(e, s)
    e.memories[memory] = own


def load(e: Emission, s: ins.Load) -> None:
    """A load, by ldmatrix where memory and layout allow it."""
    layout = s.out.type.layout
    if layout is None:  # a product reads it there
        e.in_memory[s.out] = s.region, False
        return
    if s.rank is not None:
        _load_of_other(e, s, s.rank)
        return
    tiles = matrices(layout, s.out.type.dtype.bits) if rows_fit(e, s.region) else None
    rows = row_addresses(e, s.region, tiles) if tiles is not None else None
    if tiles is None or rows is None:
        accesses.load(e, s)
        return
    tile = e.new(s.out, zero=False)
    for first, row in rows.items():
        e.out.line(f"ldmatrix_{tiles.suffix}(&{tile.name}[{first}], {row});")


def rows_fit(e: Emission, region: Region) -> bool:
    """Whether rows of 16 bytes lie together, aligned to as many, surely in bounds."""
    memory = region.memory
    last = region.axes[-1]
    if memory.place is not Place.SHARED or memory.dtype.bits not in ROWS or last.dropped:
        return False
    columns = _ROW_BITS // memory.dtype.bits
    if any(a.is_guarded or a.step != 1 for a in region.axes) or multiple(e, last.start) % columns:
        return False
    return _pitch(memory) % columns == 0


def _pitch(memory: Memory) -> int:
    """A number of elements that lie together along the last axis, in every row."""
    if memory.layout is not None:
        return fastest_run(memory.layout, memory.rank - 1)
    extent = constant(memory.shape[-1])
    return int(extent) if isinstance(extent, int) else 1


def row_addresses(e: Emission, region: Region, found: Matrices) -> dict[int, str] | None:
    """By the first matrix of each instruction, the row that a thread points to, as C.

    None where a thread's rows of the instructions do not lie at the same distances for all threads.
    """
    row, column = found.rows(e.threads, 0)
    offsets = {}
    for first in range(0, found.at.shape[1], found.count):
        r, c = found.rows(e.threads, first)
        dr, dc = r - row, c - column
        if (dr != dr[0]).any() or (dc != dc[0]).any():
            return None
        offsets[first] = int(dr[0]), int(dc[0])
    parts = [thread_part(x, e.threads) for x in (row, column)]
    if any(p is None for p in parts):
        return None
    row_at, column_at = (
        _named(e, hint, str(part)) for hint, part in zip(("row", "column"), parts, strict=True)
    )
    start = pointer(e, region.memory)
    return {
        first: f"{start} + {_address(e, region, (_plus(row_at, down), _plus(column_at, right)))}"
        for first, (down, right) in offsets.items()
    }


def _named(e: Emission, hint: str, text: str) -> str:
    """A thread's own index, computed once at the head of the kernel."""
    if text.isdigit():
        return text
    return e.bases.named(hint, text)


def _plus(name: str, offset: int) -> str:
    return name if offset == 0 else f"{name} + {offset}"


def _address(e: Emission, region: Region, inside: tuple[str, str]) -> str:
    """The offset in elements of a row of a matrix."""
    coordinates = []
    kept = iter(inside)
    for a in region.axes:
        start = e.scalar(a.start)
        coordinates.append(start if a.dropped else add(start, next(kept)))
    if region.memory.layout is not None:
        return swizzled_address(region.memory.layout, coordinates)
    parts = [
        f"({at}) * {e.scalar(stride)}"
        for at, stride in zip(coordinates, strides(region.memory), strict=True)
    ]
    return add(*parts)


EMITTERS: dict[type, Emitter] = {ins.Load: load}
