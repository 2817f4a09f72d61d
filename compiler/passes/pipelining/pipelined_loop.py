"""The prologue and the body of a pipelined loop; `software_pipeline` shows both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import add, div, mod, mul
from dslc.compiler.ir.expr import Binary, Const, Expr, Var, index
from dslc.compiler.ir.instructions import Carried, Joined, Stmt
from dslc.compiler.ir.rewrite import Substitution, clone_body, fresh_name
from dslc.compiler.ir.traverse import Body
from dslc.compiler.ir.values import Value
from dslc.compiler.passes.pipelining.prefetchable_loads import Ahead, zeros
from dslc.compiler.passes.pipelining.ring_buffers import Barriers, Ring
from dslc.compiler.passes.products.async_products import is_made_anew


class PipelinedLoop:
    """Builds the prologue and the loop."""

    def __init__(
        self,
        loop: ins.For,
        stages: int,
        rings: Sequence[Ring],
        prefetched: Sequence[Ahead],
        taken: set[str],
        async_dots: Sequence[ins.Dot] = (),
        paced: bool = False,
        last: ins.WaitDots | None = None,
        held: int = 1,
    ) -> None:
        """Loads to registers run ahead by `held` iterations; `last` is a wait of the next one."""
        self.async_dots, self.held, self.last = tuple(async_dots), held, last
        # By how many iterations copies run ahead.
        self.ahead = stages - 1 - (paced or bool(self.async_dots))
        self.loop, self.stages, self.rings, self.taken = loop, stages, rings, taken
        self.prefetched = prefetched
        assert isinstance(loop.step, Const)
        self.step = int(loop.step.value)
        self.slot, self.fill = self._var("slot"), self._var("fill")
        self.shares = any(not r.placed.private for r in rings)
        self.grouped = any(not r.bulk for r in rings)
        self.full = self.empty = None
        if any(r.bulk for r in rings):
            self.full = Barriers("full", stages, self._var("phase"))
        if paced:
            self.empty = Barriers("empty", stages, self._var("freed"))

    def body(self, again: bool, more: bool, freed: bool = False) -> Body:
        """What stands in place of the loop.

        `again` where it may run several times in an iteration, `more` where other loops may take the
        memory of its rings, `freed` where exchanges between threads may.
        """
        out: list[Stmt] = [ins.Alloc(r.memory, loc=r.ahead.load.loc) for r in self.rings]
        if self.full is not None:
            out += self.full.begin()
            out += self.empty.begin() if self.empty is not None else ()
            out.append(ins.Sync())
        elif self.rings and self.shares and again:
            out.append(ins.Sync())  # the last run may still be reading
        if self.rings:
            out.append(self._prologue())
        firsts = [self._firsts(a, out) for a in self.prefetched]
        out.append(self._loop(firsts))
        if self.async_dots or self.last is not None:
            out.append(ins.WaitDots(0, loc=self.loop.loc))
        if self.rings and (more or freed):
            # No copy is under way, but only a wait shows that the rings are free.
            out += [ins.WaitGroup(0)] if self.grouped else []
            out += [ins.Sync()] if more else []
        return tuple(out)

    def _prologue(self) -> ins.For:
        """The copies of the first iterations, a group each."""
        stage = self._var("stage")
        at = simplify(add(self.loop.start, mul(stage, self.step)))
        body = (*self._copies(at, stage), *self._commit())
        last = index(self.ahead)
        return ins.For(stage, index(0), last, index(1), body, stages=1, loc=self.loop.loc)

    def _loop(self, firsts: Sequence[Sequence[Value]]) -> ins.For:
        loop = self.loop
        head: list[Stmt] = []
        filling: list[Stmt] = []
        tail: list[Stmt] = []
        carried: list[Carried] = []
        if self.rings:
            if self.grouped:
                head.append(ins.WaitGroup(self.ahead - 1))
            if self.full is not None:
                head.append(self.full.wait(self.slot))
            if self.shares and self.empty is None:
                head.append(ins.Sync())
            ahead = self._at(loop.var, self.ahead)
            filling = [*self._copies(ahead, self.fill, again=True), *self._commit()]
            if not self.async_dots and self.last is None:
                head += filling
            carried += self._counters()
        reads: dict[Value, Value] = {}
        for prefetched, first in zip(self.prefetched, firsts, strict=True):
            load, held, reads[prefetched.load.out] = self._next(prefetched, first)
            (tail if len(first) > 1 else head).append(load)
            carried += held
        renamed = Substitution(values=reads)
        body = renamed.body(tuple(s for s in map(self._read, loop.body) if s is not None))
        if self.async_dots:
            body = tuple(s for s in body if not isinstance(s, ins.WaitDots))
            last = max(i for i, s in enumerate(body) if isinstance(s, ins.Dot) and s.is_async)
            wait = ins.WaitDots(len(self.async_dots), loc=self.async_dots[-1].loc)
            # The unit has work before the threads begin to copy.
            body = (*body[: last + 1], *filling, wait, *self._freed(1), *body[last + 1 :])
        elif self.last is not None:
            body = tuple(s for s in body if s is not self.last)
            at = next(i for i, s in enumerate(body) if isinstance(s, ins.WaitDots))
            ended = (body[at], *self._freed(1))
            body = (*body[:at], *filling, *ended, *body[at + 1 :])
        else:
            body = (*body, *self._freed(0))
        kept = tuple(replace(c, yielded=renamed.use(c.yielded)) for c in loop.carried)
        # Unrolled by as many iterations, tiles change their names and not their registers.
        unroll = loop.unroll or (self.held if self.held > 1 else None)
        if is_made_anew(loop, self.async_dots):
            unroll = unroll or 2  # the registers of two iterations are read
        # What is loaded last takes the registers that are read first, once they have been read.
        body = (*head, *body, *merged(tail))
        return replace(loop, body=body, carried=(*kept, *carried), stages=1, unroll=unroll)

    def _counters(self) -> list[Carried]:
        slot, fill, n = self.slot, self.fill, self.stages
        after = simplify(mod(add(slot, 1), n))
        filled = slot if self.ahead == n - 1 else simplify(mod(add(fill, 1), n))
        counters = [
            Carried(self._var("slot"), slot, index(0), after),
            Carried(self._var("fill"), fill, index(self.ahead), filled),
        ]
        if self.full is not None:
            counters.append(self.full.counter(self._var("phase"), slot, 0))
        if self.empty is not None:  # a slot's first filling waits for nothing
            counters.append(self.empty.counter(self._var("freed"), fill, 1))
        return counters

    def _freed(self, iterations: int) -> Body:
        """All have read the slot of so many iterations ago."""
        if self.empty is None:
            return ()
        if not iterations:
            return (ins.Arrive(self.empty.at(self.slot), together=True),)
        before = simplify(mod(add(self.slot, self.stages - iterations), self.stages))
        arrive = ins.Arrive(self.empty.at(before), together=True)
        op = "gt" if self.step > 0 else "lt"
        return (ins.If(Binary(op, self.loop.var, self.loop.start, BOOL), (arrive,)),)

    def _commit(self) -> Body:
        return (ins.CommitGroup(),) if self.grouped else ()

    def _copies(self, at: Expr, slot: Expr, again: bool = False) -> Body:
        """The copies of the iteration whose variable is `at`, if there is such an iteration.

        They fill a slot `again` that may still be read.
        """
        inside: list[Stmt] = []
        if again and self.empty is not None:
            inside.append(self.empty.wait(slot))
        if self.full is not None:
            count = sum(r.bytes // r.slots for r in self.rings if r.bulk)
            inside.append(ins.Arrive(self.full.at(slot), count))
        for ring in self.rings:
            if ring.ahead.run == 1:
                inside += self._copy(ring, at, slot)
                continue
            begins = Binary("eq", simplify(mod(at, ring.ahead.period)), index(0), BOOL)
            inside.append(ins.If(begins, self._copy(ring, at, self._run_slot(ring, at))))
        return (ins.If(self._goes_on(at), tuple(inside)),)

    def _copy(self, ring: Ring, at: Expr, slot: Expr) -> Body:
        load = ring.ahead.load
        needs, moved = self._moved(ring.ahead, list(load.region.subscripts), at)
        source = load.region.with_subscripts(moved)
        if ring.bulk and self.full is not None:
            full = self.full.at(slot)
            copy = ins.CopyAsync(ring.region(slot), source, barrier=full, loc=load.loc)
        else:
            copy = ins.CopyAsync(ring.region(slot), source, ring.placed.copy, loc=load.loc)
        return (*needs, copy)

    def _run_slot(self, ring: Ring, at: Expr) -> Expr:
        return simplify(mod(div(at, ring.ahead.period), ring.slots))

    def _read(self, stmt: Stmt) -> Stmt | None:
        """A statement of the body; None for a load that came with the iteration before."""
        for ring in self.rings:
            if isinstance(stmt, ins.Load) and stmt in ring.ahead.loads:
                run = ring.ahead.run
                slot = self.slot if run == 1 else self._run_slot(ring, self.loop.var)
                return replace(stmt, region=ring.region(slot), other=None)
        return None if any(a.load is stmt for a in self.prefetched) else stmt

    # Prefetched into registers

    def _firsts(self, ahead: Ahead, out: list[Stmt]) -> list[Value]:
        """The tiles of the first iterations, zeros where there is no such iteration."""
        load = ahead.load
        none = replace(load.out, name=f"{load.out.name or 't'}_none")
        out.append(ins.Full(none, zeros(none), loc=load.loc))
        firsts: list[Value] = []
        for iteration in range(self.held if ahead.run == 1 else 1):
            first = replace(load.out, name=f"{load.out.name or 't'}_first")
            out.append(self._guarded(ahead, self._at(self.loop.start, iteration), none, first))
            firsts.append(first)
        return firsts

    def _next(self, ahead: Ahead, firsts: Sequence[Value]) -> tuple[Stmt, list[Carried], Value]:
        """The load for a later iteration (or run), what is carried for it, and the tile of this one."""
        out = ahead.load.out
        names = [replace(out, name=f"{out.name or 't'}_next") for _ in firsts]
        now, *waiting = (replace(out), *names[1:])
        if ahead.run == 1:
            last = names[0]
            load = self._guarded(ahead, self._at(self.loop.var, len(firsts)), now, last)
            inner, yielded = (now, *waiting), (*waiting, last)
            rotated = zip(inner, firsts, yielded, strict=True)
            return load, [Carried(replace(out), i, f, y) for i, f, y in rotated], now
        # In a run's first iteration the tile that waited becomes the current one.
        (first,) = firsts
        waited, this = replace(names[0]), replace(out)
        loaded, kept = replace(waited), replace(waited)
        load = self._guarded(ahead, self._at(self.loop.var, ahead.run), waited, loaded)
        joined = (Joined(this, waited, now), Joined(kept, loaded, waited))
        begins = Binary("eq", simplify(mod(self.loop.var, ahead.period)), index(0), BOOL)
        carried = [
            Carried(replace(out), now, first, this),
            Carried(replace(waited), waited, first, kept),
        ]
        return ins.If(begins, (load,), (), joined, loc=ahead.load.loc), carried, this

    def _guarded(self, ahead: Ahead, at: Expr, otherwise: Value, result: Value) -> Stmt:
        """The load of the iteration at `at`, or the other tile where there is no such iteration."""
        load = ahead.load
        exprs = list(load.region.subscripts)
        if load.other is not None:
            exprs.append(load.other)
        needs, moved = self._moved(ahead, exprs, at)
        region = load.region.with_subscripts(moved)
        other = moved[-1] if load.other is not None else None
        loaded = replace(load.out)
        then = (*needs, ins.Load(loaded, region, other, loc=load.loc))
        joined = (Joined(result, loaded, otherwise),)
        return ins.If(self._goes_on(at), then, (), joined, loc=load.loc)

    # Iterations

    def _moved(self, ahead: Ahead, exprs: list[Expr], at: Expr) -> tuple[Body, list[Expr]]:
        """The statements that a load needs and its expressions, for the iteration at `at`."""
        needs, uses = clone_body(
            ahead.needs, self.taken, scalars={self.loop.var: at}, outputs=exprs
        )
        return needs, [simplify(u) for u in uses if not isinstance(u, Value)]

    def _at(self, start: Expr, iterations: int) -> Expr:
        return simplify(add(start, iterations * self.step))

    def _goes_on(self, at: Expr) -> Expr:
        """Whether the loop has an iteration at `at`, which is no earlier than its first."""
        return Binary("lt" if self.step > 0 else "gt", at, self.loop.stop, BOOL)

    def _var(self, hint: str) -> Var:
        return Var(fresh_name(hint, self.taken), INDEX)


def loaded_early(loop: ins.For, loads: Sequence[Ahead], taken: set[str]) -> Body:
    """What stands in place of a loop whose loads go to registers an iteration ahead.

    It may begin anywhere: loads that stay the same for several iterations are made in each.
    """
    if not loads:
        return (loop,)
    step = int(loop.step.value) if isinstance(loop.step, Const) else 0
    every = [replace(a, run=1, period=step) for a in loads]
    return PipelinedLoop(loop, 1, (), every, taken).body(again=False, more=False)


def merged(stmts: Sequence[Stmt]) -> Body:
    """Neighbouring Ifs of one condition as one, where no later one reads what an earlier one makes."""
    out: list[Stmt] = []
    for stmt in stmts:
        last = out[-1] if out else None
        if (
            isinstance(last, ins.If)
            and isinstance(stmt, ins.If)
            and last.condition == stmt.condition
        ):
            out[-1] = replace(
                last,
                then=(*last.then, *stmt.then),
                otherwise=(*last.otherwise, *stmt.otherwise),
                joined=(*last.joined, *stmt.joined),
            )
        else:
            out.append(stmt)
    return tuple(out)
