"""Products: operands in panels, tiles of accumulators in registers, loops over k.

A panel is made of an operand unless each of its blocks is read once only: then it comes straight from
where it is. A product whose result only goes, element by element, into a carried tile is finished there
while it is still in registers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from dslc.codegen.aarch64.chunks.ranges import BIASED
from dslc.codegen.aarch64.places import Array
from dslc.codegen.aarch64.products.nibbles import Nibbles, nibbles_of, reads_as_floats
from dslc.codegen.aarch64.products.packed_panels import Operand, has_checks, operand_of
from dslc.codegen.aarch64.products.register_tiles import Tile, fill, moved, store, summed
from dslc.codegen.aarch64.products.units import EDGE, Problem, Unit, tail_of, unit_for
from dslc.codegen.aarch64.refusals import unsupported
from dslc.codegen.aarch64.statements import keep, scratch_for, write
from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.nests import each, each_place
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, constant, simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import add, cdiv, div, mul, sub
from dslc.compiler.ir.traverse import operands

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission

Finish = Callable[[Tile], None]


def dot(e: Emission, i: ins.Dot) -> None:
    """The product, or its promise where what it goes into will drive it."""
    if i.out in e.plan.driven:
        e.define(i.out, i)
        return
    home = e.plan.in_place.get(i.out)
    if home is not None:
        array = e.homes[home]
        assert isinstance(array, Array)
    else:
        array = scratch_for(e, i.out)
        if i.acc is not None:
            keep(e, i.acc, array)
    start = array if i.acc is not None else None
    multiply(e, i, start, lambda tile: store(e, summed(e, tile, start), array))
    e.forget()
    e.settle(i.out, array)


def drive(e: Emission, i: ins.Dot, value: Value, array: Array) -> None:
    """The tile `value`, made of the product element by element, to memory, block by block."""
    dtype = value.type.dtype
    biased = e.biased.get(i.out)
    nibbles = nibbles_of(e, i, unit_of(e, i))
    if nibbles is not None and not reads_as_floats(i.a.type.shape[-1], nibbles.zero):
        biased = None
    out = biased or i.out

    def finish(tile: Tile) -> None:
        tile = summed(e, tile)
        e.homes[out] = tile.in_registers()
        e.levels[out] = e.s.level
        zeros = (0,) * len(tile.batch)
        for m, n in tile.regs:
            base = (*tile.batch, *moved(tile.origin, m, n))
            lanes = tuple((*zeros, *pair) for pair in tile.unit.c)
            write(e, array, At(base, lanes), value, dtype)
        del e.homes[out]
        e.forget()

    start = e.homes.get(i.acc) if i.acc is not None else None
    if i.acc is not None and not isinstance(start, Array):
        start = keep(e, i.acc)
    first = BIASED if biased is not None else 0
    multiply(e, i, start if isinstance(start, Array) else None, finish, first)


def unit_of(e: Emission, i: ins.Dot) -> Unit:
    """The unit of a product."""
    rows = i.out.type.shape[-2]
    unit = unit_for(i.a.type.dtype, i.b.type.dtype, i.out.type.dtype, rows, e.features)
    if unit is None:
        raise unsupported(f"products of {i.a.type.dtype} and {i.b.type.dtype}", i.loc)
    return unit


def multiply(e: Emission, i: ins.Dot, start: Array | None, finish: Finish, first: int = 0) -> None:
    """All tiles of a product, each begun from `start` or the word `first`, handed to `finish`."""
    e.marks.product()
    unit = unit_of(e, i)
    *outer, _, _ = i.out.type.shape
    k = i.a.type.shape[-1]
    rank = i.out.type.rank
    nibbles = nibbles_of(e, i, unit)
    size = tile_size(e, i, unit, scaled=False, nibbles=nibbles)
    reused = Reused.of(e, i, unit, size)
    a, b = operands_of(e, i, unit, reused)
    for operand in (a, b):
        if operand.panel is not None:
            operand.fill(e)
    if reused.b:
        nibbles = None

    def tile_at(batch: tuple[Linear, ...], c: int, y: Linear, r: int, x: Linear) -> None:
        fill(e, Tile(unit, batch, (x, y), r, c), a, b, k, start or first, finish, nibbles)
        e.marks.end()

    def down(one: Callable[[int, Linear, int, Linear], None], c: int, y: Linear) -> None:
        strips(e, e.extent(i.out, rank - 2), size[0], unit.rows, partial(one, c, y))

    def of_batch(batch: tuple[Linear, ...]) -> None:
        strips(
            e,
            e.extent(i.out, rank - 1),
            size[1],
            unit.columns,
            partial(down, partial(tile_at, batch)),
        )

    each_place(e, tuple(outer), of_batch)


def tile_size(
    e: Emission, i: ins.Dot, unit: Unit, *, scaled: bool, nibbles: Nibbles | None
) -> tuple[int, int]:
    """Rows and columns of a product's register tile; with `scaled` each result is held twice."""
    *_, m, n = i.out.type.shape
    direct = m == 1 and flows(e, i.b, unit)
    paired = nibbles is not None and direct and n % (2 * unit.columns) == 0
    unpacking = 1 + steps_to(e, i.b) if direct else 1
    problem = Problem(unit, m, n, i.a.type.shape[-1], scaled, paired, unpacking)
    return problem.solution()


@dataclass(frozen=True, slots=True)
class Reused:
    """Which operands' blocks are read more than once, or are dear to read: those get panels."""

    a: bool
    b: bool

    @staticmethod
    def of(
        e: Emission, i: ins.Dot, unit: Unit, size: tuple[int, int], *, looped: bool = False
    ) -> Reused:
        """Of a product with register tiles of a size; where it is `looped`, tiles reread it."""
        *_, m, n = i.out.type.shape
        rows, columns = size
        a = has_checks(e, i.a) if looped and m == 1 else n > columns or i.a.type.shape[-1] > 1
        return Reused(a, m > rows or not flows(e, i.b, unit))


def flows(e: Emission, value: Value, unit: Unit) -> bool:
    """Whether blocks come straight from memory in few loads: in the unit's order, with no checks."""
    if has_checks(e, value):
        return False
    stack, packed = [value], unit.step == 1
    while stack:
        stmt = e.lazy.get(x := stack.pop())
        if stmt is not None and x not in e.homes:
            packed |= isinstance(stmt, ins.View)
            stack += operands(stmt)
    return packed


def steps_to(e: Emission, value: Value) -> int:
    """The instructions that make a register of a tile of what its loads bring."""
    stmt = e.lazy.get(value)
    if stmt is None or value in e.homes or isinstance(stmt, (ins.Load, ins.Full)):
        return 0
    own = 0 if isinstance(stmt, ins.Cast) else 1
    return own + sum(steps_to(e, x) for x in operands(stmt))


def operands_of(
    e: Emission, i: ins.Dot, unit: Unit, reused: Reused, iterations: int = 1
) -> tuple[Operand, Operand]:
    """Both operands, with panels if they are `reused`."""
    rank = i.out.type.rank
    height, width = e.extent(i.out, rank - 2), e.extent(i.out, rank - 1)
    a = operand_of(
        e, i.a, unit.a, unit.a_format, (unit.rows, unit.depth), reused=reused.a,
        ends=(height, None), pad=(EDGE, 1), others=i.out.type.shape[-1], iterations=iterations,
    )  # fmt: skip
    b = operand_of(
        e, i.b, unit.b, unit.b_format, (unit.step, unit.columns), reused=reused.b,
        ends=(None, width), pad=(1, EDGE), others=i.out.type.shape[-2], iterations=iterations,
    )  # fmt: skip
    return a, b


def strips(
    e: Emission,
    end: ex.Expr,
    size: int,
    least: int,
    body: Callable[[int, Linear], None],
) -> None:
    """Strips of `size` as long as whole ones fit before `end`, then smaller ones up to it."""
    tail = tail_of(size, least)
    stop = simplify(mul(div(end, size), size))
    each(e, ex.index(0), stop, size, lambda at: body(size, at))
    if constant(end) is not None and constant(end) == constant(stop):
        return
    last = simplify(add(stop, mul(cdiv(sub(end, stop), tail), tail)))
    if constant(stop) == 0 or size > 1:
        each(e, stop, last, tail, lambda at: body(tail, at))


STATEMENTS: dict[type, Any] = {ins.Dot: dot}
