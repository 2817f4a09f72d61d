"""A tile of accumulators: its loop over k, and the way from and to memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dslc.codegen.aarch64.formats import Lanes
from dslc.codegen.aarch64.machine import Reg
from dslc.codegen.aarch64.nests import each
from dslc.codegen.aarch64.nibbles import Nibbles, separated
from dslc.codegen.aarch64.panels import Operand
from dslc.codegen.aarch64.places import Array, At, InRegisters
from dslc.codegen.aarch64.transfer import load_lanes, store_lanes
from dslc.codegen.aarch64.units import Unit
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.affine import Linear

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission

_STRAIGHT = 224  # multiply-adds of a tile up to which its loop over k is written out
_BODY = 96  # multiply-adds of a body that is long enough for its pointers and its branch


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
    """A tile of that unit, place and size: from an array, or every lane from a word."""
    s, unit = e.s, shape.unit
    packed = nibbles if shape.columns % 4 == 0 else None
    summed = s.copy(s.splat(0, 8)) if packed is not None and packed.zero else None
    tile = replace(shape, regs={}, nibbles=packed, activations=summed)
    for m in range(0, shape.rows, unit.rows):
        for n in range(0, shape.columns, unit.columns):
            if isinstance(start, Array) and not unit.folded:
                tile.regs[m, n] = load_lanes(e, start, _chunk(tile, m, n)).regs[0]
            else:
                word = 0 if isinstance(start, Array) else start
                tile.regs[m, n] = s.copy(s.splat(word, 32))
    return tile


def is_short(tile: Tile, k: int) -> bool:
    """Whether the products over k are few enough to be written out."""
    unit = tile.unit
    each_step = (tile.rows // unit.rows) * (tile.columns // unit.columns)
    return k // unit.step * each_step <= _STRAIGHT


def add(e: Emission, tile: Tile, a: Operand, b: Operand, k: int, name: str) -> None:
    """Add the products over k: a step after the other if they are few, else in a loop."""
    if is_short(tile, k):
        for turn in range(-(-k // tile.unit.depth)):
            _step(e, tile, a, b, Linear(constant=turn * tile.unit.depth), k)
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
    name: str | None = None,
) -> None:
    """A tile begun, summed over k and handed on; `name` is that of its marks."""
    name = name or e.marks.tile(shape.rows, shape.columns)
    macs = shape.rows * shape.columns * k
    short = is_short(shape, k)
    if short:
        e.marks.begin(name, macs, k)
    else:
        e.marks.begin(f"{name}_begin", macs)
    tile = begin(e, shape, start, nibbles if b.panel is None else None)
    if not short:
        e.marks.end()
    add(e, tile, a, b, k, name)
    if not short:
        e.marks.begin(f"{name}_end", macs)
    if shape.unit.folded:
        tile = folded(e, tile, start if isinstance(start, Array) else None)
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


def whole(tile: Tile) -> Tile:
    """A tile of one row whose registers hold four columns each, as sums of lanes leave it."""
    four = tuple((0, n) for n in range(4))
    return replace(tile, unit=replace(tile.unit, c=four, b=four), nibbles=None, activations=None)


def folded(e: Emission, tile: Tile, start: Array | None) -> Tile:
    """Sums of neighbouring lanes: two accumulators of two columns become one of four."""
    regs = {}
    order = sorted(tile.regs)
    pairs = list(zip(order[::2], order[1::2], strict=True))
    if tile.nibbles is not None:
        both = [(tile.regs[low], tile.regs[high]) for low, high in pairs]
        sums = separated(e, both, tile.activations, tile.nibbles.zero)
        regs = {low: reg for (low, _), reg in zip(pairs, sums, strict=True)}
    else:
        for low, high in pairs:
            regs[low] = e.s.v("addp {0}.4s, {1}.4s, {2}.4s", tile.regs[low], tile.regs[high])
    made = replace(whole(tile), regs=regs)
    if start is not None:
        before = {key: e.s.copy(reg) for key, reg in regs.items()}
        load(e, replace(made, regs=before), start)
        for key, reg in regs.items():
            e.s.into("add {0}.4s, {1}.4s, {2}.4s", reg, reg, before[key])
    return made


def _chunk(tile: Tile, m: int, n: int) -> At:
    zeros = (0,) * len(tile.batch)
    base = (*tile.batch, *moved(tile.origin, m, n))
    return At(base, tuple((*zeros, *pair) for pair in tile.unit.c))


def load(e: Emission, tile: Tile, array: Array) -> None:
    """The accumulators from memory."""
    for (m, n), reg in tile.regs.items():
        loaded = load_lanes(e, array, _chunk(tile, m, n))
        e.s.move(reg, loaded.regs[0])


def store(e: Emission, tile: Tile, array: Array) -> None:
    """The accumulators to memory."""
    for (m, n), reg in tile.regs.items():
        store_lanes(
            e, array, _chunk(tile, m, n), Lanes((reg,), tile.unit.c_format, len(tile.unit.c))
        )
