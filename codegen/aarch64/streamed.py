"""One row times a matrix: accumulators stay in registers over the whole loop along k.

    for k: acc = acc + a[k] b[k]     ->     for each strip of columns: for k: ...

Each weight is read once, so that the loops may be exchanged: nothing that one strip has read would
serve another. That holds where the loop's body is a product of one row, what it is made of, and the
sum that the loop carries; nothing in it writes to memory.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dslc.codegen.aarch64.nibbles import nibbles_of
from dslc.codegen.aarch64.panels import Operand
from dslc.codegen.aarch64.places import Array, At
from dslc.codegen.aarch64.planning import LAZY
from dslc.codegen.aarch64.products import flows, operands_of, strips, unit_of
from dslc.codegen.aarch64.tiles import (
    Tile,
    add,
    begin,
    fill,
    folded,
    is_short,
    load,
    moved,
    store,
    whole,
)
from dslc.codegen.aarch64.units import Unit, register_tile
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.affine import Linear
from dslc.compiler.ir.traverse import results

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission


def streamed(e: Emission, loop: ins.For) -> ins.Dot | None:
    """The product of a loop that is of this kind."""
    if len(loop.carried) != 1 or not isinstance(loop.carried[0].yielded, Value):
        return None
    dots = [s for s in loop.body if isinstance(s, ins.Dot)]
    plain = all(isinstance(s, (*LAZY, ins.View, ins.Dot)) for s in loop.body)
    if len(dots) != 1 or not plain:
        return None
    if any(v in e.kept for s in loop.body for v in results(s) if isinstance(v, Value)):
        return None
    dot = dots[0]
    row = dot.out.type.rank == 2 and dot.out.type.shape[0] == 1
    meets = dot.out in e.plan.in_place or dot.out in e.plan.driven
    if not row or not meets or not unit_of(e, dot).folded:
        return None
    _body(e, loop)
    return dot if flows(e, dot.b, unit_of(e, dot)) else None


def stream(e: Emission, loop: ins.For, dot: ins.Dot, home: Array) -> None:
    """The loop strip by strip; its carried tile lies in `home` before and after."""
    e.marks.product()
    unit = unit_of(e, dot)
    n, k = dot.out.type.shape[-1], dot.a.type.shape[-1]
    _, columns = register_tile(unit, 1, n, k)

    def strip(wide: int, at: Linear) -> None:
        shape = Tile(unit, (), (Linear(), at), 1, wide)
        if dot.out in e.plan.in_place:
            _summed(e, loop, dot, home, shape, k)
        else:
            _scaled(e, loop, dot, home, shape, k)
        e.s.forget("tile")

    strips(e, e.extent(dot.out, 1), columns, unit.columns, strip)


def _body(e: Emission, loop: ins.For) -> None:
    for stmt in loop.body:
        if isinstance(stmt, (*LAZY, ins.View)):
            e.define(stmt.out, stmt)


def _operands(e: Emission, dot: ins.Dot, unit: Unit) -> tuple[Operand, Operand]:
    """The row in a panel where its loads are checked, the weights as they come."""
    checked = not flows(e, dot.a, replace(unit, b=((0, 0),)))
    return operands_of(e, dot, unit, (checked, False))


def _summed(e: Emission, loop: ins.For, dot: ins.Dot, home: Array, shape: Tile, k: int) -> None:
    """The accumulators run through all of k."""
    name = e.marks.tile(shape.rows, shape.columns)
    e.s.remark(f"LLVM-MCA-BEGIN {name}_ends")
    _body(e, loop)
    tile = begin(e, shape, 0, nibbles_of(e, dot, shape.unit))
    e.marks.end()
    with e.loop_over(loop.var, loop.start, loop.stop, loop.step, movable=False):
        _body(e, loop)
        a, b = _operands(e, dot, shape.unit)
        if is_short(tile, k):
            e.marks.begin(name, shape.columns * k, k)
        add(e, tile, a, b, k, name)
        if is_short(tile, k):
            e.marks.end()
        e.s.forget("tile")
    e.s.remark(f"LLVM-MCA-BEGIN {name}_ends")
    store(e, folded(e, tile, home), home)
    e.marks.end()


def _scaled(e: Emission, loop: ins.For, dot: ins.Dot, home: Array, shape: Tile, k: int) -> None:
    """A product of its own in each turn, its result at once added to what the loop carries."""
    (carried,) = loop.carried
    inner, yielded = carried.inner, carried.yielded
    assert isinstance(inner, Value)
    assert isinstance(yielded, Value)
    name = e.marks.tile(shape.rows, shape.columns)
    total = replace(whole(shape), regs={(0, n): e.s.vector() for n in range(0, shape.columns, 4)})
    total = replace(total, unit=replace(total.unit, c_format=home.form))
    load(e, total, home)
    with e.loop_over(loop.var, loop.start, loop.stop, loop.step, movable=False):
        _body(e, loop)
        a, b = _operands(e, dot, shape.unit)

        def finish(tile: Tile) -> None:
            _settle(e, dot.out, tile)
            _settle(e, inner, total)
            for (m, n), reg in total.regs.items():
                base = moved(total.origin, m, n)
                found = e.pull(yielded, At(base, total.unit.c))
                e.s.move(reg, found.regs[0])
            e.s.forget("tile")

        fill(e, shape, a, b, k, 0, finish, nibbles_of(e, dot, shape.unit), name)
        for value in (dot.out, inner):
            del e.homes[value]
    store(e, total, home)


def _settle(e: Emission, value: Value, tile: Tile) -> None:
    e.homes[value] = tile.in_registers()
    e.levels[value] = e.s.level
