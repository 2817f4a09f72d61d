"""Operands that the vector engine transposes an iteration ahead, while the tensor engine multiplies.

A loop of products whose operand is loaded and transposed in each iteration takes the tensor engine away
from its products. The vector engine transposes blocks of 32 x 32, in small steps between the sums that
it collects: chunks of the next iteration's operand, as many as the time of an iteration allows. The
others, and all of the first iteration, are left to the tensor engine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dslc.codegen.nki.emission import At, Emission
from dslc.codegen.nki.limits import check_start
from dslc.codegen.nki.movement.accesses import read
from dslc.codegen.nki.movement.engine_sharing import Shares
from dslc.codegen.nki.movement.transposing import transpose_chunk
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import Region
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant, simplify
from dslc.compiler.ir.traverse import Body, operands, walk
from dslc.compiler.passes.trainium.capacity import peak_within, tile_bytes, usable
from dslc.compiler.passes.trainium.placement import PARTITIONS, chunks, counts
from dslc.compiler.passes.trainium.placement_costs import by_tensor_engine
from dslc.compiler.targets.nki import MOVING

_BLOCK = 32  # rows and columns that the vector engine transposes at once
_FEWEST = 64  # cycles of an instruction
_BUSY = 0.97  # of an iteration, for the vector engine with all its work


@dataclass(frozen=True, slots=True)
class Transposed:
    """A loop's operand: its load and conversion, and the chunks that are made an iteration ahead."""

    load: ins.Load
    convert: ins.ConvertLayout
    product: ins.Dot
    chunks: int


@dataclass(slots=True)
class Blocks:
    """Blocks of 128 x 128 that stand between the pieces of a product.

    `made` of `source` transposed, where the text `further` says that another iteration follows. The
    variable `done` counts in the emitted program.
    """

    loop: ins.For
    transposed: Transposed
    made: TileValue
    source: TileValue
    further: str
    done: str = ""

    @property
    def product(self) -> ins.Dot:
        """The product whose pieces they stand between."""
        return self.transposed.product

    def begin(self, e: Emission) -> None:
        """The rows of the next iteration, behind this iteration's operands in their queue."""
        self.done = e.out.name("done")
        with e.out.block(f"if {self.further}"):
            _load(e, self.loop, self.transposed.load, self.source)
            with e.filled(self.made):
                pass
        e.out.line(f"{self.done} = 0")

    def emit(self, e: Emission, times: int) -> None:
        """One of so many equal parts of the blocks."""
        each, done = self.source.chunks, self.done
        total = self.transposed.chunks * each
        part = f"{done} * {total} // {times}, ({done} + 1) * {total} // {times}"
        block, column, row = (e.out.name(n) for n in ("b", "p", "q"))
        to, by = e.index_variable("c"), e.index_variable("r")
        with e.out.block(f"if {self.further}"), e.out.block(f"for {block} in range({part})"):
            e.out.line(f"{e.names[to]}, {e.names[by]} = {block} // {each}, {block} % {each}")
            bases = (e.base(self.made, At(to, PARTITIONS)), e.base(self.source, At(by, PARTITIONS)))
            left = [
                name if held.chunks == 1 else f"{PARTITIONS} * {e.names[chunk]} + {name}"
                for held, chunk, name in ((self.source, by, row), (self.made, to, column))
            ]
            for start in range(0, PARTITIONS, _BLOCK):
                check_start(self.made.name, start, _BLOCK)
            head = f"range(0, {PARTITIONS}, {_BLOCK})"
            with e.out.block(f"for {column} in {head}"), e.out.block(f"for {row} in {head}"):
                e.call(
                    "nc_transpose",
                    dst=f"{bases[0]}[{column}:{column} + {_BLOCK}, {left[0]}:{left[0]} + {_BLOCK}]",
                    data=f"{bases[1]}[{row}:{row} + {_BLOCK}, {left[1]}:{left[1]} + {_BLOCK}]",
                    engine="nisa.engine.vector",
                )
        e.out.line(f"{done} += 1")


def transposed_ahead(e: Emission, stmt: ins.For) -> Transposed | None:
    """The operand of a loop that is worth it, and that there is room for twice."""
    if (constant(stmt.step) or 0) <= 0:
        return None
    for convert in stmt.body:
        if isinstance(convert, ins.ConvertLayout):
            load = next(
                (s for s in stmt.body if isinstance(s, ins.Load) and s.out is convert.x), None
            )
            product = _reader(e, stmt.body, convert)
            if load is not None and product is not None and _is_whole(e, load, convert):
                count = _chunks_ahead(e, stmt, load, convert)
                return Transposed(load, convert, product, count) if count else None
    return None


def _reader(e: Emission, body: Body, convert: ins.ConvertLayout) -> ins.Dot | None:
    """The first of the products of the body that read the operand; None where others do."""
    readers = [s for s in walk(body) if convert.out in operands(s)]
    dots = [s for s in body if isinstance(s, ins.Dot) and s in readers]
    if not dots or len(dots) < len(readers) or e.uses[convert.x] != 1:
        return None
    if any(v in e.resident for v in (convert.x, convert.out)) or dots[0].out.type.rank != 2:
        return None
    return dots[0]


def _is_whole(e: Emission, load: ins.Load, convert: ins.ConvertLayout) -> bool:
    """Whether the operand is transposed in blocks of 128 x 128 of a float, none of them clipped."""
    shape, dtype = load.out.type.shape, load.out.type.dtype
    return (
        by_tensor_engine(e.place(load.out), e.place(convert.out), shape)
        and not any(n % PARTITIONS for n in shape)
        and dtype.is_float
        and dtype.bits >= 16
        and all(a.step == 1 and not a.checked for a in load.region.axes)
    )


def _chunks_ahead(e: Emission, loop: ins.For, load: ins.Load, convert: ins.ConvertLayout) -> int:
    """How many chunks the vector engine has time for; 0 where the memory has no room."""
    kept = sum(r.bytes for r in e.resident.values()) + sum(e.on_chip.values())
    need = kept + peak_within(e.kernel, loop, e.column_block)
    need += tile_bytes(load.out) + tile_bytes(convert.out)
    total = chunks(e.place(convert.out), convert.out.type.shape)
    if need > usable(e.engines) or total < 2:
        return 0
    blocks = (PARTITIONS // _BLOCK) ** 2 * chunks(e.place(load.out), load.out.type.shape)
    each = blocks * _FEWEST / e.engines.vector
    free = (
        _BUSY * _multiplying(e, loop.body)
        - Shares.of_iteration(loop.body, e.engines).total["vector"]
    )
    return max(0, min(total, int(free / each)))


def _multiplying(e: Emission, body: Body) -> float:
    """What the products of an iteration take the tensor engine, in nanoseconds."""
    total = 0.0
    for dot in (s for s in walk(body) if isinstance(s, ins.Dot)):
        place, shape = e.place(dot.out), dot.out.type.shape
        columns = counts(place, shape)[1]
        steps = chunks(place, shape) * -(-dot.a.type.shape[-1] // PARTITIONS)
        loads = -(-columns // MOVING) * e.engines.load
        total += steps * (columns + loads) / e.engines.tensor
    return total


def begin(e: Emission, transposed: Transposed) -> tuple[TileValue, TileValue]:
    """Before the loop: the operand of the next iteration, and the rows that it is made of."""
    operand, rows = transposed.convert.out, transposed.load.out
    tiles = []
    for hint, value in ((f"{operand.name}_next", operand), (f"{rows.name}_rows", rows)):
        held = e.tile(hint, value.type.dtype, value.type.shape, e.place(value))
        e.out.line(f"{held.name} = []")
        tiles.append(held)
    return tiles[0], tiles[1]


def iteration(
    e: Emission, stmt: ins.For, transposed: Transposed, ahead: TileValue, rows: TileValue
) -> None:
    """The body: this iteration's operand, the next one's rows, the rest with the blocks in between."""
    counter, step = e.names[stmt.var], constant(stmt.step)
    with e.out.block(f"if {counter} == {e.scalar(stmt.start)}"):
        e.statement(transposed.load)
        e.statement(transposed.convert)
    name = e.values[transposed.convert.out].name
    with e.out.block("else"):
        e.out.line(f"{name} = {ahead.name}")
        if transposed.chunks < ahead.chunks:
            chunk = e.index_variable("c")
            head = f"for {e.names[chunk]} in range({transposed.chunks}, {ahead.chunks})"
            with e.out.block(head):
                operand = replace(ahead, name=name)
                transpose_chunk(e, operand, rows, At(chunk, PARTITIONS))
    further = f"{counter} + {step} < {e.scalar(stmt.stop)}"
    e.between = Blocks(stmt, transposed, ahead, rows, further)
    e.body(tuple(s for s in stmt.body if s not in (transposed.load, transposed.convert)))
    e.between = None


def _load(e: Emission, stmt: ins.For, load: ins.Load, rows: TileValue) -> None:
    """The rows of the next iteration."""
    following: dict[ex.Var, ex.Expr] = {stmt.var: ex.Binary("add", stmt.var, stmt.step, INDEX)}
    axes = [replace(a, start=simplify(ex.substitute(a.start, following))) for a in load.region.axes]
    with e.filled(rows) as at:
        read(e, Region(load.region.memory, tuple(axes)), rows, at, load.other)
