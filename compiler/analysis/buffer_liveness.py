"""When each on-chip buffer lives, in structured control flow.

Statements are numbered in the order of the text. A buffer lives from its alloc to the last statement
that touches it; a loop that does not contain the alloc keeps it alive for all its iterations; an
asynchronous copy keeps both its ends alive until the wait that surely retires it; what a matrix unit
reads where it lies is alive until the unit's product has ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.rewrite import with_body
from dslc.compiler.ir.traverse import Body, bodies, memories, walk
from dslc.compiler.ir.unchanged import kept, replaced
from dslc.compiler.ir.values import Memory, Place, Value

# Which bodies enclose a statement, outermost first: the owner's number and which of its bodies.
Path: TypeAlias = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Live:
    """A buffer with the first and the last statement of its life, both inclusive."""

    memory: Memory
    start: int
    end: int
    path: Path

    def overlaps(self, other: Live) -> bool:
        """Whether there is a statement at which both live."""
        return self.start <= other.end and other.start <= self.end


@dataclass(frozen=True, slots=True)
class _Numbered:
    stmt: Stmt
    number: int
    end: int  # of the last statement within it
    path: Path


class Liveness:
    """The lives of the buffers of one body, and which of them a barrier keeps apart."""

    def __init__(self, body: Body) -> None:
        self.stmts: list[_Numbered] = []
        self._number(body, ())
        self.by_number = {s.number: s for s in self.stmts}
        self.by_stmt = {s.stmt: s for s in self.stmts}
        self.last = len(self.stmts)
        # Where barriers are written by hand, reuse relies on one between the two buffers' lives;
        # elsewhere the generator puts them where the plan asks for it.
        explicit = (ins.Sync, ins.CopyAsync, ins.WaitGroup, ins.InitBarriers)
        self.is_explicit = any(isinstance(s.stmt, explicit) for s in self.stmts)
        self.barriers = [s for s in self.stmts if isinstance(s.stmt, ins.Sync)]
        self.lives = self._lives()

    def may_share(self, a: Live, b: Live) -> bool:
        """Whether two buffers may have the same bytes."""
        if a.overlaps(b):
            return False
        if not self.is_explicit:
            return True
        a, b = sorted((a, b), key=lambda live: live.start)
        return self._apart(a, b, a.end, b.start) and self._next_iteration_apart(a, b)

    def is_over(self, live: Live, stmt: Stmt) -> bool:
        """Whether a buffer's life has ended for good when this statement of the body runs."""
        at = self.by_stmt.get(stmt)
        if at is None or live.end >= at.number:
            return False
        for x, y in zip(live.path, at.path, strict=False):
            if x != y:
                break
            if isinstance(self.by_number[x[0]].stmt, ins.For | ins.While):
                return False  # it begins again in the next iteration
        return True

    def _number(self, body: Body, path: Path) -> None:
        for stmt in body:
            number = len(self.stmts)
            self.stmts.append(_Numbered(stmt, number, number, path))
            for which, nested in enumerate(bodies(stmt)):
                self._number(nested, (*path, (number, which)))
            self.stmts[number] = replace(self.stmts[number], end=len(self.stmts) - 1)

    def _lives(self) -> list[Live]:
        touches: dict[Memory, list[_Numbered]] = {}
        allocs: dict[Memory, _Numbered] = {}
        for s in self.stmts:
            if isinstance(s.stmt, ins.Alloc):
                allocs[s.stmt.memory] = s
            for memory in memories(s.stmt):
                touches.setdefault(memory, []).append(s)
        for memory, s in self._read_in_place():
            touches[memory].append(s)
        self.barriers_of_copies = {
            s.stmt.region.memory for s in self.stmts if isinstance(s.stmt, ins.InitBarriers)
        }
        return [self._live(alloc, touches[memory]) for memory, alloc in allocs.items()]

    def _read_in_place(self) -> Iterator[tuple[Memory, _Numbered]]:
        """What reads buffers through a tile that stays there: transposes, products, and their waits."""
        staying: dict[Value, Memory] = {}
        waits = [s for s in self.stmts if isinstance(s.stmt, ins.WaitDots) and not s.stmt.pending]
        for s in self.stmts:
            match s.stmt:
                case ins.Load(out=out, region=region) if out.type.layout is None:
                    if region.memory.place is Place.SHARED:
                        staying[out] = region.memory
                case ins.Transpose(out=out, x=x) if x in staying:
                    staying[out] = staying[x]
                case ins.Dot(a=a, b=b) if s.stmt.is_async:
                    ended = next((w for w in waits if w.number > s.number), s)
                    for x in (a, b):
                        if x in staying:
                            yield from ((staying[x], s), (staying[x], ended))

    def _live(self, alloc: _Numbered, touches: Iterable[_Numbered]) -> Live:
        end = alloc.number
        assert isinstance(alloc.stmt, ins.Alloc)
        always = Live(alloc.stmt.memory, 0, self.last, alloc.path)
        if alloc.stmt.memory in self.barriers_of_copies:  # nothing else may be where one was
            return always
        for s in touches:
            here = self._end_of_loops(s, alloc)
            if isinstance(s.stmt, ins.CopyAsync):
                landed = self._landed(s, alloc) if s.stmt.barrier is None else self._full(s)
                if landed is None:
                    return always
                here = max(here, landed)
            end = max(end, here)
        return replace(always, start=alloc.number, end=end)

    def _end_of_loops(self, s: _Numbered, alloc: _Numbered) -> int:
        """The last statement of the outermost loop around `s` that does not contain the alloc."""
        for owner, _ in s.path[len(alloc.path) :]:
            if isinstance(self.by_number[owner].stmt, ins.For | ins.While):
                return self.by_number[owner].end
        return s.number

    def _landed(self, copy: _Numbered, alloc: _Numbered) -> int | None:
        """The wait that surely retires the copy, before the body of the alloc ends."""
        commits = 0
        path = copy.path
        at = copy.number
        while len(path) >= len(alloc.path):
            for s in self.stmts[at + 1 :]:
                if s.path != path:
                    continue
                if isinstance(s.stmt, ins.CommitGroup):
                    commits += 1
                # The first commit makes the copy's own group; later ones are newer.
                if isinstance(s.stmt, ins.WaitGroup) and commits > s.stmt.pending:
                    return s.number
            if not path:
                return None
            at, path = path[-1][0], path[:-1]
        return None

    def _full(self, copy: _Numbered) -> int | None:
        """The last wait for a phase of the bulk copy's barrier, with the loops around it."""
        assert isinstance(copy.stmt, ins.CopyAsync)
        assert copy.stmt.barrier is not None
        memory = copy.stmt.barrier.memory
        waits = [
            self.by_number[s.path[0][0]].end if s.path else s.number
            for s in self.stmts
            if isinstance(s.stmt, ins.AwaitPhase) and s.stmt.region.memory is memory
        ]
        return max(waits, default=None)

    def _apart(self, a: Live, b: Live, after: int, before: int) -> bool:
        return any(after < s.number < before and _within(s.path, a, b) for s in self.barriers)

    def _next_iteration_apart(self, a: Live, b: Live) -> bool:
        """Whether a barrier parts b's life from a's in the next iteration of a loop around both."""
        loop = None
        for x, y in zip(a.path, b.path, strict=False):
            if x != y:
                break
            owner = self.by_number[x[0]]
            loop = owner if isinstance(owner.stmt, ins.For | ins.While) else loop
        if loop is None:
            return True
        at_end = self._apart(a, b, b.end, loop.end + 1)
        return at_end or self._apart(a, b, loop.number, a.start)


def _within(path: Path, a: Live, b: Live) -> bool:
    """Whether a statement of this path runs whenever one of the two buffers' bodies does."""
    return path in (a.path[: len(path)], b.path[: len(path)])


def sink_allocs(kernel: Kernel) -> Kernel:
    """The kernel with each alloc right before the first statement of its body that touches it.

    None moves past a barrier of a cluster, after which other blocks may write it.
    """
    return with_body(kernel, _sunk(kernel.body))


def _sunk(body: Body) -> Body:
    waiting: list[ins.Alloc] = []
    out: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, ins.Alloc):
            waiting.append(stmt)
            continue
        touched = {m for s in walk((stmt,)) for m in memories(s)}
        meets = isinstance(stmt, ins.Sync) and stmt.cluster
        out += [a for a in waiting if meets or a.memory in touched]
        waiting = [a for a in waiting if not meets and a.memory not in touched]
        out.append(_sunk_inside(stmt))
    out += waiting
    return kept(body, out)


def _sunk_inside(stmt: Stmt) -> Stmt:
    match stmt:
        case ins.For(body=body) | ins.While(body=body):
            return replaced(stmt, body=_sunk(body))
        case ins.If(then=then, otherwise=otherwise):
            return replaced(stmt, then=_sunk(then), otherwise=_sunk(otherwise))
        case _:
            return stmt
