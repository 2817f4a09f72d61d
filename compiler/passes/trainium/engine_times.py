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
from dslc.compiler.passes.trainium.placement import PARTITIONS, chunks, counts, placement_of
from dslc.compiler.passes.trainium.select_instructions import is_column, is_row_sum
from dslc.compiler.targets.nki import Engines

FEWEST = 64  # cycles of an instruction, and until its result is there
LATENCY = 1300.0  # of a transfer, ns
TABLES = ("exp", "exp2", "log", "log2", "tanh", "sigmoid", "erf", "abs")
"""Functions of the scalar engine's tables."""
AFFINE: tuple[list[str], ...] = ([], ["mul"], ["add"], ["sub"], ["mul", "add"], ["mul", "sub"])
"""Steps of columns that the scalar engine has as well, as scale and bias."""
FREE = (*VIEWS, ins.Full, ins.Undefined, ins.Let)
"""Statements that are no instruction: other names of elements, and numbers."""

_POWERS = ("rsqrt", "sqrt")
_COMPOSED = 8  # instructions of a function that no engine has, about


@dataclass(frozen=True, slots=True)
class Work:
    """Cycles of one of `engines`, whichever has less to do; `together` of all of them, by columns."""

    engines: tuple[str, ...]
    cycles: float
    together: bool = False


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
        case ins.Reduce():
            with_maker = isinstance(made.get(stmt.x), ins.Fused) and is_row_sum(stmt)
            return None if with_maker else Work(("vector",), one)
        case ins.Fused():
            return _fused(stmt, made, one, number * max(FEWEST, 2 * each))
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


def _fused(stmt: ins.Fused, made: Mapping[Value, Stmt], one: float, two: float) -> Work:
    """One pass of an engine; sums and products of two tiles are shared by columns."""
    steps = stmt.steps.split()
    if any(s not in ins.FUSED_OPS for s in steps):
        return Work(("scalar",), one)
    if not all(is_column(x, made) for x in stmt.xs[1:]):
        shared = steps in (["add"], ["mul"])
        return Work(("vector", "gpsimd") if shared else ("vector",), two, together=shared)
    return Work(("vector", "scalar") if steps in AFFINE else ("vector",), one)
