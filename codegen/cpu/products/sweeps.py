"""Loops of products, register tile by register tile: what the loop carries stays in registers.

    for k: acc = acc + f(a[k] b[k])     ->     for each block of iterations:
                                                   the block's operands into panels
                                                   for each register tile of acc:
                                                       for k in the block: acc = acc + f(a[k] b[k])

The loops may be exchanged where the loop's body is one product, what it is made of, and the sum that
the loop carries, element by element: nothing in it writes to memory. A block has as many iterations as
the caches hold panels of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from dslc.codegen.chunks.nests import each
from dslc.codegen.chunks.summing import Swept, sum_of
from dslc.codegen.cpu.places import Array
from dslc.codegen.cpu.products import matrices
from dslc.codegen.cpu.products import register_tiles as tiles
from dslc.codegen.cpu.products.emit_products import (
    Job,
    chunk_of,
    every_tile,
    job_of,
    job_of_matrices,
    words_of,
)
from dslc.codegen.cpu.products.panels import Columns, Rows, ahead_of
from dslc.codegen.cpu.products.register_tiles import Shape
from dslc.codegen.cpu.transfer import element, store_lanes
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, constant, simplify, to_expr
from dslc.compiler.ir.arithmetic.index_arithmetic import cdiv, least, mul, sub
from dslc.compiler.vector.types import VectorType, memory_bytes
from dslc.compiler.vector.values import Operand

if TYPE_CHECKING:
    from dslc.codegen.cpu.emission import Emission

Rowwise: TypeAlias = "Callable[[Callable[[Array], None]], None]"

_AHEAD = 1
"""Iterations between a prefetch and the load.

Tiles of packed weights lie apart, so that the CPU's own prefetching begins anew at each.
"""
_DEEPEST = 1 << 16
"""Elements of k after which sums of bytes are still below 2^31: 255 * 128 * 2^16 is."""


@dataclass(frozen=True, slots=True)
class Sweep(Swept):
    """A loop of this kind, its product, and the iterations of a block."""

    job: Job
    driven: bool
    iterations: int


def sweep_of(e: Emission, loop: ins.For, *, shared: bool = False) -> Sweep | None:
    """What a loop is, if it is of this kind."""
    dot = sum_of(e, loop)
    if dot is None:
        return None
    driven = dot.out in e.plan.driven
    job = job_of_matrices(e, dot) or job_of(e, dot, twice=driven)
    trips = simplify(cdiv(sub(loop.stop, loop.start), loop.step))
    return Sweep(loop, job, driven, _iterations(e, job, trips, shared=shared))


def _iterations(e: Emission, job: Job, trips: ex.Expr, *, shared: bool) -> int:
    """The iterations of a block: a power of two, or all.

    A block of columns fits the first cache, both panels half of the second one.
    """
    of_a, of_b = (memory_bytes(VectorType(x)) * job.k for x in (job.unit.a, job.unit.b))
    near = job.shape.count * job.unit.lanes * of_b
    far = job.m * of_a + (0 if job.direct or shared else job.n * of_b)
    most = max(1, min(e.machine.l2 // 2 // max(far, 1), _DEEPEST // job.k))
    if not job.direct:
        most = max(1, min(most, e.machine.l1 * 3 // 4 // max(near, 1)))
    known = constant(trips)
    if known is not None and known <= most:
        return max(1, int(known))
    return 1 << (most.bit_length() - 1)


def run(e: Emission, sweep: Sweep, of_rows: Rowwise) -> None:
    """The loop, block by block.

    `of_rows` calls what it is given where its carried tile lies before and after; once, or in a loop
    over blocks of rows that share the second operand.
    """
    job, iterations, trips = sweep.job, sweep.iterations, sweep.trips
    known = constant(trips)
    whole = known is not None and known % iterations == 0
    rows = Rows.of(e, job.unit, job.m, job.k, iterations)
    columns = None
    if not job.direct:
        count = job.shape.count
        columns = Columns.of(e, job.unit, job.n, job.k, count, iterations)

    def block(number: Linear) -> None:
        first = number.scale(iterations)
        count = least(iterations, sub(trips, to_expr(first)))
        some = ex.index(iterations) if whole else simplify(count)
        _block(e, sweep, of_rows, rows, columns, first, some)

    if job.matrices:
        matrices.configure(e, job.unit, job.k)
    each(e, ex.index(0), simplify(cdiv(trips, iterations)), 1, block, movable=False)
    if job.matrices:
        matrices.release(e)


def _block(
    e: Emission,
    sweep: Sweep,
    of_rows: Rowwise,
    rows: Rows,
    columns: Columns | None,
    first: Linear,
    count: ex.Expr,
) -> None:
    """A block of iterations from the one of number `first` on."""
    job = sweep.job

    def fill_columns(iteration: Linear) -> None:
        assert columns is not None
        sweep.begin_iteration(e, first + iteration)
        columns.fill(e, job.b, (), e.extent(job.dot.out, 1), iteration)

    if columns is not None:
        each(e, ex.index(0), count, 1, fill_columns, movable=False)
        e.forget()

    def multiplied(home: Array) -> None:
        height, width = e.extent(job.dot.out, 0), e.extent(job.dot.out, 1)

        def iterations(fill: Callable[[Linear], None]) -> None:
            def one(iteration: Linear) -> None:
                sweep.begin_iteration(e, first + iteration)
                fill(iteration)

            each(e, ex.index(0), count, 1, one, movable=False)

        rows.fill(e, job.a, (), height, iterations, together=not sweep.driven)
        e.forget()
        room = None
        if job.matrices and sweep.driven:
            room = e.array(job.unit.sums, (job.shape.rows, job.shape.count * job.unit.lanes))

        def tile(shape: Shape, y: Linear, number: Linear, x: Linear) -> None:
            if columns is not None and job.matrices:
                given = (e, sweep, home, rows, columns)
                if room is None:
                    _summed_by_tiles(*given, count, shape, y, number, x)
                else:
                    _scaled_by_tiles(*given, room, first, count, shape, y, number, x)
            else:
                one = _scaled if sweep.driven else _summed
                one(e, sweep, home, rows, columns, first, count, shape, y, number, x)
            e.forget()

        every_tile(e, job, height, width, tile)

    of_rows(multiplied)


def _summed(
    e: Emission,
    sweep: Sweep,
    home: Array,
    rows: Rows,
    columns: Columns | None,
    first: Linear,
    count: ex.Expr,
    shape: Shape,
    y: Linear,
    number: Linear,
    x: Linear,
) -> None:
    """The sums run through all iterations of the block."""
    job, unit = sweep.job, sweep.job.unit
    sums: Sequence[Operand] = tiles.load(e, unit, shape, home, y, x)
    if unit.less:
        more = tiles.begin(e, unit, shape, rows, y, Linear())
        sums = [e.b.add(s, m) for s, m in zip(sums, more, strict=True)]
    if columns is not None:
        words = words_of(e, job, columns, (), number, x, Linear())
        steps = simplify(mul(count, job.steps))
        sums = tiles.multiply(
            e, unit, shape, sums, rows, y, Linear(), words, steps, panel=True, multiple=job.steps
        )
    else:
        with e.loop("t", ex.index(0), count, 1, sums, movable=False) as (at, loop):
            sweep.begin_iteration(e, first + at)
            words = words_of(e, job, None, (), number, x, Linear())
            here = at.scale(rows.padded)
            e.ahead = ahead_of(at, _AHEAD)
            loop.yields = tuple(
                tiles.multiply(
                    e,
                    unit,
                    shape,
                    loop.carried,
                    rows,
                    y,
                    here,
                    words,
                    ex.index(job.steps),
                    panel=False,
                    least=job.least(e),
                )
            )
            e.ahead = None
        sums = loop.results
    tiles.store(e, unit, shape, home, y, x, sums)


def _scaled(
    e: Emission,
    sweep: Sweep,
    home: Array,
    rows: Rows,
    columns: Columns | None,
    first: Linear,
    count: ex.Expr,
    shape: Shape,
    y: Linear,
    number: Linear,
    x: Linear,
) -> None:
    """A product of its own in each iteration, its result at once added to what the loop carries."""
    job, unit = sweep.job, sweep.job.unit
    (carried,) = sweep.loop.carried
    inner, yielded = carried.inner, carried.yielded
    assert isinstance(inner, Value)
    assert isinstance(yielded, Value)
    totals = tiles.load(e, unit, shape, home, y, x)
    with e.loop("t", ex.index(0), count, 1, totals, movable=False) as (at, loop):
        sweep.begin_iteration(e, first + at)
        words = words_of(e, job, columns, (), number, x, at.scale(job.steps))
        start = tiles.begin(e, unit, shape, rows, y, at)
        here = at.scale(rows.padded)
        e.ahead = ahead_of(at, _AHEAD) if columns is None else None
        sums = tiles.multiply(
            e,
            unit,
            shape,
            start,
            rows,
            y,
            here,
            words,
            ex.index(job.steps),
            panel=not job.direct,
            least=job.least(e),
        )
        e.ahead = None
        for value, held in ((job.dot.out, sums), (inner, loop.carried)):
            e.settle(value, tiles.in_registers(unit, shape, (), y, x, held))
        loop.yields = tuple(e.pull(yielded, chunk_of(job, (), y, x, r, c)) for r, c in shape.places)
        for value in (job.dot.out, inner):
            del e.homes[value]
        e.forget()
    tiles.store(e, unit, shape, home, y, x, loop.results)


def _summed_by_tiles(
    e: Emission,
    sweep: Sweep,
    home: Array,
    rows: Rows,
    columns: Columns,
    count: ex.Expr,
    shape: Shape,
    y: Linear,
    number: Linear,
    x: Linear,
) -> None:
    """As `_summed`, by a unit of matrices."""
    steps = simplify(mul(count, sweep.job.steps))
    matrices.load(e, shape, home, y, x)
    matrices.multiply(e, shape, rows, columns, y, Linear(), number, Linear(), steps)
    matrices.store(e, shape, home, y, x)


def _scaled_by_tiles(
    e: Emission,
    sweep: Sweep,
    home: Array,
    rows: Rows,
    columns: Columns,
    room: Array,
    first: Linear,
    count: ex.Expr,
    shape: Shape,
    y: Linear,
    number: Linear,
    x: Linear,
) -> None:
    """As `_scaled`: sums go through `room` to what is computed of them, a row at a time."""
    job, unit = sweep.job, sweep.job.unit
    (carried,) = sweep.loop.carried
    inner, yielded = carried.inner, carried.yielded
    assert isinstance(inner, Value)
    assert isinstance(yielded, Value)
    # The place of the tile's element 0, 0, as if there were all rows and columns.
    back = e.sum(element(room, (y, x)).scale(-room.size))
    whole = replace(room, pointer=e.b.advance(room.pointer, back), level=e.level)
    with e.loop("t", ex.index(0), count, 1, movable=False) as (at, _):
        sweep.begin_iteration(e, first + at)
        matrices.begin(e, shape)
        here = at.scale(rows.padded)
        words = at.scale(job.steps)
        steps = ex.index(job.steps)
        matrices.multiply(e, shape, rows, columns, y, here, number, words, steps)
        matrices.store(e, shape, room, Linear(), Linear())
        e.settle(job.dot.out, whole)
        e.settle(inner, home)
        with e.loop("r", ex.index(0), ex.index(shape.rows), 1) as (r, _):
            for c in range(shape.count):
                place = tiles.chunk_at(unit, y + r, x, 0, c)
                store_lanes(e, home, place, e.pull(yielded, place))
        for value in (job.dot.out, inner):
            del e.homes[value]
        e.forget()
