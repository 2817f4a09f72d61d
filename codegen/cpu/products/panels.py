"""Operands of products in panels: words in the order in which a register tile reads them.

The first operand lies row by row, padded to whole words; rows are a cache line more than their length
apart, so that they do not meet in one set of the cache. The second one lies in blocks of as many
columns as a register tile has, and in a block k after k:

    block 0:  [k 0: columns 0 .. 31] [k 1: columns 0 .. 31] ...     a word a column
    block 1:  [k 0: columns 32 .. 63] ...
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from dslc.codegen.chunks.at import At, row
from dslc.codegen.chunks.nests import each, lanes_for
from dslc.codegen.cpu.nests import chunks
from dslc.codegen.cpu.places import Array, Live
from dslc.codegen.cpu.products.transposing import transposed, zipped
from dslc.codegen.cpu.products.units import Unit
from dslc.codegen.cpu.transfer import address, load_lanes, store_lanes
from dslc.compiler.dtypes import BF16, BOOL, F32, I32, U32
from dslc.compiler.dtypes.dtype import MX_BLOCK
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, constant, simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import cdiv
from dslc.compiler.vector.building import lanes_of
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.types import VectorType, memory_bytes
from dslc.compiler.vector.values import Operand

if TYPE_CHECKING:
    from dslc.codegen.cpu.emission import Emission

_LINE = 64
_MOST = 64  # lanes of a chunk of the first operand
_ROWS_AHEAD = 2
"""Rows between a prefetch and the load: rows of a panel lie apart in memory, often a page or more."""


@dataclass(frozen=True, slots=True)
class Source:
    """An operand of one product: its tile, and the scales of its blocks along k, the axis `along`.

    A tile of bf16 that is to be f32 (`widened`) is rounded where it is computed, as f32.
    """

    value: Value
    scale: Value | None
    along: int
    widened: bool = False

    def pull(self, e: Emission, at: At) -> Operand:
        """A chunk times its scales. Lanes begin at a multiple of their number, a power of two."""
        found = self._pull(e, at)
        if self.scale is None:
            return found
        k, by = self.along, Linear(constant=MX_BLOCK)
        block = at.base[k].divide(by)
        inner = at.base[k] + block.scale(-MX_BLOCK)
        within = inner.constant if inner.is_constant else 0
        lanes = tuple(
            (*x[:k], (within + x[k]) // MX_BLOCK if inner.is_constant else 0, *x[k + 1 :])
            for x in at.lanes
        )
        scale = e.spread(self.scale, At((*at.base[:k], block, *at.base[k + 1 :]), lanes, at.live))
        return e.b.mul(e.b.convert(found, F32), e.b.convert(scale, F32))

    def _pull(self, e: Emission, at: At) -> Operand:
        before, e.terms = e.terms, True
        found = self._pulled(e, at)
        e.terms = before
        return found

    def _pulled(self, e: Emission, at: At) -> Operand:
        stmt = None if self.value in e.homes else e.lazy.get(self.value)
        if not self.widened or not isinstance(stmt, ins.Cast):
            return e.pull(self.value, at)
        if stmt.out.type.dtype != BF16 or stmt.x.type.dtype != F32:
            return e.pull(self.value, at)
        return rounded_to_bf16(e, e.pull(stmt.x, at))


def rounded_to_bf16(e: Emission, x: Operand) -> Operand:
    """f32 rounded to the numbers of bf16, to nearest even: half of what two conversions cost."""
    b, type_ = e.b, vector_type(x)
    bits = b.bitcast(x, type_.of(U32))
    odd = b.binary("and", b.binary("rshift", bits, 16), 1)
    up = b.add(b.add(bits, 0x7FFF), odd)
    near = b.bitcast(b.binary("and", up, 0xFFFF0000), type_)
    return b.select(b.binary("eq", x, x), near, x)


@dataclass(frozen=True, slots=True)
class Rows:
    """The first operand's panel: rows of words, and the sums of rows where products need them.

    It holds the k of several iterations of a loop, each of `depth` elements.
    """

    unit: Unit
    array: Array
    sums: Array | None  # [iteration, row]
    k: int
    padded: int  # k in whole words

    @staticmethod
    def of(e: Emission, unit: Unit, rows: int, k: int, iterations: int = 1) -> Rows:
        """Scratch memory for a panel."""
        padded = -(-k // unit.depth) * unit.depth
        line = _LINE // memory_bytes(VectorType(unit.a))
        length = -(-padded * iterations // line) * line
        pad = line + _MOST
        array = e.array(unit.a, (rows, length + pad))
        sums = e.array(I32, (iterations, rows)) if unit.less else None
        return Rows(unit, array, sums, k, padded)

    def fill(
        self,
        e: Emission,
        source: Source,
        batch: tuple[Linear, ...],
        height: ex.Expr,
        iterations: Callable[[Callable[[Linear], None]], None],
        *,
        together: bool = False,
    ) -> None:
        """The rows that matter, each through some iterations, so that memory is read as it lies.

        With `together` one sum of a row counts all iterations.
        """
        unit = self.unit
        lanes = lanes_for(self.k, _MOST)

        def one(y: Linear, iteration: Linear) -> None:
            start = iteration.scale(self.padded)

            def chunk(x: Linear, n: int, live: Live | None) -> None:
                found = source.pull(e, row((*batch, y, x), n, live))
                found = unit.of_a(e, found)
                if live is not None:
                    zero = e.b.operand(0, vector_type(found))
                    found = e.b.select(live.mask, found, zero)
                store_lanes(e, self.array, row((y, start + x), n), found)

            chunks(e, self.k, lanes, chunk)
            for more in range(self.k, self.padded):
                at = row((y, start + Linear(constant=more)), 1)
                store_lanes(e, self.array, at, e.b.operand(0, VectorType(unit.a)))
            if self.sums is not None:
                self._add_up(e, y, iteration, together=together)

        def of_row(y: Linear) -> None:
            e.ahead = ahead_of(y, _ROWS_AHEAD)
            iterations(partial(one, y))
            e.ahead = None

        each(e, ex.index(0), height, 1, of_row)

    def _add_up(self, e: Emission, y: Linear, iteration: Linear, *, together: bool) -> None:
        assert self.sums is not None
        total = self._sum(e, y, iteration.scale(self.padded))
        place = row((Linear() if together else iteration, y), 1)
        if together and iteration != Linear():
            later = e.b.binary("gt", e.sum(iteration), 0)
            total = e.b.add(total, load_lanes(e, self.sums, place, later))
        store_lanes(e, self.sums, place, total)

    def _sum(self, e: Emission, y: Linear, start: Linear) -> Operand:
        """The sum of a row of bytes."""
        lanes = lanes_for(self.padded, _MOST)
        whole = self.padded // lanes * lanes
        acc: Operand = e.b.operand(0, VectorType(I32, lanes))

        def added(acc: Operand, x: Linear, n: int, live: Live | None) -> Operand:
            at = row((y, start + x), n, live)
            return e.b.add(acc, e.b.convert(load_lanes(e, self.array, at), I32))

        if whole == lanes:
            acc = added(acc, Linear(), lanes, None)
        else:
            with e.loop("k", ex.index(0), ex.index(whole), lanes, [acc]) as (x, loop):
                loop.yields = (added(loop.carried[0], x, lanes, None),)
            acc = loop.results[0]
        if whole < self.padded:
            live = Live(lanes_of([k < self.padded - whole for k in range(lanes)], BOOL), 0)
            acc = added(acc, Linear(constant=whole), lanes, live)
        return e.b.reduce("add", acc)

    def word(self, e: Emission, y: Linear, x: Linear) -> Operand:
        """The word of row y from element x on, in all lanes of b."""
        unit = self.unit
        number = y * self.array.strides[0] + x
        pointer, offset = address(e, self.array, number)
        one = e.b.load(pointer, offset, VectorType(unit.word))
        return unit.elements(e, e.b.broadcast(one, unit.lanes), unit.a)


@dataclass(frozen=True, slots=True)
class Columns:
    """The second operand's panel: blocks of `width` columns, `count` registers of each k."""

    unit: Unit
    array: Array
    k: int
    steps: int  # words along k of an iteration
    total: int  # of all iterations
    count: int

    @property
    def width(self) -> int:
        """The columns of a block."""
        return self.count * self.unit.lanes

    @staticmethod
    def of(
        e: Emission, unit: Unit, columns: int, k: int, count: int, iterations: int = 1
    ) -> Columns:
        """Scratch memory for a panel."""
        steps = -(-k // unit.depth)
        blocks = -(-columns // (count * unit.lanes))
        size = blocks * steps * iterations * count * unit.lanes * unit.depth
        return Columns(unit, e.array(unit.b, (size,)), k, steps, steps * iterations, count)

    def _number(self, block: Linear, step: Linear) -> Linear:
        row_ = self.width * self.unit.depth
        return (block.scale(self.total) + step).scale(row_)

    def register(self, e: Emission, block: Linear, step: Linear, number: int) -> Operand:
        """Columns of one register of a block at a step along k."""
        size = self.unit.lanes * self.unit.depth
        return load_lanes(e, self.array, row((self.place(block, step, number),), size))

    def place(self, block: Linear, step: Linear, number: int) -> Linear:
        """Where in the array such columns begin."""
        size = self.unit.lanes * self.unit.depth
        return self._number(block, step) + Linear(constant=number * size)

    def fill(
        self,
        e: Emission,
        source: Source,
        batch: tuple[Linear, ...],
        width: ex.Expr,
        iteration: Linear,
    ) -> None:
        """The blocks that matter of one iteration."""
        unit, n = self.unit, source.value.type.shape[-1]
        by = self.width
        whole = n // by

        def block(x: Linear, number: Linear, columns: int) -> None:
            for c in range(-(-columns // unit.lanes)):
                here = x + Linear(constant=c * unit.lanes)
                live = None
                left = columns - c * unit.lanes
                if left < unit.lanes:
                    live = Live(lanes_of([k < left for k in range(unit.lanes)], BOOL), 0)
                self._column(e, source, batch, here, live, number, c, iteration)

        known = constant(width)
        end = ex.index(whole) if known is not None else simplify(cdiv(width, by))
        if known is None and n % by:
            end = simplify(ex.Binary("min", end, ex.index(whole), end.dtype))

        def whole_block(number: Linear) -> None:
            e.ahead = ahead_of(number, 1)
            block(number.scale(by), number, by)
            e.ahead = None

        each(e, ex.index(0), end, 1, whole_block)
        if n % by:
            block(Linear(constant=whole * by), Linear(constant=whole), n % by)

    def _column(
        self,
        e: Emission,
        source: Source,
        batch: tuple[Linear, ...],
        x: Linear,
        live: Live | None,
        block: Linear,
        number: int,
        iteration: Linear,
    ) -> None:
        """One register's columns for every k of an iteration."""
        unit = self.unit
        size = unit.lanes * unit.depth
        base = iteration.scale(self.steps)

        def put(step: Linear, words: Operand) -> None:
            at = self._number(block, base + step) + Linear(constant=number * size)
            store_lanes(e, self.array, row((at,), size), words)

        if runs_along(e, source.value, source.value.type.rank - 2):
            transposed(e, unit, source, batch, x, live, self.k, put)
        else:
            zipped(e, unit, source, batch, x, live, self.k, put)


def ahead_of(at: Linear, distance: int) -> tuple[ex.Var, int] | None:
    """What prefetches are for: a later turn of the loop that a coordinate counts, if there is one."""
    for atom in at.terms:
        if isinstance(atom, ex.Var):
            return atom, distance
    return None


def runs_along(e: Emission, value: Value, axis: int) -> bool:
    """Whether neighbours along an axis, and no other ones, are neighbours in memory."""
    while value not in e.homes:
        stmt = e.lazy.get(value)
        match stmt:
            case ins.Transpose(x=x, axes=axes):
                value, axis = x, axes[axis]
            case ins.Unary(x=x) | ins.Cast(x=x) | ins.ConvertLayout(x=x):
                value = x
            case ins.Binary(x=x, y=y) | ins.Fma(x=x, y=y):
                value = x if _varies(e, x) else y
            case ins.Load(region=region):
                kept = [k for k, a in enumerate(region.axes) if not a.dropped]
                memory = e.memories[region.memory]
                own = memory.strides[kept[axis]] == Linear(constant=1)
                return (
                    own and region.axes[kept[axis]].step == 1 and region.axes[kept[axis]].size > 1
                )
            case _:
                return False
    home = e.homes[value]
    return isinstance(home, Array) and home.strides[axis] == Linear(constant=1)


def _varies(e: Emission, value: Value) -> bool:
    return not isinstance(e.lazy.get(value), ins.Broadcast | ins.Full)
