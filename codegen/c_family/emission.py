"""The state of emitting one kernel, and the table of emitters by instruction.

An emitter is a function of the state and its instruction; a target adds its own, and two for one
instruction are an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from dslc.codegen.c_family.casts.bits import Bits, bits_of, collect
from dslc.codegen.c_family.coalescing import READ_BITS, SharedArrays, shared_arrays
from dslc.codegen.c_family.ctypes_of import element_type, is_packed, scalar_type
from dslc.codegen.c_family.exchanges.exchange_memory import Exchanges, SharedUse, uses_buffers
from dslc.codegen.c_family.indexing import ThreadBases
from dslc.codegen.c_family.registers import Tile, tile_of
from dslc.codegen.c_family.scalars import Scalars, not_negative
from dslc.codegen.c_family.writer import Writer
from dslc.compiler.analysis.scalar_facts import Facts, kernel_facts
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.dtypes import DType, Kind
from dslc.compiler.ir import Kernel, Memory, Place, Region, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import operands, walk
from dslc.compiler.layout import Layout
from dslc.compiler.targets import Target

Emitter = Callable[["Emission", Any], None]

# What emitters call their counters, partners in a reduction, and areas without asking for a name.
_OWN = ("i", "j", "other", "other_at", "line", "tid", "turn", "shared", "scratch")


@dataclass(frozen=True, slots=True)
class Deferred:
    """A cast that is not carried out yet: bits of a narrow dtype. `emit` makes it a plain tile.

    `minus` writes the difference of it and another tile, for the instruction that alone reads it.
    """

    bits: Bits
    dtype: DType
    emit: Callable[[Emission, Value, Deferred], Tile]
    minus: Callable[[Emission, ins.Binary, Deferred], None] | None = None


@dataclass(slots=True)
class Frame:
    """A loop whose body is being emitted: what its instructions want done before and after it."""

    loop: ins.For
    start: int  # the line before which it begins
    sums: dict[object, str] = field(default_factory=dict)  # registers that live through it
    after: list[Callable[[], None]] = field(default_factory=list)


@dataclass(slots=True)
class Emission:
    """Everything that emitters share: text, names, facts, shared memory."""

    kernel: Kernel
    emitters: dict[type, Emitter]
    threads: int
    target: Target
    warp: int = 32
    prints: bool = True  # whether the machine's `printf` may be called
    head: Writer = field(default_factory=lambda: Writer(1))
    out: Writer = field(default_factory=lambda: Writer(1))
    tiles: dict[Value, Tile] = field(default_factory=dict)
    bits: dict[Value, Bits] = field(default_factory=dict)  # of tiles that no registers hold
    deferred: dict[Value, Deferred] = field(
        default_factory=dict
    )  # casts that their reader carries out
    readers: dict[Value, list[ins.Stmt]] = field(default_factory=dict)
    variables: dict[ex.Var, str] = field(default_factory=dict)
    wide: set[ex.Var] = field(default_factory=set)
    remainders: dict[ex.Var, int] = field(default_factory=dict)  # 0 <= variable < number
    memories: dict[Memory, str] = field(default_factory=dict)
    facts: Facts = field(default_factory=Facts)
    frames: list[Frame] = field(default_factory=list)
    in_memory: dict[Value, tuple[Region, bool]] = field(default_factory=dict)  # and if transposed
    maps: dict[object, str] = field(
        default_factory=dict
    )  # parameters that describe boxes of tensors
    sent: set[Memory] = field(default_factory=set)  # buffers that a unit of the machine reads
    leader: str = "tid == 0"  # the thread that acts for all
    together: str = "__syncthreads();"  # the barrier of the turn's warps
    under_way: list[Tile] = field(default_factory=list)  # results of products that no wait ended
    in_place: dict[Value, Value] = field(default_factory=dict)  # tiles in the registers of others
    shares: SharedArrays = field(default_factory=SharedArrays)
    owners: dict[str, Value] = field(default_factory=dict)  # for which tile an array was declared
    # Lines that follow their wait, and the body in which they may stand.
    read_by_async: list[tuple[str, int]] = field(default_factory=list)
    after: dict[ins.Stmt, list[str]] = field(default_factory=dict)  # lines that follow a statement
    at: ins.Stmt | None = None  # the statement that is emitted
    exchanges: Exchanges = field(init=False)
    exchanged: int = 0  # how many times
    shared_use: SharedUse = SharedUse.NONE  # by threads that no barrier has held up since
    bases: ThreadBases = field(init=False)

    def __post_init__(self) -> None:
        self.out._names = self.head._names  # one set of names
        self.out.reserve(_OWN)
        self.bases = ThreadBases(self.head, "tid")
        self.facts = kernel_facts(self.kernel)
        self.shares = shared_arrays(self.kernel)
        for statement in walk(self.kernel.body):
            for value in operands(statement):
                self.readers.setdefault(value, []).append(statement)

    # Scalars

    def scalar(self, e: ex.Expr) -> str:
        """A scalar expression as C."""
        return self._scalars().text(e)

    def is_wide(self, e: ex.Expr) -> bool:
        """Whether an index expression needs `long long`."""
        return self._scalars().is_wide(e)

    def is_product(self, e: ex.Expr) -> bool:
        """Whether an index expression may be beyond 32 bits where no dim and no axis of a tensor is."""
        return self._scalars().is_product(e)

    def _scalars(self) -> Scalars:
        reads = lambda v: self.tile(v).read("0")  # noqa: E731
        wide = frozenset(self.wide)
        return Scalars(self.variables, reads, wide, self._bounded, self.remainders)

    def not_negative(self, e: ex.Expr) -> bool:
        """Whether an index is proved to be at least 0 here."""
        return not_negative(e, self._bounded)

    def _bounded(self, var: ex.Var) -> bool:
        return self.facts.nonnegative(self.facts.form(var))

    def declare(self, var: ex.Var, *, wide: bool = False) -> str:
        """The C type and name of a new scalar variable."""
        name = self.out.name(var.name)
        self.variables[var] = name
        if var.dtype.kind is Kind.INDEX:
            if wide:
                self.wide.add(var)
            return f"{'long long' if wide else 'int'} {name}"
        return f"{scalar_type(var.dtype)} {name}"

    # Tiles

    def tile(self, value: Value) -> Tile:
        """The registers of a value that was emitted; bits that lie elsewhere are collected here."""
        if value in self.deferred:
            return self.deferred[value].emit(self, value, self.deferred[value])
        bits = self.bits.get(value)
        if bits is None:
            return self.tiles[value]
        tile = tile_of(value, self.out.name(value.name or "t"))
        self.out.line(f"{tile.declaration} = {{}};")
        collect(self.out, bits, tile)
        return tile

    def bits_of(self, value: Value) -> Bits:
        """Where the bits of a packed value lie."""
        return self.bits.get(value) or bits_of(self.tiles[value])

    def defer(self, value: Value, bits: Bits) -> None:
        """The value is bits that lie somewhere: its own registers, or read where they are."""
        if bits.in_order:
            self.tiles[value] = tile_of(value, bits.name)
        elif all(isinstance(s, READ_BITS) for s in self.readers.get(value, ())):
            self.bits[value] = bits
        else:
            collect(self.out, bits, self.new(value))

    def new(self, value: Value, *, zero: bool | None = None) -> Tile:
        """Declare the registers of a result; packed ones start as zero, since writes are in parts."""
        if value in self.in_place:
            self.alias(value, self.tile(self.in_place[value]))
            return self.tiles[value]
        if (holder := self._holder(value)) is not None:
            self.alias(value, holder)
            # The array of a join was declared just before the branch, packed ones as zero.
            if zero and not (
                is_packed(holder.dtype) and self.owners[holder.name] is self.shares.holders[value]
            ):
                with self.out.loop("i", holder.words):
                    self.out.line(f"{holder.name}[i] = 0;")
            return self.tiles[value]
        tile = tile_of(value, self.out.name(self.shares.names.get(value) or value.name or "t"))
        self.tiles[value] = tile
        self.owners[tile.name] = value
        clear = is_packed(tile.dtype) if zero is None else zero
        self.out.line(f"{tile.declaration}{' = {}' if clear else ''};")
        return tile

    def _holder(self, value: Value) -> Tile | None:
        """The array that a tile shares, unless that turned out to be another tile's."""
        other = self.shares.holders.get(value)
        if other is None or other not in self.tiles or other in self.deferred or other in self.bits:
            return None
        tile = self.tiles[other]
        return tile if self.owners.get(tile.name) is self.shares.root(other) else None

    def alias(self, value: Value, tile: Tile) -> None:
        """The value is held by the registers of another."""
        self.tiles[value] = Tile(tile.name, value.type.dtype, layout_of(value))

    def element(self, tile: Tile, i: str) -> str:
        """One element for arithmetic."""
        return tile.read(i)

    def temporary(self, dtype_of: Tile, text: str) -> str:
        """A local constant of a tile's element type."""
        name = self.out.name("x")
        self.out.line(f"const {element_type(dtype_of.dtype)} {name} = {text};")
        return name

    # Statements

    def body(self, statements: tuple[ins.Stmt, ...]) -> None:
        """Emit statements in order."""
        for statement in statements:
            emitter = self.emitters.get(type(statement))
            if emitter is None:
                raise error(
                    "DSL0590",
                    f"{type(statement).__name__} cannot be emitted for this machine",
                    statement.loc,
                )
            self.at = statement
            outer, self.out.loc = self.out.loc, statement.loc
            try:
                emitter(self, statement)
            except DiagnosticError as e:
                raise e.at(statement.loc) from None
            if uses_buffers(statement):
                self.shared_use |= SharedUse.BUFFERS
            for line in self.after.pop(statement, ()):
                self.out.line(line)
            self.out.loc = outer

    def enter(self, loop: ins.For) -> Frame:
        """A loop begins here."""
        self.frames.append(Frame(loop, len(self.out.lines)))
        return self.frames[-1]

    def leave(self, frame: Frame) -> None:
        """It has ended."""
        assert self.frames.pop() is frame
        for statement in frame.after:
            statement()

    def before_loop(self, line: str) -> None:
        """A line before the innermost loop."""
        self.out.insert(self.frames[-1].start, line)

    # Shared memory

    def barrier(self, together: str | None = None) -> None:
        """A barrier of the block, after which all threads are done with shared memory."""
        self.out.line(together or self.together)
        self.shared_use = SharedUse.NONE

    @contextmanager
    def exchanging(self, memory: Memory) -> Iterator[None]:
        """A write to a buffer that other threads may read: barriers before and after.

        A kernel that has barriers of its own says itself where they stand.
        """
        shared = memory.place is Place.SHARED and not self._has_barriers()
        if shared:
            self.out.line(self.together)
        yield
        if shared:
            self.out.line(self.together)

    @property
    def room(self) -> int:
        """The bytes of shared memory that one exchange may have here."""
        shared = self.target.memory("shared")
        return self.exchanges.room(self.at, shared.bytes if shared else 0)

    def _has_barriers(self) -> bool:
        return any(isinstance(s, ins.Sync | ins.CopyAsync) for s in walk(self.kernel.body))

    def scratch(self, size: int) -> str:
        """Bytes of shared memory for one instruction, which may write them at once.

        A barrier comes first where threads may still use what was there; one between its writes and
        its reads is the instruction's own affair.
        """
        start, reused = self.exchanges.place(self.at, size)
        before = SharedUse.EXCHANGE | (SharedUse.BUFFERS if reused else SharedUse.NONE)
        if self.shared_use & before:
            self.barrier()
        self.shared_use |= SharedUse.EXCHANGE
        self.exchanged += 1
        names = self.exchanges.names
        if start not in names:
            names[start] = self.out.name("scratch") if names else "scratch"
        return names[start]

    @contextmanager
    def repeated(self) -> Iterator[None]:
        """The body of a loop: the iteration before may still read what it exchanged."""
        before, uses = self.shared_use, self.exchanged
        self.shared_use |= SharedUse.EXCHANGE
        yield
        own = self.shared_use if uses < self.exchanged else self.shared_use & ~SharedUse.EXCHANGE
        self.shared_use = before | own


def layout_of(value: Value) -> Layout:
    """The layout of a tile, which all have by now."""
    assert value.type.layout is not None
    return value.type.layout
