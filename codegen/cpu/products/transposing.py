"""Columns of an operand as words: rows are zipped, or square blocks transposed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.nests import each
from dslc.codegen.cpu.places import Live
from dslc.codegen.cpu.products.units import Unit
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear
from dslc.compiler.ir.traverse import operands
from dslc.compiler.passes.cpu.weight_order import is_in_fours, together
from dslc.compiler.passes.pass_lists.cpu import COLUMNS
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.values import Operand

if TYPE_CHECKING:
    from dslc.codegen.cpu.emission import Emission
    from dslc.codegen.cpu.products.panels import Source

Put = Callable[[Linear, Operand], None]
_TOGETHER = 4  # of k that rows are brought of at once


def zipped(
    e: Emission,
    unit: Unit,
    source: Source,
    batch: tuple[Linear, ...],
    x: Linear,
    live: Live | None,
    k: int,
    put: Put,
) -> None:
    """Rows of neighbouring columns: those of a word are zipped."""
    rows_at_once = max(unit.depth, min(_TOGETHER, 1 << (k.bit_length() - 1)))
    whole = k // rows_at_once * rows_at_once

    def several(y: Linear, count: int) -> None:
        """`count` rows from y on."""
        if unit.depth > 1 and count % unit.depth == 0 and in_words(e, source.value):
            for step in range(count // unit.depth):
                here = y + Linear(constant=step * unit.depth)
                words = together_words(e, unit, source, batch, here, x, live)
                put(y.divide(Linear(constant=unit.depth)) + Linear(constant=step), words)
            return
        rows = _rows(e, unit, source, batch, x, y, count, live)
        zero = e.b.operand(0, VectorType(unit.b, unit.lanes))
        rows += [zero] * (-len(rows) % unit.depth)
        for step in range(len(rows) // unit.depth):
            words = interleaved(e, rows[step * unit.depth : (step + 1) * unit.depth])
            put(y.divide(Linear(constant=unit.depth)) + Linear(constant=step), words)

    each(e, ex.index(0), ex.index(whole), rows_at_once, lambda y: several(y, rows_at_once))
    if whole < k:
        several(Linear(constant=whole), k - whole)


def _rows(
    e: Emission,
    unit: Unit,
    source: Source,
    batch: tuple[Linear, ...],
    x: Linear,
    y: Linear,
    count: int,
    live: Live | None,
) -> list[Operand]:
    """So many rows of one register's columns, pulled at once."""
    zeros = (0,) * len(batch)
    found = []
    for first in range(count):
        lanes = tuple((*zeros, first, n) for n in range(unit.lanes))
        found.append(unit.of_b(e, source.pull(e, At((*batch, y, x), lanes, live))))
    return found


def together_words(
    e: Emission,
    unit: Unit,
    source: Source,
    batch: tuple[Linear, ...],
    y: Linear,
    x: Linear,
    live: Live | None,
) -> Operand:
    """Words of neighbouring columns as they lie in memory."""
    zeros = (0,) * len(batch)
    lanes = tuple((*zeros, k, n) for n in range(unit.lanes) for k in range(unit.depth))
    if live is not None:
        wide = e.b.shuffle(live.mask, [n for n in range(unit.lanes) for _ in range(unit.depth)])
        live = Live(wide, live.level)
    return unit.of_b(e, source.pull(e, At((*batch, y, x), lanes, live)))


def in_words(e: Emission, value: Value) -> bool:
    """Whether a tile is made, element by element, of codes ordered by `passes.cpu.weight_order`."""
    return columns_of_bytes(e, value) > 0


def columns_of_bytes(e: Emission, value: Value) -> int:
    """The neighbouring columns whose codes lie in the same bytes of such a tile; 0 of others."""
    stack = [value]
    while stack:
        x = stack.pop()
        if x in e.homes:
            continue
        stmt = e.lazy.get(x)
        if isinstance(stmt, ins.View):
            layout = stmt.out.type.layout
            if layout is None or not is_in_fours(layout, COLUMNS):
                return 0
            return COLUMNS * together(layout, COLUMNS)
        if isinstance(stmt, ins.ELEMENTWISE):
            stack += operands(stmt)
    return 0


def interleaved(e: Emission, rows: list[Operand]) -> Operand:
    """Lane by lane the elements of some rows, one after another."""
    while len(rows) > 1:
        half = len(rows) // 2
        rows = [_zip(e, x, y) for x, y in zip(rows[:half], rows[half:], strict=True)]
    return rows[0]


def _zip(e: Emission, x: Operand, y: Operand) -> Operand:
    lanes = vector_type(x).count
    return e.b.shuffle(x, [k for n in range(lanes) for k in (n, n + lanes)], y)


def transposed(
    e: Emission,
    unit: Unit,
    source: Source,
    batch: tuple[Linear, ...],
    x: Linear,
    live: Live | None,
    k: int,
    put: Put,
) -> None:
    """Columns of neighbouring words: square blocks of words are transposed."""
    side = unit.lanes
    depth = side * unit.depth
    zeros = (0,) * len(batch)
    whole = k // depth * depth

    def column(y: Linear, n: int, count: int) -> Operand:
        lanes = tuple((*zeros, t, n) for t in range(count))
        if live is not None and n >= _count(live):
            return e.b.operand(0, VectorType(unit.word, side))
        found = unit.of_b(e, source.pull(e, At((*batch, y, x), lanes)))
        if count < depth:
            zero = e.b.operand(0, VectorType(unit.b, depth - count))
            found = e.b.concat(found, zero)
        return unit.words(e, found, side)

    def block(y: Linear, count: int) -> None:
        rows = square(e, [column(y, n, count) for n in range(side)])
        for step in range(-(-count // unit.depth)):
            words = unit.elements(e, rows[step], unit.b)
            put(y.divide(Linear(constant=unit.depth)) + Linear(constant=step), words)

    each(e, ex.index(0), ex.index(whole), depth, lambda y: block(y, depth))
    at = whole
    while at < k:
        count = 1 << ((k - at).bit_length() - 1)
        if count < unit.depth:
            count = k - at
        if count > 1:
            block(Linear(constant=at), count)
        else:
            zipped_tail(e, unit, source, batch, x, live, at, put)
        at += count


def zipped_tail(
    e: Emission,
    unit: Unit,
    source: Source,
    batch: tuple[Linear, ...],
    x: Linear,
    live: Live | None,
    k: int,
    put: Put,
) -> None:
    """The last k, alone."""
    rows = _rows(e, unit, source, batch, x, Linear(constant=k), 1, live)
    zero = e.b.operand(0, VectorType(unit.b, unit.lanes))
    rows += [zero] * (unit.depth - 1)
    put(Linear(constant=k // unit.depth), interleaved(e, rows))


def _count(live: Live) -> int:
    from dslc.compiler.vector.values import Constant

    assert isinstance(live.mask, Constant)
    return sum(bool(v) for v in live.mask.values)


def square(e: Emission, rows: list[Operand]) -> list[Operand]:
    """A square of lanes transposed, in steps that exchange blocks of doubling size."""
    side = len(rows)
    size = 1
    while size < side:
        low = [k if not k & size else side + k - size for k in range(side)]
        high = [k + size if not k & size else side + k for k in range(side)]
        next_ = list(rows)
        for i in range(side):
            if not i & size:
                next_[i] = e.b.shuffle(rows[i], low, rows[i + size])
                next_[i + size] = e.b.shuffle(rows[i], high, rows[i + size])
        rows = next_
        size *= 2
    return rows
