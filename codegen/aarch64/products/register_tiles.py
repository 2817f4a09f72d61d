"""A tile of accumulators: its loop over k, and the way from and to memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dslc.codegen.aarch64.chunks.formats import F32, Lanes
from dslc.codegen.aarch64.chunks.ranges import BIASED
from dslc.codegen.aarch64.machine_code.blocks import Reg
from dslc.codegen.aarch64.memory.chunk_loads import load_lanes
from dslc.codegen.aarch64.memory.transfer import store_lanes
from dslc.codegen.aarch64.places import Array, InRegisters
from dslc.codegen.aarch64.products.nibbles import (
    Nibbles,
    separated,
    separated_floats,
    starts,
    taken,
)
from dslc.codegen.aarch64.products.packed_panels import Operand
from dslc.codegen.aarch64.products.units import Unit
from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.nests import each
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import Linear

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission

LONG = 192
"""Multiply-adds of a body that is long enough for its pointers and its branch."""
_STRAIGHT = 224  # multiply-adds of a tile up to which its loop over k is written out


@dataclass(frozen=True, slots=True)
class Mark:
    """The name of a marked loop, and how many tiles like the one that begins it an iteration has."""

    name: str
    times: int


@dataclass(frozen=True, slots=True)
class Tile:
    """Accumulators of the rows and columns from an origin on."""

    unit: Unit
    batch: tuple[Linear, ...]
    origin: tuple[Linear, Linear]
    rows: int
    columns: int
    regs: dict[tuple[int, int], Reg] = field(default_factory=dict)  # by their first row and column
    nibbles: Nibbles | None = None
    activations: Reg | None = None  # with nibbles: the sum of the row itself
    biased: bool = False  # the sums are on top of the bits of 1.5 * 2^23

    @property
    def places(self) -> list[tuple[int, int]]:
        """The first row and column of each register."""
        rows = range(0, self.rows, self.unit.rows)
        return [(m, n) for m in rows for n in range(0, self.columns, self.unit.columns)]

    def side_by_side(self) -> Iterator[tuple[At, tuple[Reg, ...]]]:
        """Chunks of one or two registers that stand beside each other: what a row has is read once."""
        wide = self.unit.columns
        pair = wide < 4 and self.columns % (2 * wide) == 0
        zeros = (0,) * len(self.batch)
        for m in range(0, self.rows, self.unit.rows):
            for n in range(0, self.columns, wide * (1 + pair)):
                steps = (0, wide) if pair else (0,)
                lanes = tuple((*zeros, i, j + d) for d in steps for i, j in self.unit.c)
                at = At((*self.batch, *moved(self.origin, m, n)), lanes)
                yield at, tuple(self.regs[m, n + d] for d in steps)

    def in_registers(self) -> InRegisters:
        """Every element's place."""
        places = {}
        zeros = (0,) * len(self.batch)
        for (m, n), reg in self.regs.items():
            for lane, (i, j) in enumerate(self.unit.c):
                places[(*zeros, m + i, n + j)] = (reg, lane)
        return InRegisters(self.unit.c_format, places, (*self.batch, *self.origin))


def moved(origin: tuple[Linear, Linear], m: int, n: int) -> tuple[Linear, Linear]:
    """The place so many rows and columns on."""
    return origin[0] + Linear(constant=m), origin[1] + Linear(constant=n)


def begin(e: Emission, shape: Tile, start: Array | int, nibbles: Nibbles | None = None) -> Tile:
    """A tile of that unit, place and size: from an array, or every lane from a word.

    Sums of bytes with two codes are not those of the results: they begin at 0.
    """
    s, unit = e.s, shape.unit
    packed = nibbles if shape.columns % (2 * unit.columns) == 0 else None
    if packed is not None:
        return _begin_pairs(e, shape, start, packed)
    tile = replace(shape, regs={}, biased=start == BIASED)
    for m, n in shape.places:
        if isinstance(start, Array):
            tile.regs[m, n] = load_lanes(e, start, _chunk(tile, m, n)).regs[0]
        else:
            tile.regs[m, n] = s.fresh(start)
    return tile


def _begin_pairs(e: Emission, shape: Tile, start: Array | int, nibbles: Nibbles) -> Tile:
    s = e.s
    activations = s.fresh(0) if nibbles.zero else None
    biased = start == BIASED
    tile = replace(shape, regs={}, nibbles=nibbles, activations=activations, biased=biased)
    words = starts(biased)
    for number, n in enumerate(range(0, shape.columns, shape.unit.columns)):
        tile.regs[0, n] = s.fresh(words[number % 2])
    return tile


def is_short(tile: Tile, k: int) -> bool:
    """Whether the products over k are few enough to be written out."""
    unit = tile.unit
    each_step = (tile.rows // unit.rows) * (tile.columns // unit.columns)
    return k // unit.step * each_step <= _STRAIGHT


def add(e: Emission, tile: Tile, a: Operand, b: Operand, k: int, name: str) -> None:
    """Add the products over k: a step after the other if they are few, else in a loop."""
    if is_short(tile, k):
        for iteration in range(-(-k // tile.unit.depth)):
            _step(e, tile, a, b, Linear(constant=iteration * tile.unit.depth), k)
    else:
        _loop(e, tile, a, b, k, name)


def fill(
    e: Emission,
    shape: Tile,
    a: Operand,
    b: Operand,
    k: int,
    start: Array | int,
    hand_on: Callable[[Tile], None],
    nibbles: Nibbles | None,
    mark: Mark | None = None,
) -> None:
    """A tile begun, summed over k and handed on; the last of its marks is still open."""
    name, times = (mark.name, mark.times) if mark else (e.marks.tile(shape.rows, shape.columns), 1)
    macs = shape.rows * shape.columns * k
    short = is_short(shape, k)
    if short and times:
        e.marks.begin(name, macs * times, k * times)
    if not short:
        e.marks.begin(f"{name}_begin", macs)
    tile = begin(e, shape, start, nibbles)
    if not short:
        e.marks.end()
    add(e, tile, a, b, k, name)
    if not short:
        e.marks.begin(f"{name}_end", macs)
    hand_on(tile)


def _loop(e: Emission, tile: Tile, a: Operand, b: Operand, k: int, name: str) -> None:
    """The loop over k, several steps an iteration."""
    unit = tile.unit
    each_step = len(tile.regs) * (unit.depth // unit.step)
    steps = k // unit.depth
    several = next(n for n in (8, 4, 2, 1) if steps % n == 0 and (n == 1 or n * each_step <= LONG))
    span = several * unit.depth

    def body(here: Linear) -> None:
        e.marks.begin(name, tile.rows * tile.columns * span, span)
        for iteration in range(several):
            _step(e, tile, a, b, here + Linear(constant=iteration * unit.depth), k)

    each(e, ex.index(0), ex.index(steps * unit.depth), span, body)
    e.marks.end()
    if k % unit.depth:
        _step(e, tile, a, b, Linear(constant=steps * unit.depth), k)


def _step(e: Emission, tile: Tile, a: Operand, b: Operand, here: Linear, k: int) -> None:
    """One register of `a` along k for every row of the tile."""
    unit, at = tile.unit, tile.origin
    if tile.nibbles is not None:
        _pair_step(e, tile, tile.nibbles, a, b, here, k)
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


def _pair_step(
    e: Emission, tile: Tile, nibbles: Nibbles, a: Operand, b: Operand, here: Linear, k: int
) -> None:
    """The same for one row against bytes of two codes each."""
    unit = tile.unit
    row = a.register(e, tile.batch, (tile.origin[0], here))
    op = "usdot" if unit.a_format.kind == "i" else "udot"
    zeros = (0,) * len(tile.batch)
    lanes = tuple((*zeros, *pair) for pair in b.blocks)
    wide = unit.columns
    for part in range(unit.depth // unit.step):
        depth = here + Linear(constant=part * unit.step)
        if depth.is_constant and depth.constant >= k:
            continue
        for n in range(0, tile.columns, 2 * wide):
            low, high = (
                At((*tile.batch, depth, tile.origin[1] + Linear(constant=n + d)), lanes)
                for d in (0, wide)
            )
            with e.streams():
                halves = nibbles.registers(e, low, high)
            assert halves is not None, "an order of storage is one for all blocks"
            text = f"{op} {{0}}.4s, {{1}}.16b, {{2}}.4b[{part}]"
            for reg, d in zip(halves, (0, wide), strict=True):
                e.s.onto(text, tile.regs[0, n + d], reg, row)
    if tile.activations is not None:
        ones = e.s.splat(1, 8)
        e.s.onto(f"{op} {{0}}.4s, {{1}}.16b, {{2}}.16b", tile.activations, ones, row)


def summed(e: Emission, tile: Tile, start: Array | None = None) -> Tile:
    """The tile of results: codes of one byte taken apart, f32 of biased sums, added to `start`.

    A tile of plain sums that began with `start` has that in it.
    """
    s = e.s
    plain = replace(tile, nibbles=None, activations=None, biased=False)
    if tile.biased:
        plain = replace(plain, unit=replace(tile.unit, c_format=F32))
    if tile.nibbles is None:
        if not tile.biased:
            return tile
        bias = s.splat(BIASED, 32)
        regs = {at: s.v("fsub {0}.4s, {1}.4s, {2}.4s", x, bias) for at, x in tile.regs.items()}
        return replace(plain, regs=regs)
    regs = dict(tile.regs)
    less = taken(e, tile.activations, tile.nibbles.zero, biased=tile.biased)
    wide = tile.unit.columns
    for n in range(0, tile.columns, 2 * wide):
        pair = tile.regs[0, n], tile.regs[0, n + wide]
        if tile.biased:
            assert less is not None
            separate = separated_floats(e, *pair, less)
        else:
            separate = separated(e, *pair, less)
        regs[0, n], regs[0, n + wide] = separate
    if start is not None:
        before = load(e, plain, start)
        text = "add {0}.4s, {1}.4s, {2}.4s"
        regs = {at: s.v(text, x, before.regs[at]) for at, x in regs.items()}
    return replace(plain, regs=regs)


def _chunk(tile: Tile, m: int, n: int) -> At:
    zeros = (0,) * len(tile.batch)
    base = (*tile.batch, *moved(tile.origin, m, n))
    return At(base, tuple((*zeros, *pair) for pair in tile.unit.c))


def load(e: Emission, tile: Tile, array: Array) -> Tile:
    """The tile with its results from memory."""
    loaded = {(m, n): load_lanes(e, array, _chunk(tile, m, n)) for m, n in tile.places}
    return replace(tile, regs={at: lanes.regs[0] for at, lanes in loaded.items()})


def store(e: Emission, tile: Tile, array: Array) -> None:
    """The accumulators to memory."""
    for (m, n), reg in tile.regs.items():
        store_lanes(
            e, array, _chunk(tile, m, n), Lanes((reg,), tile.unit.c_format, len(tile.unit.c))
        )
