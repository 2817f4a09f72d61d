"""Where a core's tiles lie: which get memory, at their definition, and which products may add in place.

A tile is a value. It is computed where it is wanted, from what is in memory, so memory must hold what
it held when the tile was defined, for as long as anybody may compute the tile.

Before:

    %d = add %a, %one                   read by a product: lanes of it are wanted again and again
    %e = exp %x                         read by a sum and by a store: would be computed twice
    if %n > 2 {
      %p = dot %a, %d
      %q = dot %a, %b + %acc            nothing else reads %acc, nor lies where it does
    }
    %r = dot %a, %a + %c                %c is read again, or loaded once more, or serves more iterations
    store @y, %d

After, by `find_placement`:

    kept {%d, %e}                       a buffer each, filled at the definition, ahead of all readers
    in_place {%q}                       %q takes %acc's memory, %r gets a buffer and a copy of %c

A definition dominates what reads it, whichever branch is taken and however often a loop runs, so that
no tile is ever put into memory at a reader, for readers elsewhere. A product adds in place if its
accumulator is the only tile in its memory, the product the only one that reads it, and memory and
product are one to one: in the same iteration of the same loops. What a loop carries has a buffer that
is written when the iteration has ended, by way of a second one where others still read the first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from dslc.codegen.aie.compute.arithmetic import HEAVY
from dslc.codegen.aie.compute.shaping import units_only
from dslc.codegen.aie.planning.scopes import Access
from dslc.codegen.aie.planning.streams import Stream
from dslc.compiler.ir import Role, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import (
    Body,
    Name,
    bodies,
    inner_names,
    operands,
    results,
    tile_of,
    users,
)

_VIRTUAL = (
    ins.Unary, ins.Binary, ins.Fma, ins.Where, ins.Cast, ins.Full, ins.Broadcast, ins.Arange,
    ins.Reshape, ins.Transpose, ins.Extract, ins.Repeat, ins.View,
)  # fmt: skip
_Iterations = tuple[tuple[Stmt, int], ...]


@dataclass(frozen=True, slots=True)
class Placement:
    """The tiles that get memory at their definition, the products that add in place."""

    kept: frozenset[Value]
    in_place: frozenset[Stmt]


def find_placement(
    body: Body, blocked: Collection[ins.Dot], accesses: Mapping[Stmt, tuple[Stream, Access]]
) -> Placement:
    """The placement of a core's tiles; `blocked` products make blocks of their operands."""
    order = list(_with_depth(body, 0))
    readers = users(body)
    kept = _costly(order, readers) | {
        x
        for stmt, _ in order
        if isinstance(stmt, ins.Dot) and stmt not in blocked
        for x in (stmt.a, stmt.b)
    }
    owners = _Owners(body, readers, accesses)
    in_place = (s for s, _ in order if isinstance(s, ins.Dot) and owners.gives_up(s))
    return Placement(frozenset(kept), frozenset(in_place))


# What is computed once


def _costly(order: list[tuple[Stmt, int]], readers: Mapping[Name, list[Stmt]]) -> set[Value]:
    """The tiles of functions and divisions that several loops, or each element of a broadcast, want."""
    depth = {id(stmt): level for stmt, level in order}
    heavy: set[Value] = set()
    for stmt, _ in order:
        if isinstance(stmt, _VIRTUAL) and (
            _is_heavy(stmt) or any(x in heavy for x in operands(stmt))
        ):
            heavy.add(stmt.out)
    kept: set[Value] = set()
    roots: dict[Value, set[int]] = {}
    for stmt, level in reversed(order):
        out = tile_of(stmt)
        if out is None or not isinstance(stmt, _VIRTUAL):
            continue
        mine = readers.get(out, [])
        roots[out] = _roots(mine, roots, kept)
        again = any(
            isinstance(s, ins.Broadcast | ins.Repeat) or depth.get(id(s), level) > level
            for s in mine
        )
        if out in heavy and (again or len(roots[out]) > 1):
            kept.add(out)
    return kept


def _with_depth(body: Iterable[Stmt], level: int) -> Iterator[tuple[Stmt, int]]:
    for stmt in body:
        yield stmt, level
        for nested in bodies(stmt):
            yield from _with_depth(nested, level + 1)


def _is_heavy(stmt: Stmt) -> bool:
    if isinstance(stmt, ins.Unary):
        return stmt.op in HEAVY
    return isinstance(stmt, ins.Binary) and stmt.op in ("div", "pow", "mod", "floordiv")


def _roots(readers: Iterable[Stmt], roots: Mapping[Value, set[int]], kept: set[Value]) -> set[int]:
    """The loops that compute a tile: those of the statements which put something into memory."""
    loops: set[int] = set()
    for stmt in readers:
        out = tile_of(stmt)
        if isinstance(stmt, _VIRTUAL) and out is not None and out not in kept:
            loops |= roots[out]
        else:
            loops.add(id(stmt))
    return loops


# What is changed in place


class _Owners:
    """Which tiles are alone in their memory, and in which iterations of which loops they are made."""

    def __init__(
        self,
        body: Body,
        readers: Mapping[Name, list[Stmt]],
        accesses: Mapping[Stmt, tuple[Stream, Access]],
    ) -> None:
        self._readers, self._accesses = readers, accesses
        self._made: dict[Name, tuple[Stmt, _Iterations]] = {}
        self._iterations: dict[Stmt, _Iterations] = {}
        self._within(body, ())

    def _within(self, body: Body, iterations: _Iterations) -> None:
        for stmt in body:
            self._iterations[stmt] = iterations
            for name in results(stmt):
                self._made[name] = stmt, iterations
            loop = isinstance(stmt, ins.For | ins.While)
            for number, nested in enumerate(bodies(stmt)):
                self._within(nested, (*iterations, (stmt, number)) if loop else iterations)
            for name in inner_names(
                stmt
            ):  # a While that ends gives back what its iteration began with
                self._made[name] = stmt, (*iterations, (stmt, len(bodies(stmt)) - 1))

    def gives_up(self, product: ins.Dot) -> bool:
        """Whether nobody misses a product's accumulator once the product has its memory."""
        acc = product.acc
        if acc is None or acc not in self._made:
            return False
        _, iterations = self._made[acc]
        same = iterations == self._iterations[product]
        return same and self._has_one_reader(acc) and self._is_alone(acc)

    def _has_one_reader(self, value: Value) -> bool:
        return len(self._readers.get(value, ())) == 1

    def _is_alone(self, value: Value) -> bool:
        """Whether a tile has memory that holds nothing else, anew each time it is made."""
        stmt, iterations = self._made[value]
        match stmt:
            case ins.Load() if stmt.region.memory.role is not Role.BUFFER:
                stream, access = self._accesses[stmt]
                once = access.scope is access.inner and not any(
                    isinstance(loop, ins.While) for loop, _ in iterations
                )
                return once and not any(
                    stream.overlap(access, other) for other in stream.parts if other is not access
                )
            case ins.Reshape() if not units_only(stmt.x.type.shape, stmt.out.type.shape):
                return self._made[stmt.x][1] == iterations and (
                    self._has_one_reader(stmt.x) and self._is_alone(stmt.x)
                )
            case _:
                return True
