"""The emission of one core's program: where its tiles are, and how a chunk of one is computed.

A tile is either held, in an object of a FIFO or in a buffer of the core's memory, or it is computed
where it is wanted, a few lanes at a time, by pulling what it is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from dslc.codegen.aie.compute.indices import Index
from dslc.codegen.aie.dtypes import bytes_of, element, stored
from dslc.codegen.aie.printing.builder import Builder, Loop, vector
from dslc.codegen.without_code import what_it_is
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.dtypes import BOOL, DType
from dslc.compiler.ir import Memory, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import Name

Blocks: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Stored:
    """Elements in a core's memory: `name` is a flat memref of `count`.

    Element i, j, ... is at `offset` + sum of i * stride; with `blocks` (rows, columns) the last two
    axes, of `columns` columns, lie block after block, each row-major.
    """

    name: str
    count: int
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: Index | int = 0
    blocks: Blocks | None = None

    @property
    def type(self) -> str:
        """The memref's type."""
        return f"memref<{self.count}x{stored(self.dtype)}>"

    @property
    def is_dense(self) -> bool:
        """Whether its elements fill a contiguous part of the memory."""
        return self.blocks is not None or self.strides == dense_strides(self.shape)


def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides."""
    strides: list[int] = []
    total = 1
    for size in reversed(shape):
        strides.append(total)
        total *= size
    return tuple(reversed(strides))


@dataclass(frozen=True, slots=True)
class Flat:
    """A place among the elements of a tile in the order in which they lie."""

    position: Index


At: TypeAlias = tuple[Index, ...] | Flat


@dataclass(slots=True)
class Rule:
    """How an instruction that is not held is computed, and how many lanes at once it allows."""

    pull: Callable[[Emission, Any, At, int], str]
    operands: Callable[[Any], tuple[Value, ...]]
    # Whether so many lanes can be had of it, given whether they can be had of its operands.
    lanes: Callable[[Emission, Any, int], bool]
    elementwise: bool = False


@dataclass(slots=True)
class Emission:
    """What is known while a core's program is written.

    `definitions` say how a tile is made, `held` where those lie that are in memory, `scalars` the
    SSA values of scalars, or sums of them. `buffers` are what the core's memory holds beside the
    FIFOs: name, count, dtype; their names end with `suffix` and are not yet `taken`. Tiles `kept` get
    memory at their definition, products `in_place` add to their accumulator's (`placement`). Scalars
    in `idle` have values for which no bound was proved.
    """

    out: Builder
    rules: Mapping[type, Rule]
    definitions: Mapping[Name, Stmt]
    kept: frozenset[Value]
    in_place: frozenset[Stmt]
    blocks: Mapping[Value, Blocks]
    suffix: str = ""
    idle: frozenset[ex.Var] = frozenset()
    held: dict[Value, Stored] = field(default_factory=dict)
    scalars: dict[ex.Var, str | Index] = field(default_factory=dict)
    buffers: list[tuple[str, int, DType]] = field(default_factory=list)
    memories: dict[Memory, Stored] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    _known: list[dict[tuple[Value, At, int], str]] = field(default_factory=lambda: [{}])
    _asked: set[tuple[Value, int]] = field(default_factory=set)  # of what is asked at present

    # Memory

    def buffer(
        self, hint: str, dtype: DType, shape: tuple[int, ...], blocks: Blocks | None = None
    ) -> Stored:
        """A new buffer of the core for a tile."""
        count = 1
        for size in shape:
            count *= size
        stem = "".join(c if c.isalnum() else "_" for c in hint) or "t"
        name, number = f"{stem}{self.suffix}", 0
        while name in self.taken:
            number += 1
            name = f"{stem}{number}{self.suffix}"
        self.taken.add(name)
        unit = max(1, 4 // bytes_of(dtype))
        count = -(-count // unit) * unit
        self.buffers.append((name, count, dtype))
        return Stored(f"%{name}", count, dtype, shape, dense_strides(shape), 0, blocks)

    def address(self, held: Stored, at: At) -> str:
        """The place of an element in its memref."""
        if isinstance(at, Flat):
            return self.out.index(at.position + held.offset)
        if held.blocks is None:
            total = Index() + held.offset
            for index, stride in zip(at, held.strides, strict=True):
                total = total + index * stride
            return self.out.index(total)
        *_, row, column = at
        rows, columns = held.blocks
        (r, i), (c, j) = self.divided(row, rows), self.divided(column, columns)
        across = held.shape[-1] // columns
        block = (r * across + c) * (rows * columns)
        total = block + i * columns + j + held.offset
        for index, stride in zip(at[:-2], held.strides[:-2], strict=True):
            total = total + index * stride
        return self.out.index(total)

    def divided(self, index: Index, divisor: int) -> tuple[Index, Index]:
        """Quotient and remainder of an index that is not negative."""
        if (parts := index.split(divisor, self.out.extents)) is not None:
            return parts
        value, by = self.out.index(index), self.out.constant(divisor, "index")
        if divisor & (divisor - 1) == 0:
            places = self.out.constant(divisor.bit_length() - 1, "index")
            mask = self.out.constant(divisor - 1, "index")
            quotient = self.out.op(f"arith.shrui {value}, {places} : index", "block")
            remainder = self.out.op(f"arith.andi {value}, {mask} : index", "within")
            return Index(((quotient, 1),)), Index(((remainder, 1),))
        quotient = self.out.op(f"arith.divui {value}, {by} : index", "block")
        remainder = self.out.op(f"arith.remui {value}, {by} : index", "within")
        return Index(((quotient, 1),)), Index(((remainder, 1),))

    def load(self, held: Stored, at: At, lanes: int) -> str:
        """A chunk of what is in memory."""
        place, kind = self.address(held, at), stored(held.dtype)
        if lanes == 1:
            chunk = self.out.op(f"memref.load {held.name}[{place}] : {held.type}", "x")
        else:
            wide = vector(lanes, kind)
            chunk = self.out.op(f"vector.load {held.name}[{place}] : {held.type}, {wide}", "x")
        if held.dtype != BOOL:
            return chunk
        wide, bits = vector(lanes, kind), vector(lanes, "i1")
        return self.out.op(f"arith.trunci {chunk} : {wide} to {bits}", "x")

    def store(self, value: str, held: Stored, at: At, lanes: int, *, raw: bool = False) -> None:
        """A chunk into memory; a `raw` one is of the memory's own type."""
        place, kind = self.address(held, at), stored(held.dtype)
        if held.dtype == BOOL and not raw:
            wide, bits = vector(lanes, kind), vector(lanes, "i1")
            value = self.out.op(f"arith.extui {value} : {bits} to {wide}", "x")
        if lanes == 1:
            self.out.effect(f"memref.store {value}, {held.name}[{place}] : {held.type}")
        else:
            wide = vector(lanes, kind)
            self.out.effect(f"vector.store {value}, {held.name}[{place}] : {held.type}, {wide}")

    # Tiles

    def pull(self, value: Value, at: At, lanes: int) -> str:
        """A chunk of a tile along its last axis, in registers."""
        key = (value, at, lanes)
        for known in reversed(self._known):
            if key in known:
                return known[key]
        if value in self.held:
            chunk = self.load(self.held[value], at, lanes)
        else:
            stmt = self.definitions[value]
            chunk = self.rule(stmt).pull(self, stmt, at, lanes)
        self._known[-1][key] = chunk
        return chunk

    def rule(self, stmt: Stmt) -> Rule:
        """How an instruction is computed; DSL0590 where there are no words for it."""
        if type(stmt) not in self.rules:
            raise without_code(stmt)
        return self.rules[type(stmt)]

    def has_lanes(self, value: Value, lanes: int) -> bool:
        """Whether so many lanes of a tile can be had at once."""
        if lanes == 1:
            return True
        if value in self.held:
            held = self.held[value]
            if held.blocks is not None:
                return held.blocks[1] % lanes == 0
            return not held.strides or held.strides[-1] == 1
        if (value, lanes) in self._asked:
            return True  # one that cannot be had is the answer to the first question
        first = not self._asked
        self._asked.add((value, lanes))
        stmt = self.definitions[value]
        try:
            return self.rule(stmt).lanes(self, stmt, lanes)
        finally:
            if first:
                self._asked.clear()

    def is_flat(self, value: Value, target: Stored, seen: set[Value] | None = None) -> bool:
        """Whether a tile can be computed in the order in which the target lies."""
        seen = set() if seen is None else seen
        if value in seen:
            return True
        seen.add(value)
        if not target.is_dense or value.type.shape != target.shape:
            return False
        if value in self.held:
            held = self.held[value]
            same = held.blocks == target.blocks and held.shape == target.shape
            return same and held.is_dense
        rule = self.rule(self.definitions[value])
        stmt = self.definitions[value]
        return rule.elementwise and all(self.is_flat(x, target, seen) for x in rule.operands(stmt))

    def widest(self, value: Value, seen: set[Value] | None = None) -> int:
        """The bytes of the widest element that computing a tile touches."""
        seen = set() if seen is None else seen
        if value in seen:
            return 1
        seen.add(value)
        own = bytes_of(value.type.dtype)
        if value in self.held:
            return own
        stmt = self.definitions[value]
        return max([own, *(self.widest(x, seen) for x in self.rule(stmt).operands(stmt))])

    @contextmanager
    def loop(
        self, stop: int | str, carried: tuple[tuple[str, str], ...] = (), hint: str = "i"
    ) -> Iterator[Loop]:
        """A loop of the core; chunks computed in it are forgotten after it."""
        with self.out.loop(stop, carried, hint) as loop:
            self._known.append({})
            yield loop
            self._known.pop()

    @contextmanager
    def forgetting(self) -> Iterator[None]:
        """Chunks computed inside are not used after: memory changes there."""
        self._known.append({})
        yield
        self._known.pop()

    def forget(self) -> None:
        """Memory has changed: what was pulled from it before is old."""
        for known in self._known:
            known.clear()

    def type(self, dtype: DType, lanes: int) -> str:
        """The type of a chunk."""
        return vector(lanes, element(dtype))


def refuse(stmt: Stmt, message: str, hint: str | None = None) -> DiagnosticError:
    """DSL0590 at a statement."""
    return error("DSL0590", message, stmt.loc, hint=hint)


def without_code(stmt: Stmt) -> DiagnosticError:
    """DSL0590 for a statement that a core cannot run."""
    what, hint = what_it_is(stmt)
    return refuse(stmt, f"{what} has no code on an NPU", hint=hint)
