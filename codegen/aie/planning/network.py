"""FIFOs and links that bring the objects of each stream to the cores of a herd.

What all cores of a row, of a column or of the herd want alike is one FIFO with as many consumers.
Where the cores of a column want different objects, the memory tile of the column parts a larger
object among them, or joins what they write. Blocked objects pass a memory tile, whose DMA has the
four loops that it takes.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from dslc.codegen.aie.dtypes import bytes_of
from dslc.codegen.aie.planning.address_patterns import blocked, unblocked
from dslc.codegen.aie.planning.channel_sharing import objects_of
from dslc.codegen.aie.planning.events import scope_runs
from dslc.codegen.aie.planning.plan import Fifo, Link, Plan, Tile
from dslc.codegen.aie.planning.rounds import own_cores, traffic
from dslc.codegen.aie.planning.streams import Stream
from dslc.compiler.diagnostics import error
from dslc.compiler.ir.rewrite import fresh_name

Core = tuple[int, int]  # row and column of the herd
_HOST, _MEMORY = 0, 1


class Network:
    """Adds the FIFOs of streams to a plan, channel by channel of the shims."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._names: set[str] = set()
        self._runs = partial(scope_runs, plan.kernel)
        self._used: Counter[tuple[int, bool]] = Counter()  # of the shims' channels, by column
        self._parts: Counter[tuple[int, bool]] = Counter()  # of the memory tiles'

    def connect(self, streams: tuple[Stream, ...]) -> None:
        """The FIFOs of streams that share them: objects of one kind in turn."""
        herd = self.plan.herd
        rounds = traffic(streams, herd, self._runs, self.plan.array).rounds
        kept = [s for s in streams if s not in rounds]
        apart = any(herd.spread(s)[0] for s in kept)
        # Stages of a cascade in order, so that the host's offsets rise.
        every = sorted(range(max(len(herd.members(s)) for s in streams)), key=herd.stage)
        groups = _alike([herd.columns_alike(s) for s in kept])
        name = "_".join(s.name for s in streams)
        if apart and len(groups) == 1 and len(groups[0]) > 1:
            for r in every:
                near = r * herd.columns // herd.rows
                self._shared(f"{name}_{r}", streams, [(r, c) for c in groups[0]], near, rounds)
            return
        for columns in groups:
            title = name if len(groups) == 1 else f"{name}_{columns[0]}"
            if apart or streams[0].output or len(every) == len(columns) == 1 < len(groups):
                self._parted(title, streams, every, columns)
            else:
                cores = [(r, c) for c in columns for r in every]
                self._shared(title, streams, cores, columns[0], rounds)

    def _shared(
        self,
        name: str,
        streams: tuple[Stream, ...],
        cores: list[Core],
        near: int,
        rounds: tuple[Stream, ...],
    ) -> None:
        """One FIFO from the host, every object to all the tiles."""
        first = len(self.plan.fifos)
        stream = _leading(streams)
        tiles = [self.plan.tile(*core) for core in cores]
        shim = self._shim(streams, near, 0 if stream.blocks is None else 1)
        if stream.blocks is None:
            fifo = self._fifo(name, shim, tuple(tiles), streams)
            fifo.parts = (cores[0],)
        else:
            memory = (shim[0], _MEMORY)
            outer = self._fifo(f"{name}_l2", shim, (memory,), streams)
            outer.parts = (cores[0],)
            fifo = self._fifo(name, memory, tuple(tiles), streams)
            fifo.dims = _blocked(stream, fifo)
            self.plan.links.append(Link((outer,), (fifo,)))
        for made in self.plan.fifos[first:]:
            made.rounds = {s: own_cores(s, self.plan.herd, cores) for s in rounds}
        for tile in tiles:
            self._serve(tile, streams, fifo)

    def _parted(
        self, name: str, streams: tuple[Stream, ...], rows: list[int], columns: list[int]
    ) -> None:
        """A part of each larger object for each row of columns that want the same, or from each."""
        stream, near = _leading(streams), columns[0]
        cores = [(r, near) for r in rows]
        tiles = [self.plan.tile(*core) for core in cores]
        direct = len(tiles) == 1 and stream.blocks is None
        shim = self._shim(streams, near, 0 if direct else len(tiles))
        served = [tuple(self.plan.tile(r, c) for c in columns) for r in rows]
        if direct:
            ends = (tiles[0], (shim,)) if stream.output else (shim, served[0])
            fifo = self._fifo(name, *ends, streams)
            fifo.parts = tuple(cores)
            for tile in served[0]:
                self._serve(tile, streams, fifo)
            return
        memory = (shim[0], _MEMORY)
        own = []
        for tile, consumers in zip(tiles, served, strict=True):
            ends = (tile, (memory,)) if stream.output else (memory, consumers)
            title = name if len(tiles) == 1 else f"{name}_{tile[1]}"
            own.append(self._fifo(title, *ends, streams))
            for consumer in consumers:
                self._serve(consumer, streams, own[-1])
        ends = (memory, (shim,)) if stream.output else (shim, (memory,))
        outer = self._fifo(f"{name}_l2", *ends, streams)
        outer.elements *= len(tiles)
        outer.parts = tuple(cores)
        elements = own[0].elements
        offsets = tuple(elements * i for i in range(len(tiles))) if len(tiles) > 1 else ()
        if stream.output:
            self.plan.links.append(Link(tuple(own), (outer,), offsets))
            if stream.blocks is not None:
                assert stream.matrix is not None
                height, width = stream.matrix
                outer.dims = unblocked(height * len(tiles), width, stream.blocks)
            return
        self.plan.links.append(Link((outer,), tuple(own), offsets))
        if stream.blocks is not None:
            for fifo in own:
                fifo.dims = _blocked(stream, fifo)

    def _fifo(
        self, name: str, producer: Tile, consumers: tuple[Tile, ...], streams: tuple[Stream, ...]
    ) -> Fifo:
        dtype, elements = objects_of(streams)
        # A part of stream x may be called what stream x_2 is.
        own = fresh_name(name, self._names)
        fifo = Fifo(own, producer, consumers, dtype, elements, streams)
        self.plan.fifos.append(fifo)
        return fifo

    def _serve(self, tile: Tile, streams: tuple[Stream, ...], fifo: Fifo) -> None:
        for stream in streams:
            self.plan.served.setdefault(tile, {})[stream] = fifo

    def _shim(self, streams: tuple[Stream, ...], near: int, parts: int) -> Tile:
        """The nearest shim tile that has a channel left; DSL0552 where none has.

        Where objects are made of `parts` in the memory tile above it, that has channels for them, too.
        """
        output, array = streams[0].output, self.plan.array
        kind = array.shim
        limit = kind.inputs if output else kind.outputs
        free = [c for c in range(array.columns) if self._used[c, output] < limit]
        nearest = sorted(free, key=lambda c: (abs(c - near), c))
        roomy = [c for c in nearest if self._has_room(c, parts, output=output)]
        if output or not roomy:
            roomy = nearest  # the prover says what is missing; results do not change columns
        for column in roomy[:1]:
            self._used[column, output] += 1
            if parts:
                self._parts[column, output] += parts
                self._parts[column, not output] += 1
            return column, _HOST
        word = "S2MM" if output else "MM2S"
        raise error(
            "DSL0552",
            f"tensor {streams[0].memory.name}: no {word} channel is left in any of the "
            f"{array.columns} shim tiles, which have {limit} each",
            streams[0].memory.loc,
        )

    def _has_room(self, column: int, parts: int, *, output: bool) -> bool:
        """Whether a memory tile has channels for parts, to cores or from them, and for the whole.

        A column's results leave through its own memory tile: one channel is left for them.
        """
        kind = self.plan.array.memory
        ends = kind.inputs if output else kind.outputs - (column < self.plan.herd.columns)
        others = kind.outputs if output else kind.inputs
        mine = self._parts[column, output] + parts <= ends
        return not parts or (mine and self._parts[column, not output] + 1 <= others)


def _leading(streams: tuple[Stream, ...]) -> Stream:
    """The stream of a FIFO whose blocks all of its objects take."""
    return next((s for s in streams if s.blocks is not None), streams[0])


def _blocked(stream: Stream, fifo: Fifo) -> tuple[tuple[int, int], ...]:
    """The loops that make a stream's blocks, in elements of the FIFO: bytes where several share it."""
    assert stream.matrix is not None
    assert stream.blocks is not None
    (rows, columns), (r, c) = stream.matrix, stream.blocks
    scale = bytes_of(stream.memory.dtype) // bytes_of(fifo.dtype)
    return blocked(rows, columns * scale, (r, c * scale))


def _alike(columns: list[tuple[int, ...]]) -> list[list[int]]:
    """Columns of cores that want the same of every stream, by their numbers for each stream."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for number, key in enumerate(zip(*columns, strict=True)):
        alike.setdefault(key, []).append(number)
    return list(alike.values())
