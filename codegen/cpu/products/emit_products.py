"""Products: operands in panels, tiles of sums in registers, loops over k.

The second operand gets a panel unless one register tile has all rows: each of its words is read once
then, and comes straight from where it is. A product whose result only goes, element by element, into a
carried tile is finished there while it is still in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, Any, TypeAlias

from dslc.codegen.chunks.at import At, row
from dslc.codegen.chunks.nests import each, each_place
from dslc.codegen.cpu.places import Array, Live
from dslc.codegen.cpu.products import matrices
from dslc.codegen.cpu.products import register_tiles as tiles
from dslc.codegen.cpu.products.panels import Columns, Rows, Source, runs_along
from dslc.codegen.cpu.products.register_tiles import EDGE, Shape, Words
from dslc.codegen.cpu.products.transposing import (
    columns_of_bytes,
    in_words,
    interleaved,
    together_words,
)
from dslc.codegen.cpu.products.units import Unit, choose
from dslc.codegen.cpu.statements import keep, scratch_for
from dslc.codegen.cpu.transfer import store_lanes
from dslc.compiler.dtypes import BOOL, F32
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, constant, simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import cdiv, least, mul
from dslc.compiler.passes.cpu.weight_order import DEPTH
from dslc.compiler.vector.building import lanes_of
from dslc.compiler.vector.matrix_instructions import ROWS
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.values import Operand

if TYPE_CHECKING:
    from dslc.codegen.cpu.emission import Emission

Finish: TypeAlias = "Callable[[Shape, tuple[Linear, ...], Linear, Linear, Sequence[Operand]], None]"


@dataclass(frozen=True, slots=True)
class Job:
    """A product as it is done: its unit, its register tile, its operands; whether b has a panel."""

    dot: ins.Dot
    unit: Unit
    shape: Shape
    a: Source
    b: Source
    direct: bool
    matrices: bool = False  # by a unit of matrices

    @property
    def m(self) -> int:
        """Rows."""
        return self.dot.out.type.shape[-2]

    @property
    def n(self) -> int:
        """Columns."""
        return self.dot.out.type.shape[-1]

    @property
    def k(self) -> int:
        """Terms of a sum."""
        return self.dot.a.type.shape[-1]

    @property
    def steps(self) -> int:
        """Words along k."""
        return -(-self.k // self.unit.depth)

    def least(self, e: Emission) -> int:
        """The words along k of a loop's body, so that blocks of ordered weights begin with one."""
        ordered = self.direct and self.k % DEPTH == 0 and in_words(e, self.b.value)
        return max(1, DEPTH // self.unit.depth) if ordered else 1


def job_of(e: Emission, i: ins.Dot, *, twice: bool = False) -> Job:
    """How a product is done; with `twice` each sum stands beside another one."""
    chosen = choose(i, e.machine, e.lazy)
    unit, rank = chosen.unit, i.out.type.rank
    *_, m, n = i.out.type.shape
    shape = tiles.shape_for(e.machine, unit, m, n, twice=twice)
    b = Source(chosen.b, i.scale_b, rank - 2, widened=unit.b == F32)
    direct = m <= shape.rows and not runs_along(e, chosen.b, rank - 2)
    return Job(i, unit, shape, Source(i.a, i.scale_a, rank - 1), b, direct)


def job_of_matrices(e: Emission, i: ins.Dot) -> Job | None:
    """The same by a unit of matrices, if the machine has one that fits."""
    unit = matrices.unit_for(e, i)
    if unit is None:
        return None
    shape = matrices.shape_for(*i.out.type.shape)
    return Job(i, unit, shape, Source(i.a, None, 1), Source(i.b, None, 0), False, matrices=True)


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
    job = job_of(e, i)

    def finish(
        shape: Shape, batch: tuple[Linear, ...], y: Linear, x: Linear, sums: Sequence[Operand]
    ) -> None:
        for (r, c), value in zip(shape.places, sums, strict=True):
            store_lanes(e, array, chunk_of(job, batch, y, x, r, c), value)

    start = array if i.acc is not None else None
    products(e, job, start, finish)
    e.forget()
    e.settle(i.out, array)


def drive(e: Emission, i: ins.Dot, value: Value, array: Array) -> None:
    """The tile `value`, made of the product element by element, to memory, tile by tile."""
    start: Array | None = None
    if i.acc is not None:
        home = e.homes.get(i.acc)
        start = home if isinstance(home, Array) else keep(e, i.acc)
    job = job_of(e, i)

    def finish(
        shape: Shape, batch: tuple[Linear, ...], y: Linear, x: Linear, sums: Sequence[Operand]
    ) -> None:
        e.settle(i.out, tiles.in_registers(job.unit, shape, batch, y, x, sums))
        for r, c in shape.places:
            at = chunk_of(job, batch, y, x, r, c)
            store_lanes(e, array, at, e.pull(value, at))
        del e.homes[i.out]
        e.forget()

    products(e, job, start, finish)


def chunk_of(job: Job, batch: tuple[Linear, ...], y: Linear, x: Linear, r: int, c: int) -> At:
    """The place of a register of sums; columns past the last one do not count."""
    lanes = job.unit.lanes
    column = x + Linear(constant=c * lanes)
    live = None
    if column.is_constant and column.constant + lanes > job.n:
        left = job.n - column.constant
        live = Live(lanes_of([k < left for k in range(lanes)], BOOL), 0)
    return row((*batch, y + Linear(constant=r), column), lanes, live)


def products(e: Emission, job: Job, start: Array | None, finish: Finish) -> None:
    """All register tiles of a product, each begun from `start` or 0, handed to `finish`."""
    *outer, _, _ = job.dot.out.type.shape
    rank = job.dot.out.type.rank
    height, width = (e.extent(job.dot.out, rank - k) for k in (2, 1))
    a = Rows.of(e, job.unit, job.m, job.k)
    b = None
    if not job.direct:
        b = Columns.of(e, job.unit, job.n, job.k, job.shape.count)

    def of_batch(batch: tuple[Linear, ...]) -> None:
        a.fill(e, job.a, batch, height, lambda fill: fill(Linear()))
        if b is not None:
            b.fill(e, job.b, batch, width, Linear())
        e.forget()

        def tile(shape: Shape, y: Linear, block: Linear, x: Linear) -> None:
            words = words_of(e, job, b, batch, block, x, Linear())
            sums = tiles.begin(e, job.unit, shape, a, y, Linear())
            if start is not None:
                sums = added(e, job, shape, sums, batch, start, y, x)
            found = tiles.multiply(
                e,
                job.unit,
                shape,
                sums,
                a,
                y,
                Linear(),
                words,
                ex.index(job.steps),
                panel=not job.direct,
                least=job.least(e),
            )
            finish(shape, batch, y, x, found)

        every_tile(e, job, height, width, tile)

    each_place(e, tuple(outer), of_batch)


def added(
    e: Emission,
    job: Job,
    shape: Shape,
    sums: Sequence[Operand],
    batch: tuple[Linear, ...],
    start: Array,
    y: Linear,
    x: Linear,
) -> list[Operand]:
    """Sums on top of those in memory."""
    found = []
    for (r, c), value in zip(shape.places, sums, strict=True):
        before = e.load_lanes(start, chunk_of(job, batch, y, x, r, c))
        found.append(e.b.add(before, value) if job.unit.less else before)
    return found


def every_tile(
    e: Emission,
    job: Job,
    height: ex.Expr,
    width: ex.Expr,
    body: Callable[[Shape, Linear, Linear, Linear], None],
) -> None:
    """`body` for each register tile: its shape, row, block of columns and column."""
    by = job.shape.count * job.unit.lanes
    whole, left = divmod(job.n, by)
    tail = gcd(job.m, job.shape.rows, EDGE)  # so that none reaches past the last row
    if job.matrices:  # rows of whole tiles, all of which panels and sums have
        tail = ROWS
        height = simplify(mul(cdiv(height, ROWS), ROWS))

    def down(count: int, block: Linear) -> None:
        def one(rows: int, y: Linear) -> None:
            body(Shape(rows, count), y, block, block.scale(by))

        tiles.strips(e, height, job.shape.rows, tail, one)

    # Columns whose codes share bytes are done one after another, so that each has a place it knows.
    side = 1
    if job.direct and (shared := columns_of_bytes(e, job.b.value)) > by and shared % by == 0:
        side = shared // by

    def blocks(first: Linear) -> None:
        for number in range(side):
            down(job.shape.count, first.scale(side) + Linear(constant=number))

    end: ex.Expr = ex.index(whole // side)
    if constant(width) is None:
        end = simplify(least(whole // side, cdiv(width, by * side)))
    each(e, ex.index(0), end, 1, blocks, movable=False)
    for number in range(whole // side * side, whole):
        down(job.shape.count, Linear(constant=number))
    if left:
        down(-(-left // job.unit.lanes), Linear(constant=whole))


def words_of(
    e: Emission,
    job: Job,
    b: Columns | None,
    batch: tuple[Linear, ...],
    block: Linear,
    x: Linear,
    first: Linear,
) -> Words:
    """The registers of b: from its panel, `first` words on, or straight from the tile."""
    if b is not None:
        return tiles.panel_words(e, b, block, first)
    unit, zeros = job.unit, (0,) * len(batch)

    def word(at: Linear, number: int) -> Operand:
        column = x + Linear(constant=number * unit.lanes)
        live = None
        if column.is_constant and column.constant + unit.lanes > job.n:
            left = job.n - column.constant
            live = Live(lanes_of([k < left for k in range(unit.lanes)], BOOL), 0)
        if unit.depth > 1 and job.k % unit.depth == 0 and in_words(e, job.b.value):
            return together_words(e, unit, job.b, batch, at.scale(unit.depth), column, live)
        rows = []
        for kk in range(unit.depth):
            here = at.scale(unit.depth) + Linear(constant=kk)
            if here.is_constant and here.constant >= job.k:
                rows.append(e.b.operand(0, VectorType(unit.b, unit.lanes)))
                continue
            lanes = tuple((*zeros, 0, n) for n in range(unit.lanes))
            rows.append(unit.of_b(e, job.b.pull(e, At((*batch, here, column), lanes, live))))
        return interleaved(e, rows)

    return word


STATEMENTS: dict[type, Any] = {ins.Dot: dot}
