"""Statements in order: what puts tiles into memory, loops and branches, and the FIFOs of scopes."""

from __future__ import annotations

from dataclasses import dataclass

from dslc.codegen.aie.compute import branches, cascades, onchip, products, reductions
from dslc.codegen.aie.compute import carried as carried_tiles
from dslc.codegen.aie.compute.emission import (
    Emission,
    Stored,
    dense_strides,
    refuse,
    without_code,
)
from dslc.codegen.aie.compute.filling import fill, held
from dslc.codegen.aie.compute.loop_ranges import Iterations
from dslc.codegen.aie.compute.object_flow import Objects
from dslc.codegen.aie.compute.scalars import scalar
from dslc.codegen.aie.compute.shaping import units_only
from dslc.codegen.aie.dtypes import element
from dslc.codegen.aie.planning.blocking import Blocking
from dslc.codegen.aie.planning.merging import Cascade
from dslc.codegen.aie.planning.scopes import Scope, Scopes
from dslc.compiler.ir import Role, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.instructions import Carried, Stmt
from dslc.compiler.ir.traverse import Body, tile_of


@dataclass(slots=True)
class Program:
    """One core's program as it is written, and the objects of its FIFOs.

    In a cascade it is the program of one of `stages` cores, the `stage`th.
    """

    e: Emission
    scopes: Scopes
    objects: Objects
    blocking: Blocking
    cascade: Cascade | None = None
    stage: int = 0
    stages: int = 1

    @property
    def iterations(self) -> Iterations:
        """Which iterations of loops this core runs."""
        return Iterations(self.e, self.cascade, self.stage, self.stages)

    # Statements

    def body(self, body: Body) -> None:
        """Statements in order."""
        for stmt in body:
            self.statement(stmt)
            if self.cascade is not None and stmt is self.cascade.loop:
                self._pass_on(self.cascade)
                if self.stage < self.stages - 1:
                    return  # the last goes on

    def _pass_on(self, cascade: Cascade) -> None:
        """Merge what comes from the stage before with this one's results, for the next."""
        e = self.e
        carried = [(c, c.result) for c in cascade.loop.carried if isinstance(c.result, Value)]
        if self.stage:
            for value, (_, own) in zip(cascade.received, carried, strict=True):
                e.held[value] = cascades.get(e, value, e.held[own].blocks)
            self.body(cascade.merge)
            carried_tiles.hand_on(
                e,
                [
                    Carried(result, result, result, merged)
                    for (_, result), merged in zip(carried, cascade.merged, strict=True)
                ],
            )
        if self.stage < self.stages - 1:
            for _, result in carried:
                cascades.put(e, e.held[result])

    def statement(self, stmt: Stmt) -> None:
        """One statement; tiles that are not kept are only remembered."""
        e = self.e
        match stmt:
            case ins.Load() if stmt.region.memory.role is Role.BUFFER:
                onchip.load(e, stmt)
            case ins.Store() if stmt.region.memory.role is Role.BUFFER:
                onchip.store(e, stmt)
            case ins.Load():
                self._load(stmt)
            case ins.Store():
                fill(e, stmt.x, self.objects.part(stmt))
            case ins.Alloc(memory):
                shape = tuple(int(constant(n) or 0) for n in memory.shape)
                e.memories[memory] = e.buffer(memory.name, memory.dtype, shape)
            case ins.Gather() if stmt.region.memory.role is Role.BUFFER:
                onchip.gather(e, stmt)
            case ins.Scatter() if stmt.region.memory.role is Role.BUFFER:
                onchip.scatter(e, stmt)
            case ins.AtomicRmw() if stmt.region.memory.role is Role.BUFFER:
                onchip.atomic_rmw(e, stmt)
            case ins.Reduce():
                reductions.reduce(e, stmt)
            case ins.Scan():
                reductions.scan(e, stmt)
            case ins.Assert():
                pass  # a core has nobody to tell
            case ins.Dot():
                products.product(e, stmt, self.blocking.atoms.get(stmt))
            case ins.Concat():
                self._concat(stmt)
            case ins.For():
                self._for(stmt)
            case ins.If():
                branches.branch(e, stmt, self.body)
            case ins.While():
                self._while(stmt)
            case ins.Let(var, value):
                e.scalars[var] = scalar(e, stmt, value)
            case ins.Reshape() if not units_only(stmt.x.type.shape, stmt.out.type.shape):
                x = held(e, stmt.x)
                shape = stmt.out.type.shape
                e.held[stmt.out] = Stored(
                    x.name, x.count, x.dtype, shape, dense_strides(shape), x.offset
                )
            case _:
                if tile_of(stmt) is None:
                    raise without_code(stmt)
                e.rule(stmt)
                out = tile_of(stmt)
                if out in e.kept:
                    self._keep(out)

    def _keep(self, value: Value) -> None:
        blocks = self.e.blocks.get(value)
        buffer = self.e.buffer(value.name or "t", value.type.dtype, value.type.shape, blocks)
        fill(self.e, value, buffer)
        self.e.held[value] = buffer

    def _load(self, stmt: ins.Load) -> None:
        filled = stmt.other is not None and constant(stmt.other) != 0
        if filled and any(a.checked for a in stmt.region.axes):
            raise refuse(stmt, "an NPU's tensors are padded with 0: another fill needs a where")
        self.e.held[stmt.out] = self.objects.part(stmt)

    def _concat(self, stmt: ins.Concat) -> None:
        e, out = self.e, stmt.out
        joined = e.buffer(out.name or "t", out.type.dtype, out.type.shape)
        at = 0
        for x in stmt.xs:
            offset = at * joined.strides[stmt.axis]
            shape = x.type.shape
            fill(
                e, x, Stored(joined.name, joined.count, joined.dtype, shape, joined.strides, offset)
            )
            at += shape[stmt.axis]
        e.held[out] = joined

    # Control flow

    def _for(self, stmt: ins.For) -> None:
        e = self.e
        tiles = [c for c in stmt.carried if isinstance(c.inner, Value)]
        numbers = [c for c in stmt.carried if not isinstance(c.inner, Value)]
        for carried in tiles:
            carried_tiles.begin(e, carried, self._init(stmt, carried))
        scope = self.scopes.loops[stmt]
        trips = self.iterations.count(stmt, scope)
        if numbers and self.iterations.are_guarded(stmt, scope):
            self._guarded(stmt, scope, trips, tiles)
            return
        given = tuple((scalar(e, stmt, self._expr(c.init)), self._type(c)) for c in numbers)
        with e.loop(trips, given, stmt.var.name) as loop:
            e.scalars[stmt.var] = self.iterations.counter(stmt, e.out.at(loop))
            for number, carried in enumerate(numbers):
                assert isinstance(carried.inner, ex.Var)
                e.scalars[carried.inner] = loop.carried[number].inner
            with self.objects.of(scope), self.iterations.guarded(stmt, scope):
                self.body(stmt.body)
                carried_tiles.hand_on(e, tiles)
                loop.yielded += [scalar(e, stmt, self._expr(c.yielded)) for c in numbers]
        for number, carried in enumerate(numbers):
            assert isinstance(carried.result, ex.Var)
            e.scalars[carried.result] = loop.results[number]

    def _guarded(self, stmt: ins.For, scope: Scope, trips: int | str, tiles: list[Carried]) -> None:
        """A loop that passes over iterations: what it carries is as it was after those."""
        e = self.e
        cells = branches.Cells(e, stmt, stmt.carried)
        with e.loop(trips, (), stmt.var.name) as loop:
            e.scalars[stmt.var] = self.iterations.counter(stmt, e.out.at(loop))
            with self.objects.of(scope), self.iterations.guarded(stmt, scope):
                cells.enter()
                self.body(stmt.body)
                carried_tiles.hand_on(e, tiles)
                cells.leave()
        cells.end()

    def _init(self, stmt: ins.For, carried: Carried) -> Value:
        """What a carried tile is at first: in later stages of a cascade what changes no result."""
        assert isinstance(carried.init, Value)
        if not (self.iterations.are_shared(stmt) and self.stage):
            return carried.init
        assert self.cascade is not None
        return self.cascade.seeds[stmt.carried.index(carried)]

    @staticmethod
    def _expr(use: object) -> ex.Expr:
        assert not isinstance(use, Value)
        return use  # type: ignore[return-value]

    @staticmethod
    def _type(carried: Carried) -> str:
        assert isinstance(carried.inner, ex.Var)
        return element(carried.inner.dtype)

    def _while(self, stmt: ins.While) -> None:
        tiles = [c for c in stmt.carried if isinstance(c.inner, Value)]
        for carried in tiles:
            assert isinstance(carried.init, Value)
            carried_tiles.begin(self.e, carried, carried.init)
        branches.repeat(self.e, stmt, self.body, lambda: carried_tiles.hand_on(self.e, tiles))
