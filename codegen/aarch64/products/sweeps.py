"""Loops of products, register tile by register tile: what the loop carries stays in registers.

    for k: acc = acc + f(a[k] b[k])     ->     for each block of iterations:
                                                   the block's operands into panels
                                                   for each register tile of acc:
                                                       for k in the block: acc = acc + f(a[k] b[k])

The loops may be exchanged where the loop's body is one product, what it is made of, and the sum that
the loop carries, element by element: nothing in it writes to memory. A block has as many iterations as
the caches hold panels of. Of one row each weight is read once, so that weights need no panel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from dslc.codegen.aarch64.chunks.ranges import BIASED
from dslc.codegen.aarch64.places import Array
from dslc.codegen.aarch64.products.emit_products import (
    Reused,
    operands_of,
    strips,
    tile_size,
    unit_of,
)
from dslc.codegen.aarch64.products.nibbles import DEEPEST, Nibbles, nibbles_of, reads_as_floats
from dslc.codegen.aarch64.products.packed_panels import Operand
from dslc.codegen.aarch64.products.register_tiles import (
    LONG,
    Mark,
    Tile,
    add,
    begin,
    fill,
    is_short,
    load,
    store,
    summed,
)
from dslc.codegen.aarch64.products.units import Unit
from dslc.codegen.chunks.nests import each
from dslc.codegen.chunks.summing import Swept, sum_of
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, constant, simplify, to_expr
from dslc.compiler.ir.arithmetic.index_arithmetic import cdiv, least, sub

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission

_NEAR = 48 << 10  # bytes that a register tile goes through: the first cache holds them
_FAR = 384 << 10  # bytes of both operands' panels: part of the second cache


@dataclass(frozen=True, slots=True)
class Sweep(Swept):
    """A loop of this kind: its product, the unit and register tile, the iterations of a block."""

    dot: ins.Dot
    unit: Unit
    tile: tuple[int, int]
    reused: Reused
    nibbles: Nibbles | None
    iterations: int

    @property
    def k(self) -> int:
        """The elements of K of an iteration."""
        return self.dot.a.type.shape[-1]


def sweep_of(e: Emission, loop: ins.For) -> Sweep | None:
    """What a loop is, if it is of this kind."""
    dot = sum_of(e, loop)
    if dot is None:
        return None
    unit = unit_of(e, dot)
    nibbles = nibbles_of(e, dot, unit)
    size = tile_size(e, dot, unit, scaled=dot.out in e.plan.driven, nibbles=nibbles)
    reused = Reused.of(e, dot, unit, size, looped=True)
    sweep = Sweep(loop, dot, unit, size, reused, None if reused.b else nibbles, 1)
    return replace(sweep, iterations=_iterations(sweep))


def _iterations(sweep: Sweep) -> int:
    """The iterations of a block: a power of two, or all."""
    m, n = sweep.dot.out.type.shape
    of_a = sweep.k * sweep.unit.a_format.bits // 8 if sweep.reused.a else 0
    of_b = sweep.k * sweep.unit.b_format.bits // 8 if sweep.reused.b else 0
    near, far = of_a * sweep.tile[0] + of_b * sweep.tile[1], of_a * m + of_b * n
    most = max(1, min(_NEAR // max(near, 1), _FAR // max(far, 1), DEEPEST // sweep.k))
    trips = constant(sweep.trips)
    if trips is not None and trips <= most:
        return max(1, int(trips))
    return 1 << (most.bit_length() - 1)


def run(e: Emission, sweep: Sweep, home: Array) -> None:
    """The loop, block by block; its carried tile lies in `home` before and after."""
    e.marks.product()
    iterations, trips = sweep.iterations, sweep.trips
    blocks = simplify(cdiv(trips, iterations))
    known = constant(trips)

    def block(number: Linear) -> None:
        first = number.scale(iterations)
        count = least(iterations, sub(trips, to_expr(first)))
        whole = known is not None and known % iterations == 0
        _block(e, sweep, home, first, ex.index(iterations) if whole else simplify(count))

    each(e, ex.index(0), blocks, 1, block, movable=False)
    (carried,) = sweep.loop.carried
    assert isinstance(carried.result, Value)
    e.marks.makes(carried.result)


def _block(e: Emission, sweep: Sweep, home: Array, first: Linear, count: ex.Expr) -> None:
    """A block of iterations from the one of number `first` on."""
    dot, unit = sweep.dot, sweep.unit
    sweep.begin_iteration(e, first)
    a, b = operands_of(e, dot, unit, sweep.reused, sweep.iterations)
    for operand in (a, b):
        if operand.panel is not None:

            def fill_one(iteration: Linear, operand: Operand = operand) -> None:
                sweep.begin_iteration(e, first + iteration)
                operand.at_iteration(iteration).fill(e)

            each(e, ex.index(0), count, 1, fill_one, movable=False)

    def run(body: Body, together: int) -> None:
        def several(iteration: Linear) -> None:
            for number in range(together):
                at = iteration + Linear(constant=number)
                sweep.begin_iteration(e, first + at)
                body(a.at_iteration(at), b.at_iteration(at), number)

        each(e, ex.index(0), count, together, several, movable=False)

    def tile_at(high: int, y: Linear, wide: int, x: Linear) -> None:
        shape = Tile(unit, (), (y, x), high, wide)
        one = _scaled if dot.out in e.plan.driven else _summed
        one(e, sweep, shape, home, run)
        e.forget()

    def across(high: int, y: Linear) -> None:
        one = partial(tile_at, high, y)
        strips(e, e.extent(dot.out, 1), sweep.tile[1], unit.columns, one)

    strips(e, e.extent(dot.out, 0), sweep.tile[0], unit.rows, across)


Body = Callable[[Operand, Operand, int], None]
Iterations = Callable[[Body, int], None]


def _together(sweep: Sweep, shape: Tile) -> int:
    """The iterations that are written out one after another: as many as make a long body."""
    trips = constant(sweep.trips)
    whole = trips is not None and trips % sweep.iterations == 0
    products = len(shape.places) * (sweep.k // shape.unit.step)
    return 2 if whole and sweep.iterations % 2 == 0 and products <= LONG // 2 else 1


def _summed(e: Emission, sweep: Sweep, shape: Tile, home: Array, iterations: Iterations) -> None:
    """The accumulators run through all iterations of the block."""
    name = e.marks.tile(shape.rows, shape.columns)
    macs = shape.rows * shape.columns * sweep.k
    e.marks.begin(f"{name}_begin", macs * sweep.iterations)
    tile = begin(e, shape, home, sweep.nibbles)
    e.marks.end()

    together = _together(sweep, shape)

    def iteration(a: Operand, b: Operand, number: int) -> None:
        if is_short(tile, sweep.k) and number == 0:
            e.marks.begin(name, macs * together, sweep.k * together)
        add(e, tile, a, b, sweep.k, name)
        e.forget()

    iterations(iteration, together)
    if is_short(tile, sweep.k):
        e.marks.end()
    e.marks.begin(f"{name}_end", macs * sweep.iterations)
    store(e, summed(e, tile, home), home)
    e.marks.end()


def _scaled(e: Emission, sweep: Sweep, shape: Tile, home: Array, iterations: Iterations) -> None:
    """A product of its own in each iteration, its result at once added to what the loop carries."""
    (carried,) = sweep.loop.carried
    inner, yielded = carried.inner, carried.yielded
    assert isinstance(inner, Value)
    assert isinstance(yielded, Value)
    name = e.marks.tile(shape.rows, shape.columns)
    macs = shape.rows * shape.columns * sweep.k
    biased = e.biased.get(sweep.dot.out)
    if sweep.nibbles is not None and not reads_as_floats(sweep.k, sweep.nibbles.zero):
        biased = None
    out = biased or sweep.dot.out
    e.marks.begin(f"{name}_first", macs * sweep.iterations)
    total = load(e, replace(shape, unit=replace(shape.unit, c_format=home.form)), home)
    e.marks.end()

    def finish(tile: Tile) -> None:
        results = summed(e, tile)
        for value, held in ((out, results), (inner, total)):
            e.settle(value, held.in_registers())
        for at, regs in total.side_by_side():
            for reg, next_ in zip(regs, e.pull(yielded, at).regs, strict=True):
                e.s.move(reg, next_)
        for value in (out, inner):
            del e.homes[value]
        e.forget()

    together = _together(sweep, shape)

    def iteration(a: Operand, b: Operand, number: int) -> None:
        start = BIASED if biased is not None else 0
        mark = Mark(name, together if number == 0 else 0)
        fill(e, shape, a, b, sweep.k, start, finish, sweep.nibbles, mark)

    iterations(iteration, together)
    e.marks.end()
    e.marks.begin(f"{name}_last", macs * sweep.iterations)
    store(e, total, home)
    e.marks.end()
