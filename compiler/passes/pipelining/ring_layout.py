"""Where the stages of a ring lie in shared memory, how they are swizzled, and which thread copies what.

A row-major tile makes threads that walk down a column meet in a bank. The remedy is a swizzle, which
changes the 16-byte chunk of a row by the number of the row; which rows share a key and how many chunks
stay side by side is searched. The bank model of the machine judges each against what is known to
happen: the copies' writes, the reads by the register layout, and, for operands of a matrix unit, the
reads of eight rows' chunks at once (`ldmatrix`). The first without a conflict is taken, else the one
with the fewest cycles. Padded rows would cost memory and serve no tile better, since they too keep
chunks whole.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd, prod

from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.layout import (
    BankModel,
    Conflicts,
    Layout,
    bank_conflicts,
    compose,
    contiguity,
    local,
    replicate,
    reshape,
    spatial,
)
from dslc.compiler.layout.neighbours import neighbours_last
from dslc.compiler.layout.swizzles import Swizzle
from dslc.compiler.passes.pipelining.linear_copies import linear_layout
from dslc.compiler.passes.pipelining.swizzled_shared import swizzled_layout

_CHUNK_BYTES = 16
_SECTOR_BYTES = 32  # what global memory moves at least
_MATRIX_ROWS = 8


@dataclass(frozen=True, slots=True)
class Placement:
    """A stage in shared memory: its extents and its layout, row-major where None.

    `copy` says which thread copies which element; None where the generator may choose. `private` is
    where each thread reads exactly what it copies itself, `conflicts` what accesses cost beyond one
    cycle a phase, by what they are.
    """

    shape: tuple[int, ...]
    layout: Layout | None = None
    copy: Layout | None = None
    private: bool = False
    conflicts: tuple[tuple[str, int], ...] = ()

    def ring(self, slots: int) -> tuple[tuple[int, ...], Layout | None]:
        """The extents and the layout of as many stages."""
        shape = (slots, *self.shape)
        if self.layout is None:
            return shape, None
        return shape, compose(local(slots, *(1,) * len(self.shape)), self.layout)

    def explain(self) -> str:
        """What was proved, or what is left: a phrase for reports."""
        if not self.conflicts:
            return "not proved: no layout of the reader or no bank model"
        left = [f"{name} {extra}" for name, extra in self.conflicts if extra]
        return "free of conflicts" if not left else "extra cycles: " + ", ".join(left)


@functools.lru_cache(maxsize=256)
def place(
    tile: tuple[int, ...],
    bits: int,
    width: int,
    reader: Layout | None,
    banks: BankModel | None,
    linear: tuple[int, ...] = (),
) -> Placement:
    """The placement of a tile of `bits`-bit elements that is copied `width` at a time.

    `reader` is the register layout by which it is loaded; where there is none, nothing can be proved
    and the stage is row-major. `linear` are the bytes of a lane's copy on a machine that puts a warp's
    copies down in the order of its lanes.
    """
    if reader is None:
        return Placement(tile)
    if linear and banks is not None:
        return _linear(tile, bits, width, reader, banks, linear)
    private = _is_coalesced(reader, width, bits)
    copy = reader if private else copy_layout(tile, width, reader.threads)
    if banks is None:
        return Placement(tile, None, copy, private)
    placements: list[tuple[int, Placement]] = []
    for layout in _candidates(tile, bits):
        memory = layout if layout is not None else local(*tile)
        cost = _cost(bits, width, (copy, reader), memory, banks)
        total = sum(extra for _, extra in cost)
        placements.append((total, Placement(tile, layout, copy, private, cost)))
        if total == 0:
            break
    return min(placements, key=lambda f: f[0])[1]


def _linear(
    tile: tuple[int, ...],
    bits: int,
    width: int,
    reader: Layout,
    banks: BankModel,
    sizes: tuple[int, ...],
) -> Placement:
    """The placement on a machine whose copies follow the lanes: they meet no bank twice."""
    whole = width * bits // 8
    count = next((size * 8 // bits for size in sizes if whole % size == 0), None)
    read = neighbours_last(reader, len(tile) - 1)
    placements: list[tuple[int, Placement]] = []
    for layout in _candidates(tile, bits):
        memory = layout if layout is not None else local(*tile)
        cost = (("reads", _extra(bank_conflicts(read, memory, bits, banks))),)
        copy = (
            linear_layout(tile, layout, count, reader.threads, banks.warp_size) if count else None
        )
        placed = Placement(
            tile, layout, copy or copy_layout(tile, width, reader.threads), False, cost
        )
        placements.append((cost[0][1], placed))
        if not cost[0][1]:
            break
    return min(placements, key=lambda f: f[0])[1]


def box_placement(
    tile: tuple[int, ...], bits: int, reader: Layout, banks: BankModel | None
) -> Placement | None:
    """The placement of a box that threads read by a layout, as the unit that copies boxes puts it down.

    None where its swizzle does not keep the reads apart.
    """
    memory = swizzled_layout(tile, bits)
    if memory is None or banks is None:
        return None
    cost = _cost(bits, 1, (None, reader), memory, banks)
    reads = bank_conflicts(reader, memory, bits, banks)
    extra = next((n for name, n in cost if name == "matrices"), _extra(reads))
    return Placement(tile, memory, None, False, cost) if extra <= reads.phases else None


def swizzled_placement(tile: tuple[int, ...], bits: int, width: int, threads: int) -> Placement:
    """The placement of a tile that a matrix unit reads itself."""
    return Placement(tile, swizzled_layout(tile, bits), copy_layout(tile, width, threads))


def copy_layout(tile: tuple[int, ...], width: int, threads: int) -> Layout | None:
    """A layout in which neighbouring threads copy neighbouring chunks of `width` elements.

    Threads beyond the number of chunks hold copies of what the first ones do. None where rows do not
    divide evenly among the threads.
    """
    rows, chunks = prod(tile[:-1]), tile[-1] // width
    across = gcd(chunks, threads)
    down = gcd(rows, threads // across)
    spare = threads // (across * down)
    if across * down * 2 <= min(threads, rows * chunks):
        return None  # most threads would be idle
    body = local(rows // down, chunks // across).spatial(down, across).local(1, width)
    whole = compose(replicate(spare, rank=2), body) if spare > 1 else body
    try:
        return reshape(whole, tile)
    except DiagnosticError:  # the rows of several axes end within a digit
        return None


def _is_coalesced(reader: Layout, width: int, bits: int) -> bool:
    """Whether the threads may copy what they read: runs of whole sectors, or of pairs of threads."""
    run = contiguity(reader)
    if not reader.is_injective or run % width:
        return False
    if run * bits >= _SECTOR_BYTES * 8:
        return True
    if reader.threads % 2 or run * bits * 2 < _SECTOR_BYTES * 8:
        return False
    table = reader.table()[:, ::run]
    even, odd = table[0::2], table[1::2].copy()
    odd[..., -1] -= run
    return bool((even == odd).all())


def _candidates(tile: tuple[int, ...], bits: int) -> Iterator[Layout | None]:
    """Layouts to try, the plainest first; None is row-major."""
    yield None
    chunk = _CHUNK_BYTES * 8 // bits
    chunks = tile[-1] // chunk if tile[-1] % chunk == 0 else 0
    size = min(chunks & -chunks, _MATRIX_ROWS)
    last = len(tile) - 1
    for together in (1, 2, 4):  # chunks that stay side by side
        if size // together < 2:
            break
        # Rows that share one pass over the banks need no different key.
        first = max(1, _MATRIX_ROWS // chunks)
        units = [first, *(u for u in (1, 2, 4, 8) if u != first)]
        keys = [(last - 1, unit) for unit in units] if last else [(last, chunk * size)]
        for source, unit in keys:
            steps = tile[source] // unit
            swizzle = Swizzle(last, chunk * together, size // together, source, unit, steps)
            if tile[source] % unit == 0 and swizzle.is_valid(tile):
                yield Layout(tile, (), local(*tile).local_modes, (swizzle,))


def _cost(
    bits: int,
    width: int,
    layouts: tuple[Layout | None, Layout],
    memory: Layout,
    banks: BankModel,
) -> tuple[tuple[str, int], ...]:
    """Cycles beyond one a phase: of the copies, of the reads, and of reads by matrices."""
    copy, reader = layouts
    reads = bank_conflicts(reader, memory, bits, banks)
    costs = [("reads", _extra(reads))]
    if copy is not None:
        writes = bank_conflicts(copy, memory, bits, banks, store=True, width=width)
        costs.append(("copies", _extra(writes)))
    matrices = _matrices(memory.shape, bits)
    # Matrices are of 16-bit elements, or of what a lane reads as such: 4 bytes side by side.
    pieces = bits == 16 or (bits < 16 and reads.access_bits >= 32)
    if matrices is not None and pieces and reads.access_bits < _CHUNK_BYTES * 8:
        costs.append(("matrices", _extra(bank_conflicts(matrices, memory, bits, banks))))
    return tuple(costs)


def _matrices(tile: tuple[int, ...], bits: int) -> Layout | None:
    """Eight lanes that each read the chunk of a row, all over the tile; None without such rows."""
    chunk = _CHUNK_BYTES * 8 // bits
    if len(tile) < 2 or tile[-2] % _MATRIX_ROWS or tile[-1] % chunk:
        return None
    ones = (1,) * (len(tile) - 2)
    many = local(*tile[:-2], tile[-2] // _MATRIX_ROWS, tile[-1] // chunk)
    return many * spatial(*ones, _MATRIX_ROWS, 1) * local(*ones, 1, chunk)


def _extra(conflicts: Conflicts) -> int:
    return conflicts.cycles - conflicts.phases
