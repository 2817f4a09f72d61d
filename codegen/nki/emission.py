"""The emission of one kernel: its names, its tiles, and a table of functions, one an instruction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from dslc.codegen.nki.arithmetic import scalars
from dslc.codegen.nki.arithmetic.scalar_functions import needed
from dslc.codegen.nki.dtypes import element
from dslc.codegen.nki.lifetimes import keep, release
from dslc.codegen.nki.limits import Banks, check_banks, check_tile
from dslc.codegen.nki.movement.engine_sharing import Shares
from dslc.codegen.nki.movement.joining import Home, into
from dslc.codegen.nki.order import Between, few_first, is_streamed
from dslc.codegen.nki.tile_values import (
    PARTITIONS,
    TileValue,
    dense_strides,
    first_column,
    free_shape,
    part,
)
from dslc.codegen.nki.writer import Writer
from dslc.codegen.without_code import what_it_is
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.dtypes import INDEX, DType
from dslc.compiler.ir import Kernel, Memory, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import Body, operands, results, tile_of, walk
from dslc.compiler.passes.trainium.capacity import COLUMN_BLOCK
from dslc.compiler.passes.trainium.placement import Placement, placement_of
from dslc.compiler.passes.trainium.residents import ResidentTensors
from dslc.compiler.targets.nki import Engines

Emit: TypeAlias = Callable[["Emission", Any], None]


@dataclass(frozen=True, slots=True)
class At:
    """A chunk of a tile: its number as text (None where there is one only) and its partitions."""

    index: ex.Var | None
    rows: int | str


@dataclass(slots=True)
class Emission:
    """What is known while a kernel is written out.

    `names` are the Python names of scalars, `not_negative` those proved to be at least 0, `dynamic`
    those known on the machine only. `uses` counts the readers of each tile, `shares` the work of two
    engines. `needs` are words of the file's head.
    """

    kernel: Kernel
    engines: Engines
    emitters: Mapping[type, Emit]
    out: Writer
    uses: Counter[Value]
    shares: Shares
    names: dict[ex.Var, str] = field(default_factory=dict)
    memories: dict[Memory, str] = field(default_factory=dict)
    values: dict[Value, TileValue] = field(default_factory=dict)
    not_negative: set[ex.Var] = field(default_factory=set)
    dynamic: set[ex.Var] = field(default_factory=set)
    needs: set[str] = field(default_factory=set)
    streamed: dict[Value, ins.Load] = field(default_factory=dict)
    # Accumulators of the loop at hand in PSUM, with the text that tells of an earlier product.
    sums: dict[Value, str] = field(default_factory=dict)
    # Accumulators that the first iteration writes, with the text that tells it.
    fresh: dict[Value, str] = field(default_factory=dict)
    # Tiles of whole numbers in a float type, and scalars that the machine knows as tiles.
    whole: set[Value] = field(default_factory=set)
    counters: dict[ex.Var, Value] = field(default_factory=dict)
    dynamic_values: dict[ex.Var, ex.Expr] = field(default_factory=dict)
    # Products that are only read rounded to another float type: they leave PSUM in that type.
    rounded: dict[Value, DType] = field(default_factory=dict)
    # Operands whose chunks lie in pairs.
    paired: set[Value] = field(default_factory=set)
    # Loaded tiles that nothing but products reads.
    multiplied: set[Value] = field(default_factory=set)
    transfers: Callable[[Stmt], int] = field(default=lambda _: 0)
    # Tiles that stay through a loop; statements that are needed by them alone; lists that hold them.
    resident: dict[Value, ResidentTensors] = field(default_factory=dict)
    deferred: set[Stmt] = field(default_factory=set)
    lists: dict[Value, str] = field(default_factory=dict)
    # Loops that are not unrolled.
    machine: set[ex.Var] = field(default_factory=set)
    # Counters of loops of the machine whose iterations lie past the ends of tensors.
    beyond: set[ex.Var] = field(default_factory=set)
    # Buffers that lie in SBUF, and their bytes of a partition.
    on_chip: dict[Memory, int] = field(default_factory=dict)
    # The banks of PSUM that are taken, and the sums of loops that still lie there.
    banks: Banks = field(default_factory=Banks)
    in_psum: dict[Value, str] = field(default_factory=dict)
    # Columns that a long operand is loaded by.
    column_block: int = COLUMN_BLOCK
    # What stands between the pieces of a product of the loop at hand.
    between: Between | None = None
    # Assertions that only the machine can check, in the order of the columns of the tile `failed`.
    checks: list[ins.Assert] = field(default_factory=list)
    failed: str = ""
    # The statement that is being written out, the one behind it, and those that another one wrote.
    now: Stmt | None = None
    following: Stmt | None = None
    # What of the body at hand stands before the statement.
    before: Body = ()
    written: set[Stmt] = field(default_factory=set)
    # Mean and variance of rows, with the statement that asked for them first.
    moments: dict[tuple[Value, int], tuple[Stmt, TileValue]] = field(default_factory=dict)
    # Tiles that the scalar engine made: what is computed from a few numbers of one stays there.
    by_scalar: set[str] = field(default_factory=set)
    # Tiles that are made as parts of others, and those others of which a part is made.
    homes: Mapping[Value, Home] = field(default_factory=dict)
    begun: dict[Value, TileValue] = field(default_factory=dict)
    # Tiles whose elements are those of another, which may be read yet.
    renamed: set[Value] = field(default_factory=set)

    def body(self, body: Body) -> None:
        """Write out statements in order."""
        body = few_first(self, body)
        outer, self.in_psum = self.in_psum, {}
        around = self.before
        for number, stmt in enumerate(body):
            self.before = body[:number]
            release(self, body[number:])
            out = tile_of(stmt)
            if out is not None and out in self.resident:
                keep(self, self.resident[out])
                continue
            if stmt in self.deferred or stmt in self.written:
                continue
            if isinstance(stmt, ins.Load) and is_streamed(self, stmt, body[number + 1 :]):
                self.streamed[stmt.out] = stmt
                continue
            self.following = body[number + 1] if number + 1 < len(body) else None
            self.statement(stmt)
        release(self, ())
        self.in_psum, self.before = outer, around

    def statement(self, stmt: Stmt) -> None:
        """Write out one statement; DSL0590 where there are no words for it."""
        emit = self.emitters.get(type(stmt))
        if emit is None:
            what, hint = what_it_is(stmt)
            raise refuse(stmt, f"{what} has no code on a NeuronCore", hint)
        outer, self.now = self.now, stmt
        line, self.out.loc = self.out.loc, stmt.loc or self.out.loc
        try:
            emit(self, stmt)
        except DiagnosticError as e:
            raise e.at(stmt.loc) from None
        self.now, self.out.loc = outer, line

    # Scalars

    def scalar(self, expr: ex.Expr) -> str:
        """An expression known at tracing, as text."""
        return self.note(scalars.text(expr, self.names))

    def element(self, expr: ex.Expr) -> str:
        """The same as an element of a tile."""
        return self.note(scalars.element(expr, self.names))

    def is_dynamic(self, expr: ex.Expr) -> bool:
        """Whether the expression is known on the machine only."""
        return scalars.is_dynamic(expr, self.dynamic)

    def declare(self, var: ex.Var, *, not_negative: bool = False) -> str:
        """A name for a scalar."""
        self.names[var] = self.out.name(var.name)
        if not_negative:
            self.not_negative.add(var)
        return self.names[var]

    def index_variable(self, hint: str) -> ex.Var:
        """A fresh loop counter of the emitted program."""
        name = self.out.name(hint)
        var = ex.Var(f"${name}", INDEX)
        self.names[var] = name
        self.not_negative.add(var)
        return var

    # Tiles

    def held(self, value: Value) -> TileValue:
        """A tile as it is held now."""
        if value in self.streamed:
            self.statement(self.streamed.pop(value))
        return self.values[value]

    def may_overwrite(self, value: Value) -> bool:
        """Whether the one reader of a tile may leave its result in it: nobody else sees that."""
        alone = self.uses[value] == 1 and value not in self.renamed
        return alone and value not in self.resident

    def is_last_read(self, value: Value) -> bool:
        """Whether nobody reads a tile after the statement at hand, which may overwrite it then."""
        if value in self.renamed or value in self.resident:
            return False
        if not any(value in results(s) for s in self.before):
            return False  # another iteration may read it
        name = self.held(value).name
        shown = {v for v, held in self.values.items() if held.name == name}
        left = sum(self.uses[v] for v in shown)
        return left - sum(v in shown for s in walk(self.before) for v in operands(s)) == 1

    def place(self, value: Value) -> Placement:
        """Where the passes have put a tile."""
        layout = value.type.layout
        placement = None if layout is None else placement_of(layout)
        assert placement is not None, f"{value} has no place"
        return placement

    def tile(
        self,
        hint: str,
        dtype: DType,
        shape: tuple[int, ...],
        place: Placement,
        *,
        psum: bool = False,
    ) -> TileValue:
        """A new dense tile: `chunk` makes its tensors as they are filled."""
        return TileValue(
            self.out.name(hint or "t"),
            dtype,
            shape,
            place,
            free_shape(place, shape),
            dense_strides(place, shape),
            psum=psum,
        )

    def like(self, held: TileValue, hint: str, dtype: DType | None = None) -> TileValue:
        """A new dense tile of the same shape and place."""
        return self.tile(hint, dtype or held.dtype, held.shape, held.place)

    def tile_like(self, value: Value) -> TileValue:
        """The dense tile that a value will be, without a name."""
        shape, place = value.type.shape, self.place(value)
        extents = free_shape(place, shape)
        return TileValue(
            "number", value.type.dtype, shape, place, extents, dense_strides(place, shape)
        )

    def constant(self, value: Value, text: str) -> TileValue:
        """A tile all of whose elements are one number: nothing is emitted."""
        return replace(self.tile_like(value), strides=(0,) * value.type.rank, constant=text)

    def result(self, value: Value, dtype: DType | None = None) -> TileValue:
        """The new tile of a result, or the part of another one that it is."""
        home = self.homes.get(value)
        if home is not None and dtype in (None, value.type.dtype):
            self.values[value] = into(self, value, home)
            return self.values[value]
        out = self.tile(value.name, dtype or value.type.dtype, value.type.shape, self.place(value))
        out = replace(out, paired=value in self.paired)
        self.values[value] = out
        return out

    @contextmanager
    def filled(self, made: TileValue) -> Iterator[At]:
        """The chunks of a new tile in turn, each made right before it is filled."""
        if any(made.name == begun.name for begun in self.begun.values()):
            yield At(None, made.rows)
            return
        if made.chunks > 1:
            self.out.line(f"{made.name} = []")
        with self.over(made) as at:
            self.allocate(made, at)
            yield at

    @contextmanager
    def over(self, held: TileValue) -> Iterator[At]:
        """The chunks of a tile in turn: a loop where there are several."""
        if held.chunks == 1:
            yield At(None, held.rows)
            return
        index = self.index_variable("c")
        with self.out.block(f"for {self.names[index]} in range({held.chunks})"):
            yield At(index, self.rows_of(held, index))

    def rows_of(self, held: TileValue, index: ex.Var) -> int | str:
        """The partitions of a chunk: fewer in the last one."""
        if held.rows % PARTITIONS == 0:
            return PARTITIONS
        rows, before = self.out.name("rows"), f"{PARTITIONS} * {self.names[index]}"
        self.out.line(f"{rows} = min({PARTITIONS}, {held.rows} - {before})")
        return rows

    def allocate(self, made: TileValue, at: At) -> None:
        """The tensor of a chunk."""
        dtype = "nl.float32" if made.psum else element(made.dtype)
        tensor = self.tensor(made.name, at.rows, made.extents, dtype, psum=made.psum)
        if made.paired and at.index is not None:
            tensor = self.tensor(made.name, PARTITIONS, (2, *made.extents), dtype)
            with self.out.block(f"if {self.names[at.index]} % 2 == 0"):
                self.out.line(f"{made.name}.append({tensor})")
        elif at.index is None:
            self.out.line(f"{made.name} = {tensor}")
        else:
            self.out.line(f"{made.name}.append({tensor})")

    def tensor(
        self,
        name: str,
        rows: int | str,
        extents: Sequence[int | str],
        dtype: str,
        *,
        psum: bool = False,
    ) -> str:
        """The text of a new tensor of a tile, which keeps to the machine's limits."""
        check_tile(name, rows, extents, dtype, psum=psum)
        if psum:
            check_banks(name, 0 if name in self.banks.taken else 1, self.banks)
        sizes = ", ".join(str(n) for n in (rows, *extents))
        return f"nl.ndarray(({sizes}), dtype={dtype}, buffer={'nl.psum' if psum else 'nl.sbuf'})"

    def base(self, held: TileValue, at: At) -> str:
        """The tensor of a chunk."""
        if held.chunks == 1 or held.shared or at.index is None:
            return held.name
        chunk = self.names[at.index]
        if held.paired:
            whole = ", ".join(f"0:{n}" for n in held.extents)
            return f"{held.name}[{chunk} // 2][0:{PARTITIONS}, {chunk} % 2, {whole}]"
        return f"{held.name}[{chunk}]"

    def text(self, held: TileValue, at: At) -> str:
        """A chunk's elements."""
        rows = PARTITIONS if held.shared else held.rows
        whole = at.rows == rows or (held.chunks > 1 and not held.shared)
        return part(held, self.base(held, at), at.rows, whole=whole)

    def column(self, held: TileValue, at: At) -> str:
        """The one number of each partition, as a vector or a constant."""
        if held.constant is not None:
            return held.constant
        return first_column(held, self.base(held, at), at.rows)

    def tensors(self, held: TileValue) -> TileValue:
        """The tile in tensors of its own, dense: constants and patterns are written out."""
        if held.constant is None and held.is_dense and not held.shared:
            return held
        dense = self.like(held, held.name)
        with self.filled(dense) as at:
            if held.constant is not None:
                self.call("memset", dst=self.text(dense, at), value=held.constant)
            else:
                self.call("tensor_copy", dst=self.text(dense, at), src=self.text(held, at))
        return dense

    def in_sbuf(self, held: TileValue) -> TileValue:
        """The tile outside PSUM."""
        return self.copied(held) if held.psum else held

    def copied(self, held: TileValue) -> TileValue:
        """The tile in other tensors, whose axes are its own."""
        copy = self.like(held, held.name)
        with self.filled(copy) as at:
            self.call("tensor_copy", dst=self.text(copy, at), src=self.text(held, at))
        return copy

    def call(self, operation: str, **arguments: object) -> None:
        """One instruction; arguments that are None are left out."""
        given = ", ".join(f"{k}={v}" for k, v in arguments.items() if v is not None)
        self.note(given)
        self.out.line(f"nisa.{operation}({given})")

    def note(self, text: str) -> str:
        """A text whose words of the file's head are remembered."""
        self.needs |= needed(text)
        return text

    def rename(self, value: Value, held: TileValue) -> None:
        """A tile that is another's elements."""
        self.renamed.add(value)
        self.values[value] = replace(held, shape=value.type.shape, place=self.place(value))


def refuse(stmt: Stmt, message: str, hint: str | None = None) -> Exception:
    """DSL0590 at a statement."""
    return error("DSL0590", message, stmt.loc, hint=hint)
