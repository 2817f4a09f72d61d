"""How long each engine of a NeuronCore is taken by a statement of a kernel without products.

The cycles are the documented ones: an engine works on one element of each partition in a cycle, two
tiles that both lie in SBUF take two, an instruction takes 64 at least, and its result is there as many
later. A transfer occupies the DMA engines for its bytes and rows; its queue makes the descriptors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from dslc.compiler.ir import Region, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import tile_of
from dslc.compiler.passes.trainium.capacity import VIEWS
from dslc.compiler.passes.trainium.lanes import AFFINE, ENGINES, Lane, block_axis, lanes
from dslc.compiler.passes.trainium.placement import PARTITIONS, chunks, counts, placement_of
from dslc.compiler.passes.trainium.select_instructions import is_column, is_row_sum
from dslc.compiler.targets.nki import Engines

FEWEST = 64  # cycles of an instruction, and until its result is there
LATENCY = 1300.0  # of a transfer, ns
TABLES = ("exp", "exp2", "log", "log2", "tanh", "sigmoid", "erf", "abs")
"""Functions of the scalar engine's tables."""
FREE = (*VIEWS, ins.Full, ins.Undefined, ins.Let)
"""Statements that are no instruction: other names of elements, and numbers."""

STATISTICS = 512
"""Elements of a partition whose mean and variance one instruction takes."""
_AGGREGATE = 26  # cycles for the statistics of one such instruction

_POWERS = ("rsqrt", "sqrt")
_COMPOSED = 8  # instructions of a function that no engine has, about


@dataclass(frozen=True, slots=True)
class Work:
    """Cycles of one of `engines`, whichever has less to do.

    With `lanes` these are dealt what takes one of them so many cycles.
    """

    engines: tuple[str, ...]
    cycles: float
    lanes: tuple[Lane, ...] = ()


@dataclass(frozen=True, slots=True)
class Transfer:
    """A transfer of `queue`: ns that the DMA engines are taken, and ns to make its descriptors."""

    queue: str
    busy: float
    issue: float


def transfer_of(engines: Engines, tile: Value, region: Region, queue: str) -> Transfer:
    """The transfer between a region and a tile."""
    place = None if tile.type.layout is None else placement_of(tile.type.layout)
    item = max(8, tile.type.dtype.bits) // 8
    size = float(prod(region.shape) * item)
    run = region.shape[-1] * item if region.shape else item
    if place is not None and place.axis == len(region.shape) - 1 and tile.type.rank > 1:
        run = item * place.run
    rows = size / run
    copies = PARTITIONS if place is not None and place.axis is None else 1
    number = 1 if place is None else chunks(place, tile.type.shape)
    return Transfer(
        queue, copies * (size / engines.dma + rows * engines.row), number * engines.issue
    )


def work_of(stmt: Stmt, made: Mapping[Value, Stmt]) -> Work | None:
    """What an instruction of a compute engine takes; None for what is none."""
    tile = stmt.x if isinstance(stmt, ins.Reduce) else tile_of(stmt)
    if tile is None or isinstance(stmt, (*FREE, ins.Load)):
        return None
    place = None if tile.type.layout is None else placement_of(tile.type.layout)
    each = prod(tile.type.shape) if place is None else counts(place, tile.type.shape)[1]
    number = 1 if place is None else chunks(place, tile.type.shape)
    one = number * max(FEWEST, each)
    match stmt:
        case ins.Reduce(op="mean" | "variance"):
            aggregated = max(FEWEST, _AGGREGATE * -(-each // STATISTICS))
            first = is_first_moment(stmt, made)
            return Work(("vector",), number * (max(FEWEST, each) + aggregated)) if first else None
        case ins.Reduce():
            return None if _comes_with(stmt, made) else Work(("vector",), one)
        case ins.Fused():
            return _fused(stmt, made, one)
        case ins.Cast():
            return Work(("vector", "scalar"), one)
        case ins.Unary(op=op):
            if op in _POWERS:
                return Work(("gpsimd",), 2 * one)
            return Work(("scalar",), one) if op in TABLES else Work(("vector",), one)
        case ins.Binary(op="pow"):
            return Work(("gpsimd",), 2 * one)
        case ins.Binary(op="div", y=y):
            if each > 1 and is_column(y, made):
                return Work(("vector",), number * FEWEST + one)
            return Work(("vector",), number * max(FEWEST, (8 + (each > 1)) * each))
        case ins.Binary(x=x, y=y):
            column = is_column(x, made) or is_column(y, made)
            return Work(("vector",), one if column else number * max(FEWEST, 2 * each))
        case ins.Where() | ins.Fma():
            return Work(("vector",), 2 * one)
        case ins.Arange():
            return Work(("gpsimd",), one)
    return Work(("vector",), _COMPOSED * one)


def negated(stmt: Stmt, made: Mapping[Value, Stmt]) -> Value | None:
    """The column that is taken off and made negative first, since the scalar engine adds alone."""
    if not isinstance(stmt, ins.Fused) or "sub" not in stmt.steps.split():
        return None
    column = stmt.xs[1 + stmt.steps.split().index("sub")]
    while isinstance(maker := made.get(column), ins.Broadcast):
        column = maker.x
    return None if isinstance(maker, ins.Full) else column


def _fused(stmt: ins.Fused, made: Mapping[Value, Stmt], one: float) -> Work:
    """One pass of an engine; what ends in operations on two tiles is dealt by columns."""
    steps = stmt.steps.split()
    columns = [is_column(x, made) for x in stmt.xs[1:]]
    if not all(columns):
        shape, layout = stmt.out.type.shape, stmt.out.type.layout
        axis = block_axis(None if layout is None else placement_of(layout), shape)
        pair = (stmt.xs[0], stmt.xs[1 + columns.index(False)])
        same = axis is not None and any(_is_same_along(x, axis, made) for x in pair)
        ways = lanes(steps, columns, psum=axis is not None, same=same)
        return Work(ENGINES, one, tuple(ways))
    if any(s not in ins.FUSED_OPS for s in steps):
        return Work(("scalar",), one)
    return Work(("vector", "scalar") if steps in AFFINE else ("vector",), one)


def _comes_with(stmt: ins.Reduce, made: Mapping[Value, Stmt]) -> bool:
    """Whether the scalar engine sums a row as it makes it."""
    maker = made.get(stmt.x)
    if not isinstance(maker, ins.Fused) or not is_row_sum(stmt):
        return False
    return all(is_column(x, made) for x in maker.xs[1:])


def _is_same_along(value: Value, axis: int, made: Mapping[Value, Stmt]) -> bool:
    """Whether a tile has the same elements for all indices of an axis."""
    maker = made.get(value)
    if not isinstance(maker, ins.Broadcast):
        return False
    before = axis - (value.type.rank - maker.x.type.rank)
    return before < 0 or maker.x.type.shape[before] == 1


def is_first_moment(stmt: ins.Reduce, made: Mapping[Value, Stmt]) -> bool:
    """Whether a mean or variance is the first one of its row: the other comes with it."""
    if stmt.op == "mean":
        return True
    others = (s for s in made.values() if isinstance(s, ins.Reduce) and s.op == "mean")
    return not any(s.x is stmt.x and s.axis == stmt.axis for s in others)
