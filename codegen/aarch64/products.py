"""Products: operands in panels, tiles of accumulators in registers, loops over k.

The operands are put into the order in which a unit's registers hold them, block by block, unless a
block is read once only: then it comes straight from where it is. A product whose result only goes,
element by element, into a carried tile is finished there while it is still in registers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product as cartesian
from typing import TYPE_CHECKING

from dslc.codegen.aarch64.emission import Array, At, InRegisters, unsupported
from dslc.codegen.aarch64.formats import F32, Lanes
from dslc.codegen.aarch64.machine import Reg
from dslc.codegen.aarch64.nests import each
from dslc.codegen.aarch64.nibbles import Nibbles, nibbles_of, separated
from dslc.codegen.aarch64.panels import Operand, operand_of
from dslc.codegen.aarch64.ranges import BIASED
from dslc.codegen.aarch64.statements import keep, scratch_for, write
from dslc.codegen.aarch64.transfer import load_lanes, store_lanes
from dslc.codegen.aarch64.units import Unit, register_tile, unit_for
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.affine import Linear, constant, simplify

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission

_STRAIGHT = 224  # multiply-adds of a tile up to which its loop over k is written out
_BODY = 96  # multiply-adds of a body that is long enough for its pointers and its branch
_TAIL = 4  # rows (columns) of the tiles at the end, where a whole one does not fit
Finish = Callable[["Tile"], None]


@dataclass(frozen=True, slots=True)
class Tile:
    """Accumulators of the rows and columns from an origin on."""

    unit: Unit
    batch: tuple[Linear, ...]
    origin: tuple[Linear, Linear]
    rows: int
    columns: int
    regs: dict[tuple[int, int], Reg]  # by row and column of their first element
    nibbles: Nibbles | None = None
    activations: Reg | None = None  # with nibbles: the sum of the row itself

    def in_registers(self) -> InRegisters:
        """Every element's place."""
        places = {}
        zeros = (0,) * len(self.batch)
        for (m, n), reg in self.regs.items():
            for lane, (i, j) in enumerate(self.unit.c):
                places[(*zeros, m + i, n + j)] = (reg, lane)
        return InRegisters(self.unit.c_format, places, (*self.batch, *self.origin))


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
    start = array if i.acc is not None else None
    multiply(e, i, start, lambda tile: _store(e, tile, array))
    e.s.forget("tile")
    e.settle(i.out, array)


def drive(e: Emission, i: ins.Dot, value: Value, array: Array) -> None:
    """The tile `value`, made of the product element by element, to memory, block by block."""
    dtype = value.type.dtype
    biased = e.plan.biased.get(i.out)
    if biased is not None and unit_of(e, i).folded:
        biased = None
    out = biased or i.out

    def finish(tile: Tile) -> None:
        if biased is not None:
            tile = _unbiased(e, tile)
        e.homes[out] = tile.in_registers()
        e.levels[out] = e.s.level
        zeros = (0,) * len(tile.batch)
        for m, n in tile.regs:
            base = (*tile.batch, *_moved(tile.origin, m, n))
            lanes = tuple((*zeros, *pair) for pair in tile.unit.c)
            write(e, array, At(base, lanes), value, dtype)
        del e.homes[out]
        e.s.forget("tile")

    start = e.homes.get(i.acc) if i.acc is not None else None
    if i.acc is not None and not isinstance(start, Array):
        start = keep(e, i.acc)
    first = BIASED if biased is not None else 0
    multiply(e, i, start if isinstance(start, Array) else None, finish, first)


def _unbiased(e: Emission, tile: Tile) -> Tile:
    """The accumulators as f32 numbers."""
    bias = e.s.splat(BIASED, 32)
    for reg in tile.regs.values():
        e.s.into("fsub {0}.4s, {1}.4s, {2}.4s", reg, reg, bias)
    return replace(tile, unit=replace(tile.unit, c_format=F32))


def _moved(origin: tuple[Linear, Linear], m: int, n: int) -> tuple[Linear, Linear]:
    return origin[0] + Linear(constant=m), origin[1] + Linear(constant=n)


def unit_of(e: Emission, i: ins.Dot) -> Unit:
    """The unit of a product."""
    rows = i.out.type.shape[-2]
    unit = unit_for(i.a.type.dtype, i.b.type.dtype, i.out.type.dtype, rows, e.features)
    if unit is None:
        raise unsupported(f"products of {i.a.type.dtype} and {i.b.type.dtype}", i.loc)
    return unit


def multiply(e: Emission, i: ins.Dot, start: Array | None, finish: Finish, first: int = 0) -> None:
    """All tiles of a product, each begun from `start` or the word `first`, handed to `finish`."""
    e.marks.product()
    unit = unit_of(e, i)
    *outer, m, n = i.out.type.shape
    k = i.a.type.shape[-1]
    rows, columns = register_tile(unit, m, n, k)
    rank = i.out.type.rank
    height = e.extent(i.out, rank - 2)
    width = e.extent(i.out, rank - 1)
    a = operand_of(e, i.a, unit.a, unit.a_format, (unit.rows, unit.depth), reused=n > columns or k > 1,
                 ends=(height, None), pad=(_TAIL, 1), others=n)  # fmt: skip
    b = operand_of(e, i.b, unit.b, unit.b_format, (unit.step, unit.columns), reused=m > rows,
                 ends=(None, width), pad=(1, _TAIL), others=m)  # fmt: skip

    nibbles = nibbles_of(e, i, unit)

    def one(batch: tuple[Linear, ...], r: int, c: int, at: tuple[Linear, Linear]) -> None:
        _tile(e, unit, a, b, start or first, finish, batch, at, r, c, k, nibbles)

    def tiles(batch: tuple[Linear, ...]) -> None:
        def columns_of(c: int, y: Linear) -> None:
            _strips(e, height, m, rows, unit.rows, lambda r, x: one(batch, r, c, (x, y)))

        _strips(e, width, n, columns, unit.columns, columns_of)

    for place in cartesian(*(range(x) for x in outer)):
        tiles(tuple(Linear(constant=x) for x in place))


def _strips(
    e: Emission,
    end: ex.Expr,
    extent: int,
    size: int,
    least: int,
    body: Callable[[int, Linear], None],
) -> None:
    """Strips of `size` as long as whole ones fit before `end`, then smaller ones up to it."""
    tail = min(size, max(least, _TAIL if size > _TAIL else size))
    whole = ex.Binary("floordiv", end, ex.index(size), INDEX)
    stop = simplify(ex.Binary("mul", whole, ex.index(size), INDEX))
    each(e, ex.index(0), stop, size, lambda at: body(size, at))
    if constant(end) is not None and constant(end) == constant(stop):
        return
    past = ex.Binary("add", end, ex.index(tail - 1), INDEX)
    count = ex.Binary("floordiv", ex.Binary("sub", past, stop, INDEX), ex.index(tail), INDEX)
    last = simplify(ex.Binary("add", stop, ex.Binary("mul", count, ex.index(tail), INDEX), INDEX))
    if constant(stop) == 0 or size > 1:
        each(e, stop, last, tail, lambda at: body(tail, at))
    del extent


def _tile(
    e: Emission,
    unit: Unit,
    a: Operand,
    b: Operand,
    start: Array | int,
    hand_on: Finish,
    batch: tuple[Linear, ...],
    at: tuple[Linear, Linear],
    rows: int,
    columns: int,
    k: int,
    nibbles: Nibbles | None,
) -> None:
    s = e.s
    name = e.marks.tile(rows, columns)
    regs: dict[tuple[int, int], Reg] = {}
    packed = nibbles if b.panel is None and columns % 4 == 0 else None
    summed = s.copy(s.splat(0, 8)) if packed is not None and packed.zero else None
    tile = Tile(unit, batch, at, rows, columns, regs, packed, summed)
    steps = k // unit.depth
    each_step = (rows // unit.rows) * (columns // unit.columns) * (unit.depth // unit.step)
    straight = steps * each_step <= _STRAIGHT
    if straight:
        e.marks.begin(name, rows * columns * k, k)
    else:
        e.marks.begin(f"{name}_begin", rows * columns * k)
    for m in range(0, rows, unit.rows):
        for n in range(0, columns, unit.columns):
            if isinstance(start, Array) and not unit.folded:
                regs[m, n] = load_lanes(e, start, _chunk(tile, m, n)).regs[0]
            else:
                regs[m, n] = s.copy(s.splat(0 if isinstance(start, Array) else start, 32))
    if straight:
        for turn in range(-(-k // unit.depth)):
            _step(e, tile, a, b, Linear(constant=turn * unit.depth), k)
    else:
        e.marks.end()
        _loop(e, tile, a, b, k, name)
        e.marks.begin(f"{name}_end", rows * columns * k)
    if unit.folded:
        tile = _folded(e, tile, start if isinstance(start, Array) else None)
    hand_on(tile)
    e.marks.end()


def _loop(e: Emission, tile: Tile, a: Operand, b: Operand, k: int, name: str) -> None:
    """The loop over k, several steps a turn."""
    unit = tile.unit
    each_step = len(tile.regs) * (unit.depth // unit.step)
    steps = k // unit.depth
    several = next(
        n for n in (8, 4, 2, 1) if steps % n == 0 and (n == 1 or n * each_step <= 2 * _BODY)
    )
    span = several * unit.depth

    def body(here: Linear) -> None:
        e.marks.begin(name, tile.rows * tile.columns * span, span)
        for turn in range(several):
            _step(e, tile, a, b, here + Linear(constant=turn * unit.depth), k)

    each(e, ex.index(0), ex.index(steps * unit.depth), span, body)
    e.marks.end()
    if k % unit.depth:
        _step(e, tile, a, b, Linear(constant=steps * unit.depth), k)


def _step(e: Emission, tile: Tile, a: Operand, b: Operand, here: Linear, k: int) -> None:
    """One register of `a` along k for every row of the tile."""
    unit, at = tile.unit, tile.origin
    if tile.nibbles is not None and _nibble_step(e, tile, tile.nibbles, a, b, here):
        return
    held: dict[tuple[int, int], Reg] = {}
    for m in range(0, tile.rows, unit.rows):
        left = a.register(e, tile.batch, (at[0] + Linear(constant=m), here))
        for lane in range(unit.depth // unit.step):
            depth = here + Linear(constant=lane * unit.step)
            if depth.is_constant and depth.constant >= k:
                continue
            for n in range(0, tile.columns, unit.columns):
                if (lane, n) not in held:
                    where = (depth, at[1] + Linear(constant=n))
                    held[lane, n] = b.register(e, tile.batch, where)
                text = unit.template.replace("LANE", str(lane))
                e.s.onto(text, tile.regs[m, n], left, held[lane, n])


def _nibble_step(
    e: Emission, tile: Tile, nibbles: Nibbles, a: Operand, b: Operand, here: Linear
) -> bool:
    """The same for one row against bytes of two codes each; False where bytes are otherwise."""
    row = a.register(e, tile.batch, (tile.origin[0], here))
    op = "usdot" if a.form.kind == "i" else "udot"
    zeros = (0,) * len(tile.batch)
    lanes = tuple((*zeros, *pair) for pair in b.blocks)
    for n in range(0, tile.columns, 4):
        low, high = (
            At((*tile.batch, here, tile.origin[1] + Linear(constant=n + d)), lanes) for d in (0, 2)
        )
        found = nibbles.registers(e, low, high)
        assert found is not None, "an order of storage is one for all blocks"
        for reg, d in zip(found, (0, 2), strict=True):
            e.s.onto(f"{op} {{0}}.4s, {{1}}.16b, {{2}}.16b", tile.regs[0, n + d], reg, row)
    if tile.activations is not None:
        ones = e.s.splat(1, 8)
        e.s.onto(f"{op} {{0}}.4s, {{1}}.16b, {{2}}.16b", tile.activations, ones, row)
    return True


def _folded(e: Emission, tile: Tile, start: Array | None) -> Tile:
    """Sums of neighbouring lanes: two accumulators of two columns become one of four."""
    regs = {}
    order = sorted(tile.regs)
    four = replace(tile.unit, c=tuple((0, n) for n in range(4)), b=tuple((0, n) for n in range(4)))
    pairs = list(zip(order[::2], order[1::2], strict=True))
    if tile.nibbles is not None:
        both = [(tile.regs[low], tile.regs[high]) for low, high in pairs]
        sums = separated(e, both, tile.activations, tile.nibbles.zero)
        regs = {low: reg for (low, _), reg in zip(pairs, sums, strict=True)}
    else:
        for low, high in pairs:
            regs[low] = e.s.v("addp {0}.4s, {1}.4s, {2}.4s", tile.regs[low], tile.regs[high])
    made = replace(tile, unit=four, regs=regs)
    if start is not None:
        before = {key: e.s.copy(reg) for key, reg in regs.items()}
        _load(e, replace(made, regs=before), start)
        for key, reg in regs.items():
            e.s.into("add {0}.4s, {1}.4s, {2}.4s", reg, reg, before[key])
    return made


def _chunk(tile: Tile, m: int, n: int) -> At:
    zeros = (0,) * len(tile.batch)
    base = (*tile.batch, *_moved(tile.origin, m, n))
    return At(base, tuple((*zeros, *pair) for pair in tile.unit.c))


def _load(e: Emission, tile: Tile, array: Array) -> None:
    for (m, n), reg in tile.regs.items():
        loaded = load_lanes(e, array, _chunk(tile, m, n))
        e.s.move(reg, loaded.regs[0])


def _store(e: Emission, tile: Tile, array: Array) -> None:
    for (m, n), reg in tile.regs.items():
        store_lanes(
            e, array, _chunk(tile, m, n), Lanes((reg,), tile.unit.c_format, len(tile.unit.c))
        )


STATEMENTS = {ins.Dot: dot}
