"""What a kernel needs of the on-chip memories: proved before a line of it is written.

A tile takes bytes of every partition from the statement that makes it to the last one that reads it.
What only renames elements takes none, a number neither; a long operand that a product alone reads comes
in column blocks. The sum over a turn must fit into SBUF (nki-library leaves a part of it to the
compiler).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from dslc.compiler.diagnostics import error
from dslc.compiler.ir import Kernel, TileProgram, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import map_kernels
from dslc.compiler.ir.traverse import Body, bodies, handed, operands, tile_of, walk
from dslc.compiler.passes.trainium.placement import (
    chunks,
    counts,
    placement_of,
)
from dslc.compiler.targets import Target
from dslc.compiler.targets.nki import Engines, engines_of

VIEWS = (ins.Broadcast, ins.Transpose, ins.Reshape, ins.Extract)
_BY_CHUNKS = (ins.Unary, ins.Binary, ins.Fma, ins.Fused, ins.Where, ins.Cast, ins.Dot)
_CONSTANTS = (ins.Full, ins.Undefined)
COLUMN_BLOCK = 2048
"""Columns of a long operand that are loaded at a time, at least: 4 KiB of elements of two bytes."""


@dataclass(frozen=True, slots=True)
class Peak:
    """The most bytes of a partition that live at one time, and the tiles that they are."""

    bytes: int
    tiles: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class CheckCapacity:
    """Refuses (DSL0541) a kernel whose tiles do not fit into SBUF together."""

    target: Target
    name: str = "capacity"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program as it is."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        engines = engines_of(self.target)
        peak = sbuf_peak(kernel)
        limit = usable(engines)
        if peak.bytes > limit:
            largest = sorted(peak.tiles, key=tile_bytes, reverse=True)[:4]
            listed = ", ".join(
                f"{v.name or 'a tile'} {v.type.dtype}{list(v.type.shape)} {_kib(tile_bytes(v))}"
                for v in largest
            )
            raise error(
                "DSL0541",
                f"{kernel.name} needs {_kib(peak.bytes)} of each partition of SBUF, "
                f"{self.target.name} has {_kib(limit)}: {listed}",
                kernel.loc,
                hint="smaller blocks, or a narrower type for what is carried",
            )
        return kernel


def usable(engines: Engines) -> int:
    """Bytes of a partition of SBUF that a kernel may fill."""
    return engines.sbuf - engines.reserved


def sbuf_peak(kernel: Kernel, column_block: int = COLUMN_BLOCK) -> Peak:
    """The peak over the statements of a turn, with column blocks of so many columns."""
    return _Liveness(kernel, column_block).body(kernel.body, ())


def peak_within(kernel: Kernel, loop: ins.For, column_block: int = COLUMN_BLOCK) -> int:
    """The most bytes that live while a loop runs."""
    liveness = _Liveness(kernel, column_block)
    whole = liveness.body(kernel.body, ())
    return liveness.peaks.get(loop, whole.bytes)


def load_bytes(kernel: Kernel, column_block: int = COLUMN_BLOCK) -> dict[ins.Load, int]:
    """The bytes of each partition that every load of a kernel fills at a time."""
    sizes = _Liveness(kernel, column_block)
    return {s: sizes.size(s.out) for s in walk(kernel.body) if isinstance(s, ins.Load)}


def widest_column_block(kernel: Kernel, room: int) -> int:
    """The columns of a column block: longer rows cost less, where the peak is elsewhere or fits twice.

    Where two column blocks have no room beside the rest they are half as wide: the next one is loaded
    while one is multiplied.
    """
    most = max(sbuf_peak(kernel).bytes, room // 2)
    wide = next(
        (n for n in (4 * COLUMN_BLOCK, 2 * COLUMN_BLOCK) if sbuf_peak(kernel, n).bytes <= most),
        COLUMN_BLOCK,
    )
    crowded = wide == COLUMN_BLOCK and sbuf_peak(kernel, 2 * COLUMN_BLOCK).bytes > room
    return COLUMN_BLOCK // 2 if crowded else wide


def tile_bytes(value: Value) -> int:
    """Bytes of each partition that a tile takes."""
    place = None if value.type.layout is None else placement_of(value.type.layout)
    if place is None:
        return 0
    _, each = counts(place, value.type.shape)
    item = 1 if value.type.dtype.bits < 8 else value.type.dtype.bits // 8
    return chunks(place, value.type.shape) * each * item


def streams(kernel: Kernel) -> frozenset[Value]:
    """The loaded tiles that a product takes in column blocks: long, and read by nothing else."""
    readers: Counter[Value] = Counter()
    by_dot: set[Value] = set()
    for stmt in walk(kernel.body):
        readers.update(operands(stmt))
        if isinstance(stmt, ins.Dot) and stmt.out.type.rank == 2:
            by_dot |= {stmt.a, stmt.b}
    streamed = set()
    for stmt in walk(kernel.body):
        if isinstance(stmt, ins.Load) and readers[stmt.out] == 1 and is_long(stmt):
            streamed.add(stmt.out)
    return frozenset(streamed & by_dot)


def is_long(load: ins.Load) -> bool:
    """Whether a matrix has more columns along a partition than a column block."""
    layout = load.out.type.layout
    place = None if layout is None else placement_of(layout)
    if place is None or place.axis is None or load.out.type.rank != 2:
        return False
    return load.out.type.dtype.bits >= 16 and load.out.type.shape[1 - place.axis] > COLUMN_BLOCK


class _Liveness:
    def __init__(self, kernel: Kernel, column_block: int) -> None:
        self.streams = streams(kernel)
        self.column_block = column_block
        self.source: dict[Value, Value] = {}  # of a view, whose tensors it shows
        self.peaks: dict[Stmt, int] = {}  # of loops, with what lives around them

    def size(self, value: Value) -> int:
        """Bytes of each partition: of a long operand those of a column block."""
        if value in self.streams:
            layout = value.type.layout
            place = None if layout is None else placement_of(layout)
            assert place is not None
            assert place.axis is not None
            columns = value.type.shape[1 - place.axis]
            return tile_bytes(value) * min(self.column_block, columns) // columns
        return tile_bytes(value)

    def owner(self, value: Value) -> Value:
        while value in self.source:
            value = self.source[value]
        return value

    def body(
        self, body: Body, after: tuple[Value, ...], before: tuple[Value, ...] = (), around: int = 0
    ) -> Peak:
        """The peak of a body; tiles of `before` live when it begins, those of `after` at its end.

        `around` are the bytes of tiles that only statements around it read.
        """
        last: dict[Value, int] = {}
        for number, stmt in enumerate(body):
            if isinstance(stmt, VIEWS):
                self.source[stmt.out] = stmt.x
            for value in _read(stmt):
                last[self.owner(value)] = number
        for value in after:
            last[self.owner(value)] = len(body)
        live = {v: self.size(v) for v in before if v in last}
        peak = Peak(sum(live.values()), tuple(live))
        for number, stmt in enumerate(body):
            dying = {v: n for v, n in live.items() if last[v] <= number}
            now = self._at(stmt, live, dying, around)
            peak = max(peak, now, key=lambda p: p.bytes)
            live = {v: n for v, n in live.items() if v not in dying}
            for value in _made(stmt):
                if last.get(value, -1) > number:
                    live[value] = self.size(value)
        return peak

    def _at(self, stmt: Stmt, live: dict[Value, int], dying: dict[Value, int], around: int) -> Peak:
        """What lives while a statement runs."""
        total, tiles = sum(live.values()), tuple(live)
        if bodies(stmt):
            carried = _carried_tiles(stmt)
            inits = {self.owner(first) for first, _ in carried}
            kept = [v for v in live if v not in inits or v not in dying]
            outside = sum(live[v] for v in kept)
            inside = Peak(0, ())
            for k, nested in enumerate(bodies(stmt)):
                inner = tuple(name for _, name in carried)
                most = self.body(nested, _handed(stmt, k), inner, around + outside)
                inside = max(inside, most, key=lambda p: p.bytes)
            self.peaks[stmt] = around + outside + inside.bytes
            return Peak(outside + inside.bytes, (*kept, *inside.tiles))
        for tile in _made(stmt):
            size = self.size(tile)
            if isinstance(stmt, _BY_CHUNKS):  # an operand goes chunk by chunk as the result comes
                freed = sum(n for v, n in dying.items() if _chunks(v) == _chunks(tile))
                least = 0 if isinstance(stmt, ins.Dot) else size // _chunks(tile)
                size = max(size - freed, least)
            total, tiles = total + size, (*tiles, tile)
        return Peak(total, tiles)


def _carried_tiles(stmt: Stmt) -> list[tuple[Value, Value]]:
    """The tiles that a loop carries: as they come in, and their names inside."""
    return [
        (h.init, h.inner)
        for h in handed(stmt)
        if isinstance(h, ins.Carried) and isinstance(h.init, Value) and isinstance(h.inner, Value)
    ]


def _chunks(value: Value) -> int:
    place = None if value.type.layout is None else placement_of(value.type.layout)
    return 1 if place is None else chunks(place, value.type.shape)


def _read(stmt: Stmt) -> set[Value]:
    read = set(operands(stmt))
    for nested in bodies(stmt):
        for inner in walk(nested):
            read |= set(operands(inner))
    return read


def _made(stmt: Stmt) -> list[Value]:
    if isinstance(stmt, (*VIEWS, *_CONSTANTS)):
        return []
    out = tile_of(stmt)
    tiles = [] if out is None else [out]
    return tiles + [h.result for h in handed(stmt) if isinstance(h.result, Value)]


def _handed(stmt: Stmt, which: int) -> tuple[Value, ...]:
    uses = [
        h.yielded if isinstance(h, ins.Carried) else (h.otherwise if which else h.then)
        for h in handed(stmt)
    ]
    return tuple(u for u in uses if isinstance(u, Value))


def _kib(count: int) -> str:
    return f"{count / 1024:.4g} KiB"
