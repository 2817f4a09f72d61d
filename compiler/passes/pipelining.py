"""Software pipelining: loads of later turns run while a turn computes.

    %sum = for k in range(0, K, 64) carry (%acc = %zero) {
      %a = load @x[m : +16, k : +64] : f16[16, 64]
      ...
    }

becomes, with 3 stages,

    alloc @ring: buffer shared f16[3, 16, 64] `...`
    for turn in range(0, 2, 1) {
      if turn * 64 < K { copy_async @ring[turn, ...], @x[m : +16, turn * 64 : +64] }
      commit_group
    }
    %sum, ... = for k in range(0, K, 64) stages=1 carry (%acc = %zero, slot = 0, fill = 2) {
      wait_group pending=1
      sync
      if k + 128 < K { copy_async @ring[fill, ...], @x[m : +16, k + 128 : +64] }
      commit_group
      %a = load @ring[slot, ...] : f16[16, 64]
      ...
      yield ..., (slot + 1) % 3, slot
    }

A turn waits for its own group alone: `stages - 2` newer ones may be under way. The one barrier makes
what all threads copied visible, and says that all have read the slot that is filled next: the one of
the turn before. Groups are committed in every turn, empty ones too, so the count stays right at the end.
Where each thread reads only what it copied itself there is no barrier. Nothing is left to wait for after
the loop, since no copy is issued past its end.

A load that stays the same for several turns is copied once for all of them, into a ring of its own
count. What cannot be copied asynchronously is loaded into registers a turn ahead (`staging` has the
rules, `rings` the layouts). Kernels with copies or barriers of their own are left as they are, as are
those with shared buffers for which the compiler places the barriers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.affine import constant, simplify
from dslc.compiler.ir.expr import Binary, Const, Expr, Var, index
from dslc.compiler.ir.instructions import Carried, Joined, Stmt
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import (
    Substitution,
    clone_body,
    fresh_name,
    map_kernels,
    scalar_names,
)
from dslc.compiler.ir.traverse import Body, Use, walk
from dslc.compiler.ir.values import AxisSlice, Memory, Place, Region, Role, Value
from dslc.compiler.passes.facts import FactsRewriter
from dslc.compiler.passes.rings import Placement, place
from dslc.compiler.passes.stages import Room, choose_stages
from dslc.compiler.passes.staging import (
    Ahead,
    constant_memories,
    is_prefetched,
    loads_ahead,
    zeros,
)
from dslc.compiler.targets import Target

_EXPLICIT = (ins.CopyAsync, ins.CommitGroup, ins.WaitGroup, ins.Sync)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Pipelines the sequential loops of every kernel.

    A loop's own `stages=` is obeyed, else `stages`, else the number is chosen; 1 leaves a loop alone.
    """

    target: Target
    stages: int | None = None
    name: str = "pipeline"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with its loops pipelined."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        if any(isinstance(s, _EXPLICIT) or _is_shared(s) for s in walk(kernel.body)):
            return kernel
        body = _Loops(kernel, self.target, self.stages).body(kernel.body)
        return kernel if body is kernel.body else replace(kernel, body=body)


def _is_shared(stmt: Stmt) -> bool:
    return isinstance(stmt, ins.Alloc) and stmt.memory.place is not Place.REGISTER


class _Loops(FactsRewriter):
    """Pipelines the loops of one kernel, inner ones first."""

    def __init__(self, kernel: Kernel, target: Target, stages: int | None) -> None:
        super().__init__(kernel)
        self.target, self.stages = target, stages
        self.taken = scalar_names(kernel)
        self.unwritten = constant_memories(kernel.body, kernel.tensors)
        self.room = Room.of(kernel, target)
        self.depth = 0

    def memory(self, memory: Memory) -> Memory:
        """Memories stay as they are."""
        return memory

    def expr(self, expr: Expr) -> Expr:
        """Expressions stay as they are."""
        return expr

    def nested(self, stmt: Stmt, which: int, handed: list[Use]) -> tuple[Body, list[Use]]:
        """A body, with the number of loops around it."""
        inside = isinstance(stmt, ins.For | ins.While)
        self.depth += inside
        found = super().nested(stmt, which, handed)
        self.depth -= inside
        return found

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A loop that can be pipelined gives its prologue and itself."""
        rebuilt = self.rebuild(stmt)
        if not isinstance(rebuilt, ins.For):
            return (rebuilt,)
        return self._loop(rebuilt) or (rebuilt,)

    def _loop(self, loop: ins.For) -> Body | None:
        asked = loop.stages or self.stages
        nested = any(isinstance(s, ins.For | ins.While) for s in walk(loop.body))
        if asked == 1 or (nested and asked is None) or not _is_counted(loop):
            return None
        facts = self.facts.copy()
        facts.assume_range(loop.var, loop.start, loop.stop, loop.step)
        found = loads_ahead(loop, facts, self.unwritten)
        staged = [a for a in found if a.width]
        stages = asked or choose_stages(loop, staged, self.room)
        if stages == 1:
            staged = []
        elif asked is None:
            stages = min(stages, max(2, _turns(loop)))
        kept = {a.load for a in staged}
        threads = self.room.threads
        prefetched = [a for a in found if a.load not in kept and is_prefetched(a, threads)]
        if not staged and not prefetched:
            return None
        rings = [self._ring(a, stages) for a in staged]
        self.room.take(sum(r.bytes for r in rings))
        return _Pipelined(loop, stages, rings, prefetched, self.taken).body(self.depth > 0)

    def _ring(self, ahead: Ahead, stages: int) -> Ring:
        load = ahead.load
        memory, type_ = load.region.memory, load.out.type
        tile = type_.shape or (1,)
        placed = place(tile, memory.dtype.bits, ahead.width, type_.layout, self.target.banks)
        slots = stages
        if ahead.run > 1:  # as many runs as the turns under way can touch
            slots = 1 << (-(-(stages - 1) // ahead.run)).bit_length()
        shape, layout = placed.ring(slots)
        ring = Memory(
            f"{memory.name}_ring", memory.dtype, tuple(map(index, shape)), Role.BUFFER,
            Place.SHARED, layout=layout, loc=load.loc,
        )  # fmt: skip
        return Ring(ahead, ring, placed, slots)


def _is_counted(loop: ins.For) -> bool:
    """Whether the turns can be counted: an index that advances by a constant."""
    return loop.var.dtype == INDEX and isinstance(loop.step, Const) and loop.step.value != 0


def _turns(loop: ins.For) -> int:
    """The number of turns, a large number where it is not known."""
    bounds = [constant(e) for e in (loop.start, loop.stop, loop.step)]
    if None in bounds:
        return 1 << 30
    return len(range(*(int(b) for b in bounds if b is not None)))


@dataclass(frozen=True, slots=True)
class Ring:
    """A staged load, the ring that it is copied to, and how that lies in shared memory."""

    ahead: Ahead
    memory: Memory
    placed: Placement
    slots: int

    @property
    def bytes(self) -> int:
        """The bytes of all slots."""
        return self.slots * math.prod(self.placed.shape) * self.memory.dtype.bits // 8

    def region(self, slot: Expr) -> Region:
        """The tile in a slot."""
        tile = self.ahead.load.out.type.shape or (1,)
        inside = tuple(AxisSlice(index(0), n, checked=False) for n in tile)
        return Region(self.memory, (AxisSlice(slot, 1, dropped=True, checked=False), *inside))


class _Pipelined:
    """Builds the prologue and the loop."""

    def __init__(
        self,
        loop: ins.For,
        stages: int,
        rings: Sequence[Ring],
        prefetched: Sequence[Ahead],
        taken: set[str],
    ) -> None:
        self.loop, self.stages, self.rings, self.taken = loop, stages, rings, taken
        self.prefetched = prefetched
        assert isinstance(loop.step, Const)
        self.step = int(loop.step.value)
        self.slot, self.fill = self._var("slot"), self._var("fill")
        self.shares = any(not r.placed.private for r in rings)

    def body(self, again: bool) -> Body:
        """What stands in place of the loop; `again` where it may run several times in a turn."""
        out: list[Stmt] = [ins.Alloc(r.memory, loc=r.ahead.load.loc) for r in self.rings]
        if self.rings and self.shares and again:
            out.append(ins.Sync())  # the last run may still be reading
        if self.rings:
            out.append(self._prologue())
        firsts = [self._first(a, out) for a in self.prefetched]
        out.append(self._loop(firsts))
        return tuple(out)

    def _prologue(self) -> ins.For:
        """The copies of the first `stages - 1` turns, a group each."""
        turn = self._var("turn")
        at = simplify(_add(self.loop.start, Binary("mul", turn, index(self.step), INDEX)))
        body = (*self._copies(at, turn), ins.CommitGroup())
        last = index(self.stages - 1)
        return ins.For(turn, index(0), last, index(1), body, stages=1, loc=self.loop.loc)

    def _loop(self, firsts: Sequence[Value]) -> ins.For:
        loop = self.loop
        head: list[Stmt] = []
        carried: list[Carried] = []
        if self.rings:
            head.append(ins.WaitGroup(self.stages - 2))
            if self.shares:
                head.append(ins.Sync())
            ahead = self._at(loop.var, self.stages - 1)
            head += [*self._copies(ahead, self.fill), ins.CommitGroup()]
            carried += self._counters()
        reads: dict[Value, Value] = {}
        for prefetched, first in zip(self.prefetched, firsts, strict=True):
            body, held, reads[prefetched.load.out] = self._next(prefetched, first)
            head.append(body)
            carried += held
        renamed = Substitution(values=reads)
        body = renamed.body(tuple(s for s in map(self._read, loop.body) if s is not None))
        kept = tuple(replace(c, yielded=renamed.use(c.yielded)) for c in loop.carried)
        return replace(loop, body=(*head, *body), carried=(*kept, *carried), stages=1)

    def _counters(self) -> list[Carried]:
        slot, fill, n = self.slot, self.fill, self.stages
        after = simplify(_mod(_add(slot, index(1)), n))
        return [
            Carried(self._var("slot"), slot, index(0), after),
            Carried(self._var("fill"), fill, index(n - 1), slot),
        ]

    def _copies(self, at: Expr, slot: Expr) -> Body:
        """The copies of the turn whose variable is `at`, if there is such a turn."""
        inside: list[Stmt] = []
        for ring in self.rings:
            if ring.ahead.run == 1:
                inside += self._copy(ring, at, slot)
                continue
            begins = Binary("eq", simplify(_mod(at, ring.ahead.period)), index(0), BOOL)
            inside.append(ins.If(begins, self._copy(ring, at, self._run_slot(ring, at))))
        return (ins.If(self._goes_on(at), tuple(inside)),)

    def _copy(self, ring: Ring, at: Expr, slot: Expr) -> Body:
        load = ring.ahead.load
        needs, starts = self._moved(ring.ahead, [a.start for a in load.region.axes], at)
        axes = zip(load.region.axes, starts, strict=True)
        source = Region(load.region.memory, tuple(replace(a, start=s) for a, s in axes))
        copy = ins.CopyAsync(ring.region(slot), source, ring.placed.copy, loc=load.loc)
        return (*needs, copy)

    def _run_slot(self, ring: Ring, at: Expr) -> Expr:
        return simplify(_mod(Binary("floordiv", at, index(ring.ahead.period), INDEX), ring.slots))

    def _read(self, stmt: Stmt) -> Stmt | None:
        """A statement of the body; None for a load that came with the turn before."""
        for ring in self.rings:
            if ring.ahead.load is stmt:
                run = ring.ahead.run
                slot = self.slot if run == 1 else self._run_slot(ring, self.loop.var)
                return replace(ring.ahead.load, region=ring.region(slot), other=None)
        return None if any(a.load is stmt for a in self.prefetched) else stmt

    # Prefetched into registers

    def _first(self, ahead: Ahead, out: list[Stmt]) -> Value:
        """The first turn's tile, zeros where there is no turn."""
        load, start = ahead.load, self.loop.start
        none = replace(load.out, name=f"{load.out.name or 't'}_none")
        out.append(ins.Full(none, zeros(none), loc=load.loc))
        first = replace(load.out, name=f"{load.out.name or 't'}_first")
        out.append(self._guarded(ahead, start, none, first))
        return first

    def _next(self, ahead: Ahead, first: Value) -> tuple[Stmt, list[Carried], Value]:
        """The load for the next turn (or run), what is carried for it, and this turn's tile."""
        out, at = ahead.load.out, self._at(self.loop.var, ahead.run)
        now, next_ = replace(out), replace(out, name=f"{out.name or 't'}_next")
        if ahead.run == 1:
            load = self._guarded(ahead, at, now, next_)
            return load, [Carried(replace(out), now, first, next_)], now
        # In a run's first turn the tile that waited becomes the current one.
        waited, this = replace(next_), replace(out)
        loaded, kept = replace(next_), replace(next_)
        load = self._guarded(ahead, at, waited, loaded)
        joined = (Joined(this, waited, now), Joined(kept, loaded, waited))
        begins = Binary("eq", simplify(_mod(self.loop.var, ahead.period)), index(0), BOOL)
        carried = [
            Carried(replace(out), now, first, this),
            Carried(replace(next_), waited, first, kept),
        ]
        return ins.If(begins, (load,), (), joined, loc=ahead.load.loc), carried, this

    def _guarded(self, ahead: Ahead, at: Expr, otherwise: Value, result: Value) -> Stmt:
        """The load of the turn at `at`, or the other tile where there is no such turn."""
        load = ahead.load
        exprs = [a.start for a in load.region.axes]
        if load.other is not None:
            exprs.append(load.other)
        needs, moved = self._moved(ahead, exprs, at)
        axes = zip(load.region.axes, moved, strict=False)
        region = Region(load.region.memory, tuple(replace(a, start=s) for a, s in axes))
        other = moved[-1] if load.other is not None else None
        loaded = replace(load.out)
        then = (*needs, ins.Load(loaded, region, other, loc=load.loc))
        joined = (Joined(result, loaded, otherwise),)
        return ins.If(self._goes_on(at), then, (), joined, loc=load.loc)

    # Turns

    def _moved(self, ahead: Ahead, exprs: list[Expr], at: Expr) -> tuple[Body, list[Expr]]:
        """The statements that a load needs and its expressions, for the turn at `at`."""
        needs, uses = clone_body(
            ahead.needs, self.taken, scalars={self.loop.var: at}, outputs=exprs
        )
        return needs, [simplify(u) for u in uses if not isinstance(u, Value)]

    def _at(self, start: Expr, turns: int) -> Expr:
        return simplify(_add(start, index(turns * self.step)))

    def _goes_on(self, at: Expr) -> Expr:
        """Whether the loop has a turn at `at`, which is no earlier than its first."""
        return Binary("lt" if self.step > 0 else "gt", at, self.loop.stop, BOOL)

    def _var(self, hint: str) -> Var:
        return Var(fresh_name(hint, self.taken), INDEX)


def _add(x: Expr, y: Expr) -> Expr:
    return Binary("add", x, y, INDEX)


def _mod(x: Expr, n: int) -> Expr:
    return Binary("mod", x, index(n), INDEX)
