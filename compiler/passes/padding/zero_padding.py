"""Zero padding: where machines store whole tiles, elements outside of the tensor are made zero.

Before (tests/ir/zero-padding/example.tir), for a tensor of 50 columns in blocks of 16:

    %e = exp %x : f32[8, 16]
    store @y[0 : +8!, n : +16], %e

After:

    %e = exp %x : f32[8, 16]
    %place = arange : i32[16]
    %left = full cast(50 - n, i32) : i32[16]
    %inside = lt %place, %left : bool[16]
    %inside_1 = reshape %inside : bool[1, 16]
    %inside_2 = broadcast %inside_1 : bool[8, 16]
    %zero = full f32(0) : f32[8, 16]
    %padded = where %inside_2, %e, %zero : f32[8, 16]
    store @y[0 : +8!, n : +16], %padded

The tile is written as a whole, past the tensor's end into its padding. Whoever reads the tensor next
takes this padding for the zeros that lie beyond the end. A load with another fill reads those zeros and
chooses by the same mask. Where a slice may begin before the tensor does, so does the padding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from dslc.compiler.analysis.scalar_facts import FactsRewriter
from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import BOOL, I32, INDEX
from dslc.compiler.ir import Kernel, Memory, Region, Role, TileProgram, TileType, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import cdiv, sub
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import map_kernels, with_body

Front: TypeAlias = Callable[[ex.Expr], bool]


@dataclass(frozen=True, slots=True)
class ZeroPadding:
    """Masks stores, and loads with a fill, whose axes are still checked; it comes after `bounds`."""

    name: str = "zero-padding"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program whose stores write zeros past the ends of tensors, and whose loads read them."""
        return map_kernels(program, _kernel)


def _kernel(kernel: Kernel) -> Kernel:
    return with_body(kernel, _Edges(kernel).body(kernel.body))


class _Edges(FactsRewriter):
    def memory(self, memory: Memory) -> Memory:
        """Memories stay as they are."""
        return memory

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A store with its mask ahead of it, a load with another fill with its mask behind it."""
        rebuilt = self.rebuild(stmt)
        match rebuilt:
            case ins.Store(region=region) if _in_tensor(region):
                yield from _stored(rebuilt, self._may_be_negative)
            case ins.Load(region=region, other=fill) if fill is not None:
                filled = _filled(rebuilt, fill, self._may_be_negative)
                yield from filled if _in_tensor(region) else (rebuilt,)
            case _:
                yield rebuilt

    def _may_be_negative(self, start: ex.Expr) -> bool:
        return start.dtype != INDEX or not self.facts.nonnegative(self.facts.form(start))


def _in_tensor(region: Region) -> bool:
    return region.memory.role is not Role.BUFFER


def _stored(stmt: ins.Store, front: Front) -> Iterator[Stmt]:
    computing, inside = inside_of(stmt.region, stmt.x.type.shape, stmt.loc, front)
    if inside is None:
        yield stmt
        return
    yield from computing
    dtype = stmt.x.type.dtype
    zero, padded = Value(stmt.x.type, "zero"), Value(stmt.x.type, "padded")
    yield ins.Full(zero, ex.Const(False if dtype == BOOL else 0, dtype), loc=stmt.loc)
    yield ins.Where(padded, inside, stmt.x, zero, loc=stmt.loc)
    yield replace(stmt, x=padded)


def _filled(stmt: ins.Load, other: ex.Expr, front: Front) -> Iterator[Stmt]:
    computing, inside = inside_of(stmt.region, stmt.out.type.shape, stmt.loc, front)
    if inside is None:
        yield replace(stmt, other=None)
        return
    read, fill = Value(stmt.out.type, stmt.out.name), Value(stmt.out.type, "fill")
    yield replace(stmt, out=read, other=None)
    yield from computing
    yield ins.Full(fill, other, loc=stmt.loc)
    yield ins.Where(stmt.out, inside, read, fill, loc=stmt.loc)


def inside_of(
    region: Region, shape: tuple[int, ...], loc: Loc | None, front: Front
) -> tuple[list[Stmt], Value | None]:
    """Which elements of a region lie in the tensor, and what computes that; None where all do.

    `front` says of which starts it is to be seen whether they lie before the first element.
    """
    statements: list[Stmt] = []
    inside: Value | None = None

    def also(flags: Value) -> None:
        nonlocal inside
        if inside is not None:
            both = Value(TileType(BOOL, shape), "inside")
            statements.append(ins.Binary(both, "and", inside, flags, loc=loc))
            flags = both
        inside = flags

    number = 0
    for axis, extent in zip(region.axes, region.memory.shape, strict=True):
        if axis.dropped:
            if axis.checked:
                also(_flag(statements, _is_inside(axis.start, extent, front), shape, loc))
            continue
        along = tuple(axis.size if n == number else 1 for n in range(len(shape)))
        number += 1
        if not axis.checked:
            continue
        left = sub(extent, axis.start)
        before = sub(0, axis.start) if front(axis.start) else None
        if axis.step > 1:
            left = cdiv(left, axis.step)
            before = before and cdiv(before, axis.step)
        size = (axis.size,)
        places, ends = (Value(TileType(I32, size), n) for n in ("place", "left"))
        column, wide = (Value(TileType(BOOL, s), "inside") for s in (along, shape))
        flags = Value(TileType(BOOL, size), "inside")
        statements += [
            ins.Arange(places, loc=loc),
            ins.Full(ends, ex.Convert(simplify(left), I32), loc=loc),
            ins.Binary(flags, "lt", places, ends, loc=loc),
        ]
        if before is not None:
            firsts = Value(TileType(I32, size), "before")
            after, both = (Value(TileType(BOOL, size), n) for n in ("after", "inside"))
            statements += [
                ins.Full(firsts, ex.Convert(simplify(before), I32), loc=loc),
                ins.Binary(after, "ge", places, firsts, loc=loc),
                ins.Binary(both, "and", flags, after, loc=loc),
            ]
            flags = both
        statements += [ins.Reshape(column, flags, loc=loc), ins.Broadcast(wide, column, loc=loc)]
        also(wide)
    return statements, inside


def _is_inside(start: ex.Expr, extent: ex.Expr, front: Front) -> ex.Expr:
    below = ex.Binary("lt", start, extent, BOOL)
    if not front(start):
        return below
    return ex.Binary("and", ex.Binary("ge", start, ex.index(0), BOOL), below, BOOL)


def _flag(made: list[Stmt], condition: ex.Expr, shape: tuple[int, ...], loc: Loc | None) -> Value:
    flags = Value(TileType(BOOL, shape), "inside")
    made.append(ins.Full(flags, simplify(condition), loc=loc))
    return flags
