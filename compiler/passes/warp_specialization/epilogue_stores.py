"""Epilogue: results leave by TMA in pieces, while rings keep their place in shared memory.

    store @c[m : +128, n : +256], %o
->
    %piece = extract %o, starts=(0, 0) : f16[128, 64]
    wait_group pending=1
    sync
    store @c_pieces[0, 0 : +128!, 0 : +64!], %piece
    sync
    copy_async @c[m : +128, n : +64], @c_pieces[0, 0 : +128!, 0 : +64!]
    commit_group
    %piece_1 = extract %o, starts=(0, 64) ...                       (and so on, by turns in two places)

A piece is a part of every thread's registers. It may be written where the piece before the last one
lay, which the unit has read by the wait; threads wait no longer than that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Const, index
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.regions import part, whole
from dslc.compiler.ir.traverse import Body
from dslc.compiler.ir.values import Memory, Place, Role, Value
from dslc.compiler.layout import Layout, compose, local
from dslc.compiler.layout.reshaping import slice_tile
from dslc.compiler.passes.pipelining.swizzled_shared import swizzled_layout
from dslc.compiler.passes.pipelining.tma_copies import bulk_stores, is_short

_BYTES = 32 * 1024  # of all places
_SHARE = 4  # of the room that pieces take at most: one part in so many


@dataclass(frozen=True, slots=True)
class EpilogueStores:
    """A store whose result leaves in pieces of `size` along an axis, through a memory of two places."""

    store: ins.Store
    axis: int
    size: int
    memory: Memory

    @property
    def bytes(self) -> int:
        """The bytes of both places."""
        shape = [n if d != self.axis else self.size for d, n in enumerate(self.store.x.type.shape)]
        return self.places * math.prod(shape) * self.memory.dtype.bits // 8

    @property
    def places(self) -> int:
        """How many pieces there is room for."""
        extent = self.memory.shape[0]
        assert isinstance(extent, Const)
        return int(extent.value)

    def body(self) -> Body:
        """The pieces, one after another."""
        out: list[Stmt] = []
        x, region, loc = self.store.x, self.store.region, self.store.loc
        assert x.type.layout is not None
        for number in range(x.type.shape[self.axis] // self.size):
            start = number * self.size
            layout = slice_tile(x.type.layout, self.axis, start, self.size)
            piece = Value(replace(x.type, shape=layout.shape, layout=layout), "piece")
            starts = tuple(start if d == self.axis else 0 for d in range(2))
            held = whole(self.memory, layout.shape, index(number % self.places))
            out += [
                ins.Extract(piece, x, starts, (1, 1), loc=loc),
                ins.WaitGroup(self.places - 1, loc=loc),
                ins.Sync(loc=loc),
                ins.Store(held, piece, loc=loc),
                ins.Sync(loc=loc),
                ins.CopyAsync(part(region, self.axis, start, self.size), held, loc=loc),
                ins.CommitGroup(loc=loc),
            ]
        return tuple(out)


def outgoing(kernel: Kernel, after: Sequence[Stmt], room: int) -> list[EpilogueStores]:
    """The stores that leave in pieces, as far as there is room beside what a loop needs."""
    outgoing_stores: list[EpilogueStores] = []
    able = bulk_stores(kernel)
    for stmt in after:
        if not isinstance(stmt, ins.Store) or stmt not in able:
            continue
        layout = stmt.x.type.layout
        if layout is None or not is_short(layout, stmt.x.type.dtype.bits):
            continue
        one = next(_divided(stmt, layout), None)
        if one is not None and (sum(o.bytes for o in outgoing_stores) + one.bytes) * _SHARE <= room:
            outgoing_stores.append(one)
    return outgoing_stores


def _divided(store: ins.Store, layout: Layout) -> Iterator[EpilogueStores]:
    """The ways to divide a result: into the largest pieces of which there is room for two, else one."""
    shape, bits = store.x.type.shape, store.x.type.dtype.bits
    for most, axis in ((2, 1), (2, 0), (1, 1), (1, 0)):
        for count in (1, 2, 4, 8, 16):
            size = shape[axis] // count
            piece = tuple(size if d == axis else n for d, n in enumerate(shape))
            placed = swizzled_layout(piece, bits)
            # One piece alone would meet itself in the next iteration.
            places = min(most, count)
            fits = places * math.prod(piece) * bits // 8 <= _BYTES
            if shape[axis] % count or placed is None or not fits:
                continue
            try:
                slice_tile(layout, axis, 0, size)
            except DiagnosticError:  # it lies in some of the threads only
                continue
            memory = Memory(
                f"{store.region.memory.name}_pieces",
                store.region.memory.dtype,
                tuple(map(index, (places, *piece))),
                Role.BUFFER,
                Place.SHARED,
                layout=compose(local(places, 1, 1), placed),
                loc=store.loc,
            )
            yield EpilogueStores(store, axis, size, memory)
