"""FIFOs and links that bring the objects of each stream to the cores of a herd.

What all cores of a row, of a column or of the herd want alike is one FIFO with as many consumers.
Where the cores of a column want different objects, the memory tile of the column parts a larger
object among them, or joins what they write. Blocked objects pass a memory tile, whose DMA has the
four loops that it takes.
"""

from __future__ import annotations

from collections import Counter

from dslc.codegen.aie.patterns import blocked, unblocked
from dslc.codegen.aie.plan import Fifo, Link, Plan, Tile
from dslc.codegen.aie.sharing import objects_of
from dslc.codegen.aie.streams import Stream
from dslc.compiler.diagnostics import error

Core = tuple[int, int]  # row and column of the herd
_HOST, _MEMORY = 0, 1


class Network:
    """Adds the FIFOs of streams to a plan, channel by channel of the shims."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._used: Counter[tuple[int, bool]] = Counter()

    def connect(self, streams: tuple[Stream, ...]) -> None:
        """The FIFOs of streams that share them: objects of one kind in turn."""
        herd = self.plan.herd
        spreads = [herd.spread(s) for s in streams]
        rows, columns = (any(s[i] for s in spreads) for i in (0, 1))
        name = "_".join(s.name for s in streams)
        if (rows and columns) or (rows and herd.columns == 1) or (columns and herd.rows == 1):
            for c in range(herd.columns):
                self._parted(f"{name}_{c}", streams, [(r, c) for r in range(herd.rows)], c)
        elif rows:
            for r in range(herd.rows):
                cores = [(r, c) for c in range(herd.columns)]
                self._shared(f"{name}_{r}", streams, cores, r * herd.columns // herd.rows)
        elif columns:
            for c in range(herd.columns):
                self._shared(f"{name}_{c}", streams, [(r, c) for r in range(herd.rows)], c)
        else:
            self._shared(name, streams, list(herd.cores), 0)

    def _shared(self, name: str, streams: tuple[Stream, ...], cores: list[Core], near: int) -> None:
        """One FIFO from the host, every object to all the tiles."""
        stream = streams[0]
        if stream.output:
            self._parted(name, streams, cores, near)
            return
        tiles = [self.plan.tile(*core) for core in cores]
        shim = self._shim(streams, near)
        if stream.blocks is None:
            fifo = self._fifo(name, shim, tuple(tiles), streams)
            fifo.parts = (cores[0],)
        else:
            memory = (shim[0], _MEMORY)
            outer = self._fifo(f"{name}_l2", shim, (memory,), streams)
            outer.parts = (cores[0],)
            fifo = self._fifo(name, memory, tuple(tiles), streams)
            fifo.dims = self._blocked(stream)
            self.plan.links.append(Link((outer,), (fifo,)))
        for tile in tiles:
            self._serve(tile, streams, fifo)

    def _parted(self, name: str, streams: tuple[Stream, ...], cores: list[Core], near: int) -> None:
        """A part of each larger object for each tile of a column, or from each."""
        stream = streams[0]
        tiles = [self.plan.tile(*core) for core in cores]
        shim = self._shim(streams, near)
        if len(tiles) == 1 and stream.blocks is None:
            ends = (tiles[0], shim) if stream.output else (shim, tiles[0])
            direct = self._fifo(name, ends[0], (ends[1],), streams)
            direct.parts = tuple(cores)
            self._serve(tiles[0], streams, direct)
            return
        memory = (shim[0], _MEMORY)
        own = []
        for tile in tiles:
            ends = (tile, memory) if stream.output else (memory, tile)
            title = name if len(tiles) == 1 else f"{name}_{tile[1]}"
            own.append(self._fifo(title, ends[0], (ends[1],), streams))
            self._serve(tile, streams, own[-1])
        ends = (memory, shim) if stream.output else (shim, memory)
        outer = self._fifo(f"{name}_l2", ends[0], (ends[1],), streams)
        outer.elements *= len(tiles)
        outer.parts = tuple(cores)
        elements = own[0].elements
        offsets = tuple(elements * i for i in range(len(tiles))) if len(tiles) > 1 else ()
        if stream.output:
            self.plan.links.append(Link(tuple(own), (outer,), offsets))
            if stream.blocks is not None:
                assert stream.matrix is not None
                rows, columns = stream.matrix
                outer.dims = unblocked(rows * len(tiles), columns, stream.blocks)
            return
        self.plan.links.append(Link((outer,), tuple(own), offsets))
        if stream.blocks is not None:
            for fifo in own:
                fifo.dims = self._blocked(stream)

    def _blocked(self, stream: Stream) -> tuple[tuple[int, int], ...]:
        assert stream.matrix is not None
        assert stream.blocks is not None
        return blocked(*stream.matrix, stream.blocks)

    def _fifo(
        self, name: str, producer: Tile, consumers: tuple[Tile, ...], streams: tuple[Stream, ...]
    ) -> Fifo:
        dtype, elements = objects_of(streams)
        fifo = Fifo(name, producer, consumers, dtype, elements, streams)
        self.plan.fifos.append(fifo)
        return fifo

    def _serve(self, tile: Tile, streams: tuple[Stream, ...], fifo: Fifo) -> None:
        for stream in streams:
            self.plan.served.setdefault(tile, {})[stream] = fifo

    def _shim(self, streams: tuple[Stream, ...], near: int) -> Tile:
        """The nearest shim tile that has a channel left; DSL0552 where none has."""
        output, kind = streams[0].output, self.plan.array.shim
        limit = kind.inputs if output else kind.outputs
        for column in sorted(range(self.plan.array.columns), key=lambda c: (abs(c - near), c)):
            if self._used[column, output] < limit:
                self._used[column, output] += 1
                return column, _HOST
        word = "S2MM" if output else "MM2S"
        raise error(
            "DSL0552",
            f"tensor {streams[0].memory.name}: no {word} channel is left in any of the "
            f"{self.plan.array.columns} shim tiles, which have {limit} each",
            streams[0].memory.loc,
        )
