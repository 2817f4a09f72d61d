"""What multiplies: for each instruction the blocks of the operands that a register holds.

A register of `a` holds elements (row, k) of the first operand in the order of its lanes, one of `b`
elements (k, column), an accumulator elements (row, column). Where a register of `a` has more of k than
one of `b`, the instruction names a lane of it: `lane {i}` of k.

    smmla   2 x 8 by 8 x 2      rows and columns in pairs, 8 of k each
    sdot    1 x 16 by 4 x 4     by lane: 4 of k at a time, 4 columns
    fmla    1 x 4 by 1 x 4      by lane: 1 of k at a time, 4 columns
"""

from __future__ import annotations

from dataclasses import dataclass

from dslc.codegen.aarch64.chunks.formats import BF16, F32, F64, SIGNED, UNSIGNED, Format
from dslc.compiler.dtypes import DType, Kind

Pairs = tuple[tuple[int, int], ...]
EDGE = 4  # panels and accumulators have room for whole multiples of so many rows and columns


@dataclass(frozen=True, slots=True)
class Unit:
    """A multiply-add: `template` takes the accumulator, a register of `a`, one of `b`."""

    name: str
    template: str
    a: Pairs
    b: Pairs
    c: Pairs
    a_format: Format
    b_format: Format
    c_format: Format

    @property
    def rows(self) -> int:
        """Rows of a register of a."""
        return 1 + max(m for m, _ in self.a)

    @property
    def columns(self) -> int:
        """Columns of a register of b."""
        return 1 + max(n for _, n in self.b)

    @property
    def depth(self) -> int:
        """Elements of k of a register of a."""
        return 1 + max(k for _, k in self.a)

    @property
    def step(self) -> int:
        """Elements of k of a register of b."""
        return 1 + max(k for k, _ in self.b)


def _pairs(rows: int, columns: int) -> Pairs:
    return tuple((i, j) for i in range(rows) for j in range(columns))


def _transposed(rows: int, columns: int) -> Pairs:
    return tuple((i, j) for j in range(columns) for i in range(rows))


PAIRS_OF_EIGHT = _transposed(8, 2)  # what a register of smmla holds of its second operand
QUADS = _transposed(4, 4)  # and one of sdot, by lane
_SQUARE = ((0, 0), (0, 1), (1, 0), (1, 1))


def _matrix(op: str, k: int, a: Format, b: Format, c: Format, *, swap: bool = False) -> Unit:
    name = a.arrangement
    order = "{2}.@, {1}.@" if swap else "{1}.@, {2}.@"
    template = f"{op} {{0}}.4s, {order}".replace("@", name)
    lanes = tuple((m, n) for n, m in _SQUARE) if swap else _SQUARE
    return Unit(op, template, _pairs(2, k), _transposed(k, 2), lanes, a, b, c)


def _by_lane(op: str, depth: int, step: int, a: Format, b: Format, c: Format, part: str) -> Unit:
    template = f"{op} {{0}}.{c.arrangement}, {{2}}.{b.arrangement}, {{1}}.{part}[LANE]"
    columns = c.lanes
    return Unit(
        op, template, _pairs(1, depth), _transposed(step, columns), _pairs(1, columns), a, b, c
    )


def unit_for(a: DType, b: DType, out: DType, rows: int, features: frozenset[str]) -> Unit | None:
    """The fastest unit for operands of these dtypes; None where there is none."""
    if out.name == "f64":
        return _by_lane("fmla", 2, 1, F64, F64, F64, "d")
    if out.is_float:
        if a.name == b.name == "bf16" and "bf16" in features and rows > 1:
            return _matrix("bfmmla", 4, BF16, BF16, F32)
        return _by_lane("fmla", 4, 1, F32, F32, F32, "s")
    if max(a.bits, b.bits) <= 8:
        of_bytes = _bytes(a.kind is not Kind.UINT, b.kind is not Kind.UINT, rows, features)
        if of_bytes is not None:
            return of_bytes
    if out.bits != 32:
        return None
    return _by_lane("mla", 4, 1, SIGNED[32], SIGNED[32], SIGNED[32], "s")


def _bytes(a: bool, b: bool, rows: int, features: frozenset[str]) -> Unit | None:
    forms = (SIGNED[8] if a else UNSIGNED[8], SIGNED[8] if b else UNSIGNED[8], SIGNED[32])
    if "i8mm" in features and rows > 1:
        if a != b:
            return _matrix("usmmla", 8, *forms, swap=a)
        return _matrix("smmla" if a else "ummla", 8, *forms)
    op = {(True, True): "sdot", (False, False): "udot", (True, False): "usdot"}.get((a, b), "sudot")
    if "dotprod" in features and (a == b or "i8mm" in features):
        return _by_lane(op, 16, 4, *forms, "4b")
    return None


@dataclass(frozen=True, slots=True)
class Problem:
    """Which register tile a product of m x n x k has (Blazingly Fast LLM Inference on Arm, IV D).

        min   sum over the tiles (l ep + f l hp + ep hp)   subject to the registers

    counted in instructions: a register of `a` is a load, one of `b` costs `unpacking` (a load alone,
    from a panel), an accumulator is loaded and stored; what edges compute in vain is counted as well.
    In registers are the accumulators (twice with `scaled`: what is summed, and what it is added to), a
    column's worth of b, and of a what one step reads before it is used. With `paired` the columns are
    those of codes that share bytes, and what takes them apart needs registers too.
    """

    unit: Unit
    m: int
    n: int
    k: int
    scaled: bool = False
    paired: bool = False
    unpacking: int = 1

    def solution(self) -> tuple[int, int]:
        """Rows and columns, in elements."""
        unit = self.unit
        least = unit.columns * (1 + self.paired)
        tiles = [
            (rows, columns)
            for rows in _sizes(unit.rows, self.m, 12)
            for columns in _sizes(least, self.n, 64)
            if self.held(rows, columns) <= _REGISTERS
        ]
        return min(tiles, key=lambda x: self.cost(*x), default=(unit.rows, unit.columns))

    def held(self, rows: int, columns: int) -> int:
        """The vector registers that a tile needs."""
        unit = self.unit
        across, down = columns // unit.columns, rows // unit.rows
        # Of an operand that one row (column) alone reads, nothing is held.
        of_b = across if down > 1 else 2
        of_a = 2 if unit.rows > 1 else down
        others = 2 * self.scaled + 3 * self.paired
        return down * across * (1 + self.scaled) + of_b + of_a + others

    def cost(self, rows: int, columns: int) -> float:
        """The instructions for all tiles."""
        high = _strips(self.m, rows, self.unit.rows)
        wide = _strips(self.n, columns, self.unit.columns)
        return sum(i * j * self._one(r, c) for r, i in high for c, j in wide)

    def _one(self, rows: int, columns: int) -> float:
        unit = self.unit
        across, down = columns / unit.columns, rows / unit.rows
        steps, parts = self.k / unit.depth, self.k / unit.step
        ends = 2 * across * down + 2 * across * self.scaled
        return steps * down + parts * across * (down + self.unpacking) + ends


_REGISTERS = 31  # and one for constants


def _strips(extent: int, size: int, least: int) -> list[tuple[int, int]]:
    """Sizes of strips along an axis, and how many there are: whole ones, then small ones."""
    tail = tail_of(size, least)
    return [(size, extent // size), (tail, -(-(extent % size) // tail))]


def tail_of(size: int, least: int) -> int:
    """The size of the strips behind the last whole one."""
    return min(size, max(least, EDGE if size > EDGE else size))


def _sizes(least: int, extent: int, most: int) -> list[int]:
    """Multiples of `least` up to the extent: those that end within whole fours, or divide one."""
    end = -(-extent // least) * least
    return [x for x in range(least, min(most, end) + 1, least) if x % 4 == 0 or 4 % x == 0]
