"""What the statements of a kernel read and write of tensors, and which threads do."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from dslc.compiler.analysis.scalar_facts import Facts, FactsRewriter
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.indexed import ids_shape
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.traverse import Body, Use, reads, walk, writes
from dslc.compiler.ir.values import Memory, Region
from dslc.compiler.layout import Layout, owners

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Owners: TypeAlias = NDArray[np.int32]

Loop: TypeAlias = ins.For | ins.While


class Kind(enum.Enum):
    """What an access does; additions do not disturb each other where nobody sees what stood there."""

    READ = "read"
    WRITE = "write"
    ADD = "add"
    UPDATE = "update"


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """One statement's access of a tensor, what is known where it stands, and the loops around it.

    `layout` says which thread moves an element; one thread, the first, does for all but reads. Without
    one any thread may. Along the memory's axes that are `gathered`, `ids` elements may be anywhere.
    A copy that lands at a wait may touch `anything` of its memory there.
    """

    stmt: Stmt
    region: Region
    kind: Kind
    layout: Layout | None
    facts: Facts
    loops: tuple[Loop, ...]
    gathered: tuple[int, ...] = ()
    ids: int = 1
    anything: bool = False

    @property
    def memory(self) -> Memory:
        """The tensor."""
        return self.region.memory

    def owners(self, group: int) -> Owners | None:
        """Which group of so many threads moves each element: an axis for each of the memory's.

        -1 where several do; None where that is not known at all.
        """
        if self.layout is None or self.anything:
            return None
        groups = owners(self.layout, group, first=self.kind is not Kind.READ)
        first = self.gathered[:1]  # where the ids are in the tile
        axes = enumerate(self.region.axes)
        return groups.reshape([self.ids if (i,) == first else a.size for i, a in axes])


def contested(kernel: Kernel) -> frozenset[Memory]:
    """The tensors that a turn writes and touches in another way, or again."""
    touched: dict[Memory, int] = {}
    written: set[Memory] = set()
    tensors = {*kernel.tensors, *kernel.workspaces}
    repeated = {t for s in walk(kernel.body) if isinstance(s, Loop) for t in walk((s,))}
    for stmt in walk(kernel.body):
        for region in dict.fromkeys((*reads(stmt), *writes(stmt))):
            touched[region.memory] = touched.get(region.memory, 0) + 1 + (stmt in repeated)
        written.update(r.memory for r in writes(stmt))
    return frozenset(m for m in written & tensors if touched[m] > 1)


def accesses(kernel: Kernel) -> dict[Stmt, tuple[Access, ...]]:
    """The accesses of contested tensors by the turn's own warps, in the order of the text."""
    memories = contested(kernel)
    if not memories:
        return {}
    collector = _Collector(kernel, memories)
    collector.body(kernel.body)
    return collector.found


class _Collector(FactsRewriter):
    """Visits the statements of a kernel; it changes nothing."""

    def __init__(self, kernel: Kernel, memories: frozenset[Memory]) -> None:
        super().__init__(kernel)
        self.memories = memories
        self.loops: tuple[Loop, ...] = ()
        self.found: dict[Stmt, tuple[Access, ...]] = {}
        every = (s for s in walk(kernel.body) if isinstance(s, ins.CopyAsync))
        self.copies = [s for s in every if not memories.isdisjoint((s.src.memory, s.dst.memory))]

    def nested(self, stmt: Stmt, which: int, handed: list[Use]) -> tuple[Body, list[Use]]:
        """A body, with the loops around it."""
        outside = self.loops
        self.loops += (stmt,) if isinstance(stmt, Loop) else ()
        rewritten = super().nested(stmt, which, handed)
        self.loops = outside
        return rewritten

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A statement with what holds before it."""
        if isinstance(stmt, ins.WarpSpecialize):
            return (stmt,)  # its warps touch no tensor that others write
        own = tuple(a for a in self._of(stmt) if a.memory in self.memories)
        if own:
            self.found[stmt] = own
        return super().statement(stmt)

    def _of(self, stmt: Stmt) -> Iterator[Access]:
        match stmt:
            case ins.Load(region=region, out=out):
                yield self._access(stmt, region, Kind.READ, out.type.layout)
            case ins.Store(region=region, x=x):
                yield self._access(stmt, region, Kind.WRITE, x.type.layout)
            case ins.AtomicRmw(op=op, region=region, x=x, out=out):
                kind = Kind.ADD if out is None and op == "add" else Kind.UPDATE
                ids = prod(ids_shape(stmt))
                yield self._access(stmt, region, kind, x.type.layout, stmt.axes, ids)
            case ins.Gather(region=region, out=out):
                ids = prod(ids_shape(stmt))
                yield self._access(stmt, region, Kind.READ, out.type.layout, stmt.axes, ids)
            case ins.Scatter(region=region, x=x):
                ids = prod(ids_shape(stmt))
                yield self._access(stmt, region, Kind.WRITE, x.type.layout, stmt.axes, ids)
            case ins.SemaphoreWait(region=region) | ins.SemaphoreRelease(region=region):
                yield self._access(
                    stmt, region, Kind.ADD, None
                )  # by turns that wait for each other
            case ins.CopyAsync():
                yield from self._copied(stmt, stmt)
            case ins.WaitGroup() | ins.AwaitPhase():
                for copy in self.copies:
                    yield from self._copied(stmt, copy)

    def _copied(self, stmt: Stmt, copy: ins.CopyAsync) -> Iterator[Access]:
        """The two sides of a copy, where it is issued or where it may land."""
        landing = stmt is not copy
        layout = copy.layout if copy.barrier is None else None
        yield self._access(stmt, copy.src, Kind.READ, layout, anything=landing)
        yield self._access(stmt, copy.dst, Kind.WRITE, layout, anything=landing)

    def _access(
        self,
        stmt: Stmt,
        region: Region,
        kind: Kind,
        layout: Layout | None,
        gathered: tuple[int, ...] = (),
        ids: int = 1,
        *,
        anything: bool = False,
    ) -> Access:
        facts = self.facts.copy()
        return Access(stmt, region, kind, layout, facts, self.loops, gathered, ids, anything)
