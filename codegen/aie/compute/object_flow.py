"""The objects of a core's FIFOs: taken where scopes begin, copied where others follow, given back."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from dslc.codegen.aie.compute.emission import Emission, Flat, Stored, dense_strides
from dslc.codegen.aie.compute.filling import copy, copy_rows, copy_woven, woven
from dslc.codegen.aie.compute.ports import Ports
from dslc.codegen.aie.dtypes import WORD, bytes_of, stored
from dslc.codegen.aie.planning.herd import Herd
from dslc.codegen.aie.planning.plan import Fifo
from dslc.codegen.aie.planning.rounds import key
from dslc.codegen.aie.planning.scopes import Access, Scope
from dslc.codegen.aie.planning.streams import Stream
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt


@dataclass(slots=True)
class Objects:
    """What one `core` of the herd holds of its FIFOs while its program is written.

    `held` are the SSA names of objects, or of their copies; `windows` the sizes of those copied without
    what they had been widened by.
    """

    e: Emission
    fifos: Mapping[Stream, Fifo]
    accesses: Mapping[Stmt, tuple[Stream, Access]]
    ports: Ports
    herd: Herd
    core: tuple[int, int]
    held: dict[Stream, str] = field(default_factory=dict)
    windows: dict[Stream, tuple[int, ...]] = field(default_factory=dict)

    @contextmanager
    def of(self, scope: Scope) -> Iterator[None]:
        """Acquire the objects of a scope, and release them after it."""
        groups: dict[Fifo, list[Stream]] = {}
        late = [s for s in self.fifos if s.scope is scope and s.late]
        for stream, fifo in self.fifos.items():
            if stream.scope is scope and not stream.late:
                groups.setdefault(fifo, []).append(stream)
        for fifo, streams in list(groups.items()):
            streams.sort(key=lambda s: s.number)
            if any(fifo.comes_often(s) for s in streams):
                for stream in streams:
                    self._take_own(fifo, stream)
                del groups[fifo]
                continue
            taken = self.ports.acquire(self.e, fifo, streams)
            for stream in streams:
                self.held[stream] = self._viewed(taken[stream], fifo, stream)
                if stream.output and stream.covered < stream.elements:
                    self._clear(stream)
            if fifo.is_passed_on(streams[0]):
                self._keep_objects(streams)
                self.ports.release(self.e, fifo, streams)
                del groups[fifo]
        yield
        for stream in late:
            self._give_back(self.fifos[stream], stream)
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
        target = Stored(self.held[stream], count, dtype, (count,), (1,))
        with e.loop(count) as loop:
            e.store(e.out.constant(0, stored(dtype)), target, Flat(e.out.at(loop)), 1, raw=True)

    def _take_own(self, fifo: Fifo, stream: Stream) -> None:
        """Let the objects pass that are other cores', and copy this one's, piece by piece."""
        e = self.e
        before, after = self._others(fifo, stream)
        self._let_pass(fifo, stream, before)
        shape = (
            stream.pieces,
            stream.elements if stream.asked is None else math.prod(stream.asked),
        )
        kept = e.buffer(stream.name, stream.memory.dtype, shape)
        for piece in range(stream.pieces):
            taken = self.ports.acquire(e, fifo, [stream])
            self._copy(self._viewed(taken[stream], fifo, stream), stream, kept, piece * shape[1])
            self.ports.release(e, fifo, [stream])
        self._let_pass(fifo, stream, after)
        self.held[stream], self.windows[stream] = kept.name, stream.window

    def _others(self, fifo: Fifo, stream: Stream) -> tuple[int, int]:
        """How many objects of other cores come ahead of this one's window, and after it."""
        cores = fifo.rounds.get(stream, (self.core,))
        keys = [key(stream, self.herd, c) for c in cores]
        own = keys.index(key(stream, self.herd, self.core)) if len(cores) > 1 else 0
        return own * stream.pieces, (len(cores) - 1 - own) * stream.pieces

    def _take_late(self, stream: Stream) -> None:
        """The object of a stream that comes after the loops of its scope, where it is first wanted."""
        fifo = self.fifos[stream]
        self._let_pass(fifo, stream, self._others(fifo, stream)[0])
        taken = self.ports.acquire(self.e, fifo, [stream])
        self.held[stream] = self._viewed(taken[stream], fifo, stream)

    def _give_back(self, fifo: Fifo, stream: Stream) -> None:
        """Release a late object and let other cores' pass; all where a stage had no use for it."""
        before, after = self._others(fifo, stream)
        if stream not in self.held:
            self._let_pass(fifo, stream, before + 1 + after)
            return
        self.ports.release(self.e, fifo, [stream])
        self._let_pass(fifo, stream, after)
        del self.held[stream]

    def _let_pass(self, fifo: Fifo, stream: Stream, count: int) -> None:
        """Take objects and give them back unread."""
        if count:
            with self.e.loop(count, hint="passing"):
                self.ports.acquire(self.e, fifo, [stream])
                self.ports.release(self.e, fifo, [stream])

    def _keep_objects(self, streams: list[Stream]) -> None:
        """Copies of objects whose FIFO is wanted for others before they are done with."""
        for stream in streams:
            window = stream.window
            kept = self.e.buffer(stream.name, stream.memory.dtype, window)
            self._copy(self.held[stream], stream, kept)
            self.held[stream], self.windows[stream] = kept.name, window

    def _copy(self, name: str, stream: Stream, kept: Stored, at: int = 0) -> None:
        """An object into a buffer from an element on, without what it was widened by."""
        count, dtype = stream.elements, stream.memory.dtype
        asked, wide = stream.asked or stream.sizes, stream.sizes[-1]
        shape = math.prod(asked[:-1]), asked[-1]
        target = Stored(kept.name, kept.count, dtype, shape, (shape[1], 1), at)
        if stream.weave is not None:
            copy_woven(self.e, woven(name, stream), target, wide)
        elif stream.asked is None:
            target = Stored(kept.name, kept.count, dtype, (count,), (1,), at)
            copy(self.e, Stored(name, count, dtype, (count,), (1,)), target)
        else:
            copy_rows(self.e, Stored(name, count, dtype, shape, (wide, 1)), target)

    def part(self, stmt: ins.Load | ins.Store) -> Stored:
        """Where an access lies in its object; one that is late is taken here."""
        stream, access = self.accesses[stmt]
        if stream.late and stream not in self.held:
            self._take_late(stream)
        part = stream.parts[access]
        sizes = self.windows.get(stream, stream.sizes)
        window = dense_strides(sizes)
        offset = sum(o * s for o, s in zip(part.offsets, window, strict=True))
        axes = [n for n, a in enumerate(stmt.region.axes) if not a.dropped]
        strides = tuple(part.steps[n] * window[n] for n in axes)
        name, shape = self.held[stream], stmt.region.shape
        dtype = stream.memory.dtype
        count = self._count(stream, sizes)
        return Stored(name, count, dtype, shape, strides, offset, stream.blocks)

    @staticmethod
    def _count(stream: Stream, sizes: tuple[int, ...]) -> int:
        """The elements of the memory that a window lies in: whole words."""
        unit = max(1, WORD // bytes_of(stream.memory.dtype))
        return -(-math.prod(sizes) // unit) * unit
