"""The blocks of rows of which a turn takes parts, by what it loads and stores along a counter.

A turn of rotary embeddings takes both halves of a head: two parts of one block of a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dslc.compiler.ir import GridAxis, Kernel, Memory, Region, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant, simplify
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import expressions, regions


@dataclass(frozen=True, slots=True)
class RowBlock:
    """The parts of a block that loads, or stores, of one memory take, with their first elements.

    `number` is the axis of the memory, `place` that of the tiles.
    """

    memory: Memory
    number: int
    place: int
    parts: tuple[tuple[Stmt, int], ...]

    @property
    def bits(self) -> int:
        """Of an element."""
        return self.memory.dtype.bits

    @property
    def is_loaded(self) -> bool:
        """Whether the parts are of loads."""
        return isinstance(self.parts[0][0], ins.Load)

    def slice_of(self, stmt: Stmt) -> tuple[int, int]:
        """Size and step of the slice of a part."""
        axis = regions(stmt)[0].axes[self.number]
        return axis.size, axis.step

    def tiles_in_order(self, step: int) -> list[Value] | None:
        """What is stored, where it fills the block: side by side, or element by element in turn."""
        parts = sorted(self.parts, key=lambda p: p[1])
        tiles = [s.x for s, _ in parts if isinstance(s, ins.Store)]
        if self.is_interleaved(step):
            return tiles
        end = 0
        for stmt, first in parts:
            size, apart = self.slice_of(stmt)
            if first != end or apart != 1:
                return None
            end += size
        return tiles if end == step else None

    def is_interleaved(self, step: int) -> bool:
        """Whether each part has every n-th element, of n parts."""
        n = len(self.parts)
        firsts = sorted(first for _, first in self.parts)
        alike = all(self.slice_of(s) == (step // n, n) for s, _ in self.parts)
        return n > 1 and step % n == 0 and alike and firsts == list(range(n))


def blocks_along(kernel: Kernel, axis: GridAxis, stop: int, step: int) -> list[RowBlock] | None:
    """What is loaded and stored of each memory along a counter; None where it has no such form."""
    found: dict[tuple[Region, type], list[tuple[Stmt, int]]] = {}
    partly = False
    for stmt in kernel.body:
        starts = [a.start for region in regions(stmt) for a in region.axes]
        if any(axis.var in ex.free_vars(x) for x in expressions(stmt) if x not in starts):
            return None
        along = [
            n
            for r in regions(stmt)
            for n, a in enumerate(r.axes)
            if axis.var in ex.free_vars(a.start)
        ]
        if not along:
            if isinstance(stmt, ins.Store):
                return None
            continue
        if len(along) > 1:
            return None
        (region,), (number,) = regions(stmt), along
        a = region.axes[number]
        first = constant(simplify(ex.Binary("sub", a.start, axis.var, axis.start.dtype)))
        extent = constant(region.memory.shape[number])
        if first is None or extent is None or a.dropped or a.limit is not None:
            return None
        last = int(first) + (a.size - 1) * a.step
        if first < 0 or last >= step or int(extent) < stop:
            return None
        partly |= a.size < step
        others = tuple(
            x if n != number else replace(x, start=axis.var, size=step, step=1)
            for n, x in enumerate(region.axes)
        )
        found.setdefault((replace(region, axes=others), type(stmt)), []).append((stmt, int(first)))
    blocks = [_block(region, parts, axis) for (region, _), parts in found.items()]
    if not partly or not all(_is_whole(b, step) for b in blocks) or not _in_order(kernel, blocks):
        return None
    return blocks


def _block(region: Region, parts: Sequence[tuple[Stmt, int]], axis: GridAxis) -> RowBlock:
    number = next(n for n, a in enumerate(region.axes) if a.start is axis.var)
    place = sum(not a.dropped for a in region.axes[:number])
    return RowBlock(region.memory, number, place, tuple(parts))


def _is_whole(block: RowBlock, step: int) -> bool:
    """Whether loads take half of the block at least, and stores all of it once."""
    if block.is_loaded:
        return 2 * sum(block.slice_of(s)[0] for s, _ in block.parts) >= step
    return block.tiles_in_order(step) is not None


def _in_order(kernel: Kernel, blocks: Sequence[RowBlock]) -> bool:
    """Whether all of a memory is loaded before any of it is stored, and each in one way."""
    stored: set[Memory] = set()
    for stmt in kernel.body:
        for region in regions(stmt):
            if isinstance(stmt, ins.Store):
                stored.add(region.memory)
            elif region.memory in stored:
                return False
    stores = [b.memory for b in blocks if not b.is_loaded]
    return len(set(stores)) == len(stores)
