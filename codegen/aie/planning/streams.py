"""Streams: the parts of one tensor that a core reads or writes in a scope, as one window an object.

Accesses of one tensor in one scope whose places differ by constants share a window, the box around
them, so that rope's two halves of a head are one object:

    x[s : s + 16, h : h + 32]   x[s : s + 16, h + 32 : h + 64]   ->   x[s : s + 16, h : h + 64]
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from dslc.codegen.aie.dtypes import bytes_of
from dslc.codegen.aie.planning.scopes import Access, Scope, Scopes, expressions, refuse_access
from dslc.codegen.quoting import ascii_name
from dslc.compiler.ir import Memory
from dslc.compiler.ir.arithmetic.affine import difference
from dslc.compiler.ir.expr import Expr, Var, free_vars

_SPARSE = 2  # times as much as is asked for: a wider window is not worth sharing


@dataclass(frozen=True, slots=True)
class Part:
    """Where an access lies in its stream's window: per axis of the tensor, in elements."""

    offsets: tuple[int, ...]
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Weave:
    """The blocks in which another stream's DMA sends an object: `rows` of `columns` bytes, in blocks of
    so many rows and bytes.
    """

    rows: int
    columns: int
    block_rows: int
    block_columns: int

    def fits(self, stream: Stream) -> bool:
        """Whether an object's rows are whole pieces of a block's rows."""
        width = bytes_of(stream.memory.dtype)
        asked = stream.sizes[-1] * width
        whole = asked % self.columns == 0 or asked < self.columns
        return self.block_columns % width == 0 and asked % width == 0 and whole


@dataclass(slots=True, eq=False)
class Stream:
    """Objects of one tensor, one whenever the scope begins.

    An object is the window of `sizes` elements an axis at `starts`, row-major, or where `blocks`
    are given (rows, columns), in blocks of so many. `number` is that of its first access. `asked` are
    the sizes before the window was widened to what others on its FIFO take; with a `weave` it comes in
    the others' blocks, and the core puts it into rows. A window that is larger than the others' objects
    comes in `pieces` of `sizes` each, one after another along the `cut` axis. One that is `late` comes
    after the loops of its scope, and is used where it lies.
    """

    memory: Memory
    output: bool
    scope: Scope
    starts: tuple[Expr, ...]
    sizes: tuple[int, ...]
    number: int
    parts: dict[Access, Part] = field(default_factory=dict)
    blocks: tuple[int, int] | None = None
    name: str = ""
    asked: tuple[int, ...] | None = None
    weave: Weave | None = None
    pieces: int = 1
    cut: int = 0
    late: bool = False

    @property
    def window(self) -> tuple[int, ...]:
        """The sizes of all pieces together, without what they were widened by."""
        own = self.asked or self.sizes
        return tuple(n * self.pieces if i == self.cut else n for i, n in enumerate(own))

    def piece_step(self, strides: tuple[int, ...]) -> int:
        """How far a piece begins after the one before it, in a tensor of such strides."""
        return self.window[self.cut] // self.pieces * strides[self.cut] if strides else 0

    @property
    def elements(self) -> int:
        """How many an object has."""
        return math.prod(self.sizes)

    @property
    def covered(self) -> int:
        """The elements of an object that its stores write."""
        return sum(math.prod(a.size for a in x.region.axes) for x in self.parts)

    def overlap(self, one: Access, other: Access) -> bool:
        """Whether the boxes around two accesses have an element of the window in common."""
        mine, its = self.parts[one].offsets, self.parts[other].offsets
        ends = zip(mine, _extents(one), its, _extents(other), strict=True)
        return all(a < b + m and b < a + n for a, n, b, m in ends)

    @property
    def bytes(self) -> int:
        """The bytes of an object."""
        return self.elements * bytes_of(self.memory.dtype)

    def divide(self, pieces: int) -> None:
        """Let the window come in so many pieces along its first axis that is not 1."""
        self.pieces, self.cut = pieces, next(i for i, n in enumerate(self.sizes) if n > 1)
        own = enumerate(self.sizes)
        self.sizes = tuple(n // pieces if i == self.cut else n for i, n in own)

    def widen(self, size: int) -> None:
        """Lengthen the window's rows so that an object has so many bytes."""
        rows = math.prod(self.sizes[:-1]) * bytes_of(self.memory.dtype)
        self.asked = self.sizes
        self.sizes = (*self.sizes[:-1], size // rows)

    @property
    def variables(self) -> frozenset[Var]:
        """What its objects depend on."""
        return frozenset(v for e in self.expressions for v in free_vars(e))

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The expressions that its objects depend on."""
        return tuple(expressions(self.scope, self.starts))

    @property
    def matrix(self) -> tuple[int, int] | None:
        """Rows and columns, where the window is a matrix."""
        long = [n for n in self.sizes if n > 1]
        if len(long) == 2:
            return long[0], long[1]
        return (1, long[0]) if len(long) == 1 and self.sizes[-1] > 1 else None


def find_streams(scopes: Scopes) -> list[Stream]:
    """The streams of a kernel, in the order of their first accesses."""
    streams: list[Stream] = []
    for access in scopes.accesses:
        same = (
            s
            for s in streams
            if s.memory is access.region.memory
            and s.output == access.is_store
            and s.scope is access.scope
        )
        if not any(_joined(stream, access) for stream in same):
            streams.append(_stream(access))
    _check_order(scopes.accesses)
    counts: dict[str, int] = {}
    for stream in streams:
        own = ascii_name(stream.memory.name)
        stem = f"{own}_out" if stream.output else own
        counts[stem] = counts.get(stem, 0) + 1
        stream.name = stem if counts[stem] == 1 else f"{stem}_{counts[stem]}"
    return streams


def _stream(access: Access) -> Stream:
    axes = access.region.axes
    part = Part((0,) * len(axes), tuple(a.step for a in axes))
    stream = Stream(
        access.region.memory,
        access.is_store,
        access.scope,
        access.starts,
        _extents(access),
        access.number,
    )
    stream.parts[access] = part
    return stream


def _extents(access: Access) -> tuple[int, ...]:
    return tuple((a.size - 1) * a.step + 1 for a in access.region.axes)


def _joined(stream: Stream, access: Access) -> bool:
    """Take an access into a stream's window, where that is worth it; whether it was taken."""
    apart = [difference(a, b) for a, b in zip(access.starts, stream.starts, strict=True)]
    if any(d is None for d in apart):
        return False
    distances = [d for d in apart if d is not None]
    low = [min(0, d) for d in distances]
    ends = zip(stream.sizes, distances, _extents(access), strict=True)
    sizes = tuple(
        max(size, d + extent) - least for (size, d, extent), least in zip(ends, low, strict=True)
    )
    asked = {id(a.stmt): math.prod(x.size for x in a.region.axes) for a in (*stream.parts, access)}
    if math.prod(sizes) > (1 if stream.output else _SPARSE) * sum(asked.values()):
        return False
    for other, part in stream.parts.items():
        moved = tuple(o - least for o, least in zip(part.offsets, low, strict=True))
        stream.parts[other] = Part(moved, part.steps)
    mine = tuple(d - least for d, least in zip(distances, low, strict=True))
    stream.parts[access] = Part(mine, tuple(a.step for a in access.region.axes))
    if any(low):
        firsts = zip(stream.starts, access.starts, low, strict=True)
        # The least start is one of the two, axis by axis.
        stream.starts = tuple(b if least < 0 else a for a, b, least in firsts)
    stream.sizes = sizes
    return True


def _check_order(accesses: Iterable[Access]) -> None:
    """What is read must not have been written before in the turn: it is on its way by then."""
    written: dict[Memory, Access] = {}
    for access in accesses:
        memory = access.region.memory
        if access.is_store:
            written.setdefault(memory, access)
        elif memory in written:
            why = f"comes after line {_line(written[memory])}, which writes it in the same turn"
            raise refuse_access(access.stmt, why)


def _line(access: Access) -> str:
    return str(access.stmt.loc.line) if access.stmt.loc else "?"


def check_outputs(streams: Iterable[Stream]) -> None:
    """Every object that leaves a core must be written as a whole."""
    for stream in streams:
        if not stream.output:
            continue
        if stream.covered < stream.elements:
            first = next(iter(stream.parts))
            raise refuse_access(
                first.stmt, "leaves gaps in a window that the DMA writes as a whole"
            )
