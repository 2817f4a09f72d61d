"""The placed plan of a kernel: tiles, FIFOs, links, tensors, and what the host does in which order.

It is what both printers and the prover read. Tiles are (column, row) of the array; sizes and
strides are in elements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from dslc.codegen.aie.dtypes import bytes_of
from dslc.codegen.aie.planning.address_patterns import Dims, Transfer
from dslc.codegen.aie.planning.events import Tensor
from dslc.codegen.aie.planning.herd import Herd
from dslc.codegen.aie.planning.merging import Cascade
from dslc.codegen.aie.planning.scopes import Scope, Scopes
from dslc.codegen.aie.planning.streams import Stream
from dslc.compiler.dtypes import DType
from dslc.compiler.ir import Kernel
from dslc.compiler.targets.aie import TileArray

Tile = tuple[int, int]


@dataclass(slots=True, eq=False)
class Fifo:
    """Objects of so many elements from a producer to its consumers, `depth` of them in each memory.

    `dims` are the loops by which the producer's DMA reads an object; none where that is as it lies.
    `streams` says whose objects pass, in turn; `parts` are the cores of the herd (row, column) whose
    objects make up one of these, on the FIFOs that end in a shim tile. With `repeat` the objects that
    come into a memory tile are panels, which it sends so many times to the cores. Of a stream that has
    `rounds` each of those cores has objects of its own: all of them come to every core, in that order.
    """

    name: str
    producer: Tile
    consumers: tuple[Tile, ...]
    dtype: DType
    elements: int
    streams: tuple[Stream, ...]
    depth: int = 2
    dims: Dims = ()
    parts: tuple[tuple[int, int], ...] = ()
    repeat: int = 1
    rounds: dict[Stream, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    @property
    def unit(self) -> int:
        """The objects that a core holds at once."""
        return max(self._at_once(s.scope) for s in self.streams)

    @property
    def step(self) -> int:
        """What the numbers of objects that a core takes at a time are multiples of."""
        return math.gcd(*(self._at_once(s.scope) for s in self.streams))

    def _at_once(self, scope: Scope) -> int:
        """The objects of a scope that a core takes at a time."""
        own = [s for s in self.streams if s.scope is scope and not s.late]
        return 1 if any(self.comes_often(s) for s in own) else max(1, len(own))

    def comes_often(self, stream: Stream) -> bool:
        """Whether several objects come where a stream has one window."""
        return self.passes(stream) > 1

    def passes(self, stream: Stream) -> int:
        """The objects that come for one window of a stream."""
        return stream.pieces * len(self.rounds.get(stream, (0,)))

    def is_passed_on(self, stream: Stream) -> bool:
        """Whether a core copies a stream's object, since others come on the FIFO while it is used."""
        return any(stream.scope.holds(other.scope) for other in self.streams)

    @property
    def bytes(self) -> int:
        """The bytes of an object."""
        return self.elements * bytes_of(self.dtype)

    def ends(self, row: int) -> Tile | None:
        """The tile of a row that it begins or ends in."""
        return next((t for t in (self.producer, *self.consumers) if t[1] == row), None)


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """FIFOs that meet in a memory tile: one to several parts of its objects, or several to one."""

    inputs: tuple[Fifo, ...]
    outputs: tuple[Fifo, ...]
    offsets: tuple[int, ...] = ()  # of the parts, in elements


@dataclass(frozen=True, slots=True)
class Task:
    """A transfer of a tensor through a FIFO; `last` tells of the channel's last in its phase."""

    fifo: Fifo
    tensor: Tensor
    transfer: Transfer
    descriptor: int
    last: bool


@dataclass(slots=True)
class Plan:
    """All of it. `served` are the FIFOs of a core by stream, `phases` the tasks of the host.

    A phase is pushed whole; before it is, the one before the last has ended.
    """

    kernel: Kernel
    array: TileArray
    herd: Herd
    scopes: Scopes
    streams: list[Stream]
    tensors: list[Tensor]
    fifos: list[Fifo] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    served: dict[Tile, dict[Stream, Fifo]] = field(default_factory=dict)
    phases: list[list[Task]] = field(default_factory=list)
    cascade: Cascade | None = None

    @property
    def flows(self) -> list[tuple[Tile, Tile]]:
        """The neighbours of which one passes what it carries to the other."""
        if self.cascade is None:
            return []
        pairs = ((self.tile(r, c), self.tile(r - 1, c)) for r, c in self.herd.cores if r)
        return sorted(pairs, key=lambda p: (p[0][0], -p[0][1]))

    def tile(self, row: int, column: int) -> Tile:
        """The tile of a core of the herd."""
        return column, self.array.compute.rows[0] + row

    @property
    def cores(self) -> list[Tile]:
        """The tiles of the herd."""
        return [self.tile(r, c) for r, c in self.herd.cores]
