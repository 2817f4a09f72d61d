"""Which operands of products a matrix unit may read from shared memory itself.

Those that a loop loads from memory that nobody writes, 16 bytes at once: they are copied to shared
memory anyhow (`passes.pipelining.software_pipeline`), and then need no registers. And those that are
loaded before a loop for products in it alone: in registers they would take room through all of it.

Any number of products may read such a tile, and threads beside them: what these read is a load of its
own, of the same region, which the pipeline gives the same slot of a ring.

A tile that threads compute may be placed there as well, by a ConvertLayout to none, which becomes
stores (`passes.products.placed_operands`): as it is, or turned, where its elements follow each other
along its columns in registers, or the unit wants it so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dslc.compiler.analysis.scalar_facts import FactsRewriter
from dslc.compiler.ir import Kernel, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Const
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import users, walk
from dslc.compiler.layout import Layout
from dslc.compiler.passes.pipelining.prefetchable_loads import (
    COPY_BYTES,
    constant_memories,
    copy_width,
    is_explicit,
    loads_ahead,
)
from dslc.compiler.passes.pipelining.swizzled_shared import swizzled_layout


def readable_in_place(kernel: Kernel) -> Mapping[Value, bool]:
    """The tiles that may stay in shared memory: loads (False) and their transposes (True)."""
    if is_explicit(kernel):
        return {}  # such kernels are not pipelined
    finder = _Finder(kernel)
    finder.body(kernel.body)
    return finder.found


_COMPUTED_BITS = (8, 16)


def is_placeable(x: Value, *, turned: bool) -> bool:
    """Whether a computed operand may lie in shared memory as a unit reads it, or its transpose."""
    shape, bits = x.type.shape, x.type.dtype.bits
    if x.type.layout is not None or len(shape) != 2 or bits not in _COMPUTED_BITS:
        return False
    return swizzled_layout(shape[::-1] if turned else shape, bits) is not None


def is_turned(x: Value, layout: Layout, *, along: bool | None) -> bool:
    """Whether a computed operand is placed as its transpose, where threads hold it by a layout.

    `along` is whether the unit wants k along the rows of it, None where it takes either.
    """
    if along is not None:
        return not along
    last = layout.local_modes[-1] if layout.local_modes else None
    return last is not None and last.axis == 0 and last.size > 1 and is_placeable(x, turned=True)


class _Finder(FactsRewriter):
    """Visits the loops of a kernel; it changes nothing."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.unwritten = constant_memories(kernel.body, kernel.tensors)
        self.readers = users(kernel.body)
        self.outside = list(kernel.body)
        loops = (s for s in walk(kernel.body) if isinstance(s, ins.For | ins.While))
        self.repeated = [t for s in loops for t in walk(s.body)]
        self.found: dict[Value, bool] = {}

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A loop's loads, its inner loops' first."""
        rebuilt = self.rebuild(stmt)
        if isinstance(stmt, ins.For) and stmt.stages != 1 and isinstance(stmt.step, Const):
            nested = any(isinstance(s, ins.For | ins.While) for s in walk(stmt.body))
            if not nested or stmt.stages is not None:
                self._loop(stmt)
        if isinstance(stmt, ins.Load) and stmt in self.outside:
            self._before_loops(stmt)
        return (rebuilt,)

    def _before_loops(self, load: ins.Load) -> None:
        if load.region.memory not in self.unwritten:
            return
        tiles = self._read(load.out, alone=True)
        is_repeated = any(s in self.repeated for x in tiles for s in self.readers[x])
        if is_repeated and self._is_plain(load, copy_width(self.facts, load)):
            self.found |= tiles

    def _is_plain(self, load: ins.Load, width: int) -> bool:
        """Whether threads copy 16 bytes at once, to column blocks."""
        out, bits = load.out, load.region.memory.dtype.bits
        plain = out.type.layout is None and swizzled_layout(out.type.shape, bits) is not None
        return plain and width * bits == COPY_BYTES[0] * 8

    def _loop(self, loop: ins.For) -> None:
        facts = self.facts.copy()
        facts.assume_range(loop.var, loop.start, loop.stop, loop.step)
        for ahead in loads_ahead(loop, facts, self.unwritten):
            if ahead.run == 1 and self._is_plain(ahead.load, ahead.width):
                tiles = self._read(ahead.load.out)
                if all(s in loop.body for x in tiles for s in self._products(x)):
                    self.found |= tiles

    def _read(self, out: Value, *, alone: bool = False) -> dict[Value, bool]:
        """The tile and its transposes that products read, and whether they are transposes.

        None without a product, or where one is to read it `alone` and threads do too.
        """
        turned_by_tile = {out: False}
        open_ = [out]
        while open_:
            at = open_.pop()
            for reader in self.readers[at]:
                turned = reader.out if isinstance(reader, ins.Transpose) else None
                if turned and turned.type.layout is None and self._is_multiplied(turned):
                    turned_by_tile[turned] = not turned_by_tile[at]
                    open_.append(turned)
                elif alone and not self._multiplies(reader, at):
                    return {}
        return turned_by_tile if self._is_multiplied(out) else {}

    def _is_multiplied(self, x: Value) -> bool:
        """Whether a product reads the tile, or a transpose of it."""
        return any(
            self._multiplies(s, x) or (isinstance(s, ins.Transpose) and self._is_multiplied(s.out))
            for s in self.readers[x]
        )

    def _products(self, x: Value) -> list[Stmt]:
        return [s for s in self.readers[x] if self._multiplies(s, x)]

    @staticmethod
    def _multiplies(reader: Stmt, x: Value) -> bool:
        return isinstance(reader, ins.Dot) and reader.acc is not x
