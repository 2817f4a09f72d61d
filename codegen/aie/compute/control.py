"""Statements in order: what puts tiles into memory, loops and branches, and the FIFOs of scopes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from dslc.codegen.aie.compute import branches, cascades, onchip, products, reductions
from dslc.codegen.aie.compute import carried as carried_tiles
from dslc.codegen.aie.compute.emission import (
    Emission,
    Flat,
    Stored,
    dense_strides,
    refuse,
    without_code,
)
from dslc.codegen.aie.compute.filling import copy, copy_rows, copy_woven, fill, held, woven
from dslc.codegen.aie.compute.loop_ranges import Iterations
from dslc.codegen.aie.compute.ports import Ports
from dslc.codegen.aie.compute.scalars import scalar
from dslc.codegen.aie.compute.shaping import units_only
from dslc.codegen.aie.dtypes import WORD, bytes_of, element, stored
from dslc.codegen.aie.planning.blocking import Blocking
from dslc.codegen.aie.planning.merging import Cascade
from dslc.codegen.aie.planning.plan import Fifo
from dslc.codegen.aie.planning.scopes import Access, Scope, Scopes
from dslc.codegen.aie.planning.streams import Stream
from dslc.compiler.ir import Role, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.instructions import Carried, Stmt
from dslc.compiler.ir.traverse import Body, tile_of


@dataclass(slots=True)
class Program:
    """One core's program as it is written: its FIFOs by stream, the objects that it holds now.

    `windows` are the sizes of those that were copied without what they had been widened by. In a
    cascade it is the program of one of `stages` cores, the `stage`th.
    """

    e: Emission
    scopes: Scopes
    fifos: Mapping[Stream, Fifo]
    blocking: Blocking
    accesses: Mapping[Stmt, tuple[Stream, Access]]
    ports: Ports
    objects: dict[Stream, str] = field(default_factory=dict)
    windows: dict[Stream, tuple[int, ...]] = field(default_factory=dict)
    cascade: Cascade | None = None
    stage: int = 0
    stages: int = 1

    @property
    def iterations(self) -> Iterations:
        """Which iterations of loops this core runs."""
        return Iterations(self.e, self.cascade, self.stage, self.stages)

    @contextmanager
    def objects_of(self, scope: Scope) -> Iterator[None]:
        """Acquire the objects of a scope, and release them after it."""
        groups: dict[Fifo, list[Stream]] = {}
        for stream, fifo in self.fifos.items():
            if stream.scope is scope:
                groups.setdefault(fifo, []).append(stream)
        for fifo, streams in list(groups.items()):
            streams.sort(key=lambda s: s.number)
            taken = self.ports.acquire(self.e, fifo, streams)
            for stream in streams:
                self.objects[stream] = self._viewed(taken[stream], fifo, stream)
                if stream.output and stream.covered < stream.elements:
                    self._clear(stream)
            if fifo.is_passed_on(streams[0]):
                self._keep_objects(streams)
                self.ports.release(self.e, fifo, streams)
                del groups[fifo]
        yield
        for fifo, streams in groups.items():
            self.ports.release(self.e, fifo, streams)

    def _viewed(self, name: str, fifo: Fifo, stream: Stream) -> str:
        """An object as its tensor's type, where the FIFO is of bytes that several tensors share."""
        if fifo.dtype == stream.memory.dtype:
            return name
        source = f"memref<{fifo.elements}x{stored(fifo.dtype)}>"
        target = f"memref<{stream.elements}x{stored(stream.memory.dtype)}>"
        zero = self.e.out.constant(0, "index")
        return self.e.out.op(f"memref.view {name}[{zero}][] : {source} to {target}", stream.name)

    def _clear(self, stream: Stream) -> None:
        """Zeros in an object that was widened to whole words: all of it is sent."""
        e, dtype, count = self.e, stream.memory.dtype, stream.elements
        target = Stored(self.objects[stream], count, dtype, (count,), (1,))
        with e.loop(count) as loop:
            e.store(e.out.constant(0, stored(dtype)), target, Flat(e.out.at(loop)), 1, raw=True)

    def _keep_objects(self, streams: list[Stream]) -> None:
        """Copies of objects whose FIFO is wanted for others before they are done with."""
        for stream in streams:
            count, dtype = stream.elements, stream.memory.dtype
            if stream.weave is not None:
                asked = stream.asked or stream.sizes
                rows = math.prod(asked[:-1])
                kept = self.e.buffer(stream.name, dtype, (rows, asked[-1]))
                source = woven(self.objects[stream], stream)
                copy_woven(self.e, source, kept, stream.sizes[-1])
                self.windows[stream] = asked
            elif stream.asked is None:
                kept = self.e.buffer(stream.name, dtype, (count,))
                copy(self.e, Stored(self.objects[stream], count, dtype, (count,), (1,)), kept)
            else:
                rows, wide = math.prod(stream.sizes[:-1]), stream.sizes[-1]
                shape = rows, stream.asked[-1]
                kept = self.e.buffer(stream.name, dtype, shape)
                source = Stored(self.objects[stream], count, dtype, shape, (wide, 1))
                copy_rows(self.e, source, kept)
                self.windows[stream] = stream.asked
            self.objects[stream] = kept.name

    def part(self, stmt: ins.Load | ins.Store) -> Stored:
        """Where an access lies in its object."""
        stream, access = self.accesses[stmt]
        part = stream.parts[access]
        sizes = self.windows.get(stream, stream.sizes)
        window = dense_strides(sizes)
        offset = sum(o * s for o, s in zip(part.offsets, window, strict=True))
        axes = [n for n, a in enumerate(stmt.region.axes) if not a.dropped]
        strides = tuple(part.steps[n] * window[n] for n in axes)
        name, shape = self.objects[stream], stmt.region.shape
        dtype = stream.memory.dtype
        count = self._count(stream, sizes)
        return Stored(name, count, dtype, shape, strides, offset, stream.blocks)

    @staticmethod
    def _count(stream: Stream, sizes: tuple[int, ...]) -> int:
        """The elements of the memory that a window lies in: whole words."""
        unit = max(1, WORD // bytes_of(stream.memory.dtype))
        return -(-math.prod(sizes) // unit) * unit

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
                fill(e, stmt.x, self.part(stmt))
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
        self.e.held[stmt.out] = self.part(stmt)

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
            with self.objects_of(scope), self.iterations.guarded(stmt, scope):
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
            with self.objects_of(scope), self.iterations.guarded(stmt, scope):
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
