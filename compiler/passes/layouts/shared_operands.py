"""Which operands of products a matrix unit may read from shared memory itself.

Those that a loop loads from memory that nobody writes, 16 bytes at once, for one product alone: they
are copied to shared memory anyhow (`passes.pipelining.software_pipeline`), and then need no registers.
And those that are loaded before a loop for a product in it: in registers they would take room through
all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dslc.compiler.analysis.scalar_facts import FactsRewriter
from dslc.compiler.ir import Kernel, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Const
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import users, walk
from dslc.compiler.passes.pipelining.prefetchable_loads import (
    COPY_BYTES,
    constant_memories,
    copy_width,
    is_explicit,
    loads_ahead,
)
from dslc.compiler.passes.pipelining.swizzled_shared import panels


def readable_in_place(kernel: Kernel) -> Mapping[Value, bool]:
    """The tiles that may stay in shared memory: loads (False) and their transposes (True)."""
    if is_explicit(kernel):
        return {}  # such kernels are not pipelined
    finder = _Finder(kernel)
    finder.body(kernel.body)
    return finder.found


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
        chain = self._chain(load.out, [*self.outside, *self.repeated])
        is_repeated = any(s in self.repeated for x in chain for s in self.readers[x])
        if is_repeated and self._is_plain(load, copy_width(self.facts, load)):
            self.found |= _transposed(chain)

    def _is_plain(self, load: ins.Load, width: int) -> bool:
        """Whether threads copy 16 bytes at once, to panels."""
        out, bits = load.out, load.region.memory.dtype.bits
        plain = out.type.layout is None and panels(out.type.shape, bits) is not None
        return plain and width * bits == COPY_BYTES[0] * 8

    def _loop(self, loop: ins.For) -> None:
        facts = self.facts.copy()
        facts.assume_range(loop.var, loop.start, loop.stop, loop.step)
        for ahead in loads_ahead(loop, facts, self.unwritten):
            if ahead.run == 1 and self._is_plain(ahead.load, ahead.width):
                self.found |= _transposed(self._chain(ahead.load.out, loop.body))

    def _chain(self, out: Value, places: Sequence[Stmt]) -> list[Value]:
        """The tile, and its transpose where that is what the product reads; none without one."""
        chain = [out]
        while len(readers := self.readers[chain[-1]]) == 1 and readers[0] in places:
            (reader,) = readers
            if isinstance(reader, ins.Dot) and reader.acc is not chain[-1]:
                return chain
            if not isinstance(reader, ins.Transpose) or reader.out.type.layout is not None:
                return []
            chain.append(reader.out)
        return []


def _transposed(chain: Sequence[Value]) -> Mapping[Value, bool]:
    """Every other tile is a transpose."""
    return {x: bool(i % 2) for i, x in enumerate(chain)}
