"""The partial results of a split reduction: where they are stored, and how the last part adds them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dslc.compiler.analysis.accumulation import accumulators
from dslc.compiler.dtypes import I64, INDEX, DType
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import add
from dslc.compiler.ir.expr import Binary, Convert, Expr, Read, Var, index
from dslc.compiler.ir.instructions import Carried, Stmt
from dslc.compiler.ir.regions import whole
from dslc.compiler.ir.rewrite import fresh_name
from dslc.compiler.ir.traverse import Name
from dslc.compiler.ir.values import Memory, Place, Region, Role, TileType, Value
from dslc.compiler.passes.tile_scheduling.split_counts import refused


@dataclass(frozen=True, slots=True)
class Partial:
    """An accumulator: its operation, and the workspace of its partial results.

    That has an element for each turn of the kernel, which is `here`, and each part.
    """

    carried: Carried
    op: str
    memory: Memory
    here: tuple[Expr, ...]

    @property
    def type(self) -> TileType:
        """The type of a partial result as it is stored; a scalar is a tile of rank 0."""
        return _stored(self.carried.inner)

    def region(self, part: Expr) -> Region:
        """The place of a part's result."""
        return whole(self.memory, self.type.shape, *self.here, part)


def partials(loop: ins.For, turns: Sequence[Expr], here: tuple[Expr, ...]) -> list[Partial]:
    """The accumulators of a loop that is split, in turns of the grid. DSL0512 for another value."""
    partials_of_loop: list[Partial] = []
    for c, op in zip(loop.carried, accumulators(loop), strict=True):
        if op is None:
            name = c.inner.name or "a value"
            message = f"a split reduction only accumulates, but {name} is no sum, min or max"
            raise refused("DSL0512", message, loop)
        tile = _stored(c.inner)
        shape = (*turns, index(loop.split or 1), *map(index, tile.shape))
        name = "partial" if len(loop.carried) == 1 else f"partial_{len(partials_of_loop)}"
        memory = Memory(name, tile.dtype, shape, Role.WORKSPACE, Place.GLOBAL)
        partials_of_loop.append(Partial(c, op, memory, here))
    return partials_of_loop


def stores(
    partial: Iterable[Partial], results: Iterable[Name], part: Expr, loop: ins.For
) -> list[Stmt]:
    """A part's results to their workspaces; scalars as tiles of rank 0."""
    statements: list[Stmt] = []
    for p, result in zip(partial, results, strict=True):
        tile = result if isinstance(result, Value) else Value(p.type, "part")
        if isinstance(result, Var):
            statements.append(ins.Full(tile, _convert(result, p.type.dtype), loc=loop.loc))
        statements.append(ins.Store(p.region(part), tile, loc=loop.loc))
    return statements


def total(partial: Sequence[Partial], loop: ins.For, most: int, taken: set[str]) -> list[Stmt]:
    """What accumulates the partial results onto what stood before the loop: statements or a loop.

    As many parts as registers hold, `most` elements, are loaded before the first is added, so that one
    wait serves them all.
    """
    count, loc = loop.split or 1, loop.loc
    each = _at_once(partial, count, most)
    p_var = None if each == count else Var(fresh_name("p", taken), INDEX)
    parts = [index(n) if p_var is None else add(p_var, n) for n in range(each)]
    loads: list[Stmt] = []
    sums: list[Stmt] = []
    carried: list[Carried] = []
    for p in partial:
        c = p.carried
        loaded = [Value(p.type, "part") for _ in parts]
        for value, part in zip(loaded, parts, strict=True):
            loads.append(ins.Load(value, p.region(simplify(part)), loc=loc))
        if isinstance(c.result, Value):
            inner = Value(c.result.type, "total")
            so_far = c.init if p_var is None else inner
            assert isinstance(so_far, Value)
            for k, value in enumerate(loaded, 1):
                last = p_var is None and k == each
                added = c.result if last else Value(c.result.type, "total")
                sums.append(ins.Binary(added, p.op, so_far, value, loc=loc))
                so_far = added
            carried.append(Carried(c.result, inner, c.init, so_far))
            continue
        assert not isinstance(c.init, Value)
        var = Var(fresh_name(c.result.name, taken), c.result.dtype)
        more: Expr = c.init if p_var is None else var
        for value in loaded:
            more = Binary(p.op, more, _convert(Read(value), var.dtype), var.dtype)
        sums += [ins.Let(c.result, more, loc=loc)] if p_var is None else []
        carried.append(Carried(c.result, var, c.init, more))
    if p_var is None:
        return [*loads, *sums]
    stop, body = index(count), (*loads, *sums)
    return [ins.For(p_var, index(0), stop, index(each), body, tuple(carried), loc=loc)]


def _at_once(partial: Iterable[Partial], count: int, most: int) -> int:
    """How many parts a turn of that loop adds: a divisor of them, for which registers suffice."""
    elements = sum(math.prod(p.type.shape) for p in partial)
    fitting = max(1, most // max(1, elements))
    return max(n for n in range(1, count + 1) if count % n == 0 and n <= fitting)


def _stored(name: Name) -> TileType:
    """The type in which an accumulator is stored."""
    if isinstance(name, Value):
        return name.type
    return TileType(I64 if name.dtype == INDEX else name.dtype, ())


def _convert(expr: Expr, dtype: DType) -> Expr:
    return expr if expr.dtype == dtype else Convert(expr, dtype)
