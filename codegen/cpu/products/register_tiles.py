"""Tiles of sums in registers: the loop over k carries them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, TypeAlias

from dslc.codegen.chunks.at import At, row
from dslc.codegen.chunks.nests import each
from dslc.codegen.cpu.places import Array, InRegisters
from dslc.codegen.cpu.products.panels import Columns, Rows
from dslc.codegen.cpu.products.units import Unit
from dslc.codegen.cpu.transfer import load_lanes, store_lanes
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import Linear, constant, simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import add, cdiv, div, mul, sub
from dslc.compiler.targets.cpu import Processor
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.values import Operand

if TYPE_CHECKING:
    from dslc.codegen.cpu.emission import Emission

EDGE = 4
"""Rows of the tiles behind the last whole one, where their number is known at run time only."""
_BODY = 64  # multiply-adds of a loop's body
_DIRECT = 16  # and of one that makes its words itself

Words: TypeAlias = "Callable[[Linear, int], Operand]"
"""A register of b: the word along k, and the number of the register in the tile."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Rows, and registers of columns."""

    rows: int
    count: int

    @property
    def places(self) -> list[tuple[int, int]]:
        """Row and register of each vector of sums."""
        return [(r, c) for r in range(self.rows) for c in range(self.count)]


def shape_for(machine: Processor, unit: Unit, m: int, n: int, *, twice: bool = False) -> Shape:
    """The tile with the fewest loads an operation whose sums fit the registers (`twice`: two of each).

    Beside the sums stand a row of b, a word of a, and one register of room.
    """
    across = -(-n // unit.lanes)
    best = Shape(1, 1)
    least = float("inf")
    # What makes words of packed weights needs registers too, for scales and zero points.
    widest = 8 if unit.depth > 1 else 4
    for count in range(1, min(across, widest) + 1):
        most = (machine.registers - count - 2) // (count * (1 + twice))
        rows = max(1, min(m, most))
        if rows < m:
            # Tiles of equal rows; what is left comes in tiles that divide them.
            rows = min(rows, -(-m // -(-m // rows)))
            part = EDGE if rows > EDGE else 2
            rows = (
                -(-rows // part) * part
                if -(-rows // part) * part <= most
                else max(1, rows // part * part)
            )
        blocks = -(-across // count)
        steps = blocks * _rows_cost(m, rows, count)
        if steps < least:
            best, least = Shape(rows, count), steps
    return best


def _rows_cost(m: int, rows: int, count: int) -> float:
    """What a word along k of a block of columns costs for all rows, in multiply-adds."""
    whole, left = divmod(m, rows)
    cost = whole * _cost(rows, count)
    tail = min(EDGE, rows)
    return cost + -(-left // tail) * _cost(tail, count)


def _cost(rows: int, count: int) -> float:
    """Two multiply-adds and two loads a cycle; few sums wait for each other."""
    return max(rows * count, rows + count, 8) + 0.25 * count


def strips(
    e: Emission, end: ex.Expr, size: int, edge: int, body: Callable[[int, Linear], None]
) -> None:
    """Strips of `size` as long as whole ones fit before `end`, then ones of `edge` up to it."""
    stop = simplify(mul(div(end, size), size))
    each(e, ex.index(0), stop, size, lambda at: body(size, at), movable=False)
    known = constant(end), constant(stop)
    if known[0] is not None:
        left = int(known[0]) - int(known[1] or 0)
        if left:
            body(left, Linear(constant=int(known[1] or 0)))
        return
    tail = min(edge, size)
    if size == 1:
        return
    last = simplify(add(stop, mul(cdiv(sub(end, stop), tail), tail)))
    each(e, stop, last, tail, lambda at: body(tail, at), movable=False)


def multiply(
    e: Emission,
    unit: Unit,
    shape: Shape,
    start: Sequence[Operand],
    a: Rows,
    y: Linear,
    x: Linear,
    words: Words,
    steps: ex.Expr,
    *,
    panel: bool,
    multiple: int = 1,
    least: int = 1,
) -> Sequence[Operand]:
    """Sums plus the products of `steps` words, a `multiple`, from element x of rows from y on.

    Words of b come from a `panel`, or are made here; then `least` words begin where one knows how the
    elements of b lie.
    """
    depth = unit.depth
    places = shape.places
    known = constant(steps)
    together, body = least, _BODY if panel else _DIRECT
    while together * 2 * len(places) <= body and (known is None or together * 2 <= int(known)):
        together *= 2
    if known is None:
        together = gcd(together, multiple)

    def step(sums: Sequence[Operand], at: Linear, count: int) -> Sequence[Operand]:
        """The sums after `count` words."""
        out = list(sums)
        for first in range(0, count, unit.words_at_once):
            parts: list[Operand | None] = [None] * len(out)
            for k in range(first, min(count, first + unit.words_at_once)):
                here = at + Linear(constant=k)
                bs = [words(here, c) for c in range(shape.count)]
                for r in range(shape.rows):
                    word = a.word(e, y + Linear(constant=r), x + here.scale(depth))
                    for c in range(shape.count):
                        number = r * shape.count + c
                        if unit.narrow:
                            parts[number] = unit.part(e, parts[number], word, bs[c])
                        else:
                            out[number] = unit.step(e, out[number], word, bs[c])
            for number, part in enumerate(parts):
                if part is not None:
                    out[number] = unit.widened(e, out[number], part)
        return out

    def loop(sums: Sequence[Operand], first: ex.Expr, stop: ex.Expr, by: int) -> Sequence[Operand]:
        with e.loop("k", first, stop, by, sums) as (at, made):
            made.yields = tuple(step(made.carried, at, by))
        return made.results

    sums: Sequence[Operand] = start
    if known is not None:
        whole = int(known) // together * together
        if whole == together:
            sums = step(sums, Linear(), whole)
        elif whole:
            sums = loop(sums, ex.index(0), ex.index(whole), together)
        return step(sums, Linear(constant=whole), int(known) - whole)
    return loop(sums, ex.index(0), steps, together)


def panel_words(e: Emission, b: Columns, block: Linear, first: Linear) -> Words:
    """The registers of a block of columns, from a word along k on."""
    return lambda at, number: b.register(e, block, first + at, number)


def begin(
    e: Emission, unit: Unit, shape: Shape, a: Rows, y: Linear, iteration: Linear
) -> list[Operand]:
    """Sums of no products: 0, or what makes up for b's elements being moved."""
    zero = e.b.operand(0, VectorType(unit.sums, unit.lanes))
    if not unit.less or a.sums is None:
        return [zero] * len(shape.places)
    found: list[Operand] = []
    for r in range(shape.rows):
        total = load_lanes(e, a.sums, row((iteration, y + Linear(constant=r)), 1))
        first = e.b.broadcast(e.b.mul(total, unit.less), unit.lanes)
        found += [first] * shape.count
    return found


def chunk_at(unit: Unit, y: Linear, x: Linear, r: int, c: int) -> At:
    """The sums of one register."""
    return row((y + Linear(constant=r), x + Linear(constant=c * unit.lanes)), unit.lanes)


def load(
    e: Emission, unit: Unit, shape: Shape, array: Array, y: Linear, x: Linear
) -> list[Operand]:
    """Sums from memory."""
    return [load_lanes(e, array, chunk_at(unit, y, x, r, c)) for r, c in shape.places]


def store(
    e: Emission,
    unit: Unit,
    shape: Shape,
    array: Array,
    y: Linear,
    x: Linear,
    sums: Sequence[Operand],
) -> None:
    """Sums to memory."""
    for (r, c), value in zip(shape.places, sums, strict=True):
        store_lanes(e, array, chunk_at(unit, y, x, r, c), value)


def in_registers(
    unit: Unit,
    shape: Shape,
    batch: tuple[Linear, ...],
    y: Linear,
    x: Linear,
    sums: Sequence[Operand],
) -> InRegisters:
    """Each register as a chunk of the product's tile."""
    zeros = (0,) * len(batch)
    chunks = {}
    for (r, c), value in zip(shape.places, sums, strict=True):
        lanes = tuple((*zeros, r, c * unit.lanes + k) for k in range(unit.lanes))
        chunks[lanes] = value
    return InRegisters((*batch, y, x), chunks)
