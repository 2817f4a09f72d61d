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

from dslc.codegen.aarch64.formats import BF16, F32, F64, SIGNED, UNSIGNED, Format
from dslc.compiler.dtypes import DType, Kind

Pairs = tuple[tuple[int, int], ...]


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
    folded: bool = False  # neighbouring lanes of the accumulators are summed in the end

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


def _turned(rows: int, columns: int) -> Pairs:
    return tuple((i, j) for j in range(columns) for i in range(rows))


_SQUARE = ((0, 0), (0, 1), (1, 0), (1, 1))


def _matrix(op: str, k: int, a: Format, b: Format, c: Format, *, swap: bool = False) -> Unit:
    name = a.arrangement
    order = "{2}.@, {1}.@" if swap else "{1}.@, {2}.@"
    template = f"{op} {{0}}.4s, {order}".replace("@", name)
    lanes = tuple((m, n) for n, m in _SQUARE) if swap else _SQUARE
    return Unit(op, template, _pairs(2, k), _turned(k, 2), lanes, a, b, c)


def _by_lane(op: str, depth: int, step: int, a: Format, b: Format, c: Format, part: str) -> Unit:
    template = f"{op} {{0}}.{c.arrangement}, {{2}}.{b.arrangement}, {{1}}.{part}[LANE]"
    columns = c.lanes
    return Unit(op, template, _pairs(1, depth), _turned(step, columns), _pairs(1, columns), a, b, c)


def unit_for(a: DType, b: DType, out: DType, rows: int, features: frozenset[str]) -> Unit | None:
    """The fastest unit for operands of these dtypes; None where there is none."""
    if out.name == "f64":
        return _by_lane("fmla", 2, 1, F64, F64, F64, "d")
    if out.is_float:
        if a.name == b.name == "bf16" and "bf16" in features and rows > 1:
            return _matrix("bfmmla", 4, BF16, BF16, F32)
        return _by_lane("fmla", 4, 1, F32, F32, F32, "s")
    if max(a.bits, b.bits) <= 8:
        found = _bytes(a.kind is not Kind.UINT, b.kind is not Kind.UINT, rows, features)
        if found is not None:
            return found
    if out.bits != 32 or max(a.bits, b.bits) > 32:
        return None
    return _by_lane("mla", 4, 1, SIGNED[32], SIGNED[32], SIGNED[32], "s")


def _bytes(a: bool, b: bool, rows: int, features: frozenset[str]) -> Unit | None:
    forms = (SIGNED[8] if a else UNSIGNED[8], SIGNED[8] if b else UNSIGNED[8], SIGNED[32])
    if "i8mm" in features and rows > 1:
        if a != b:
            return _matrix("usmmla", 8, *forms, swap=a)
        return _matrix("smmla" if a else "ummla", 8, *forms)
    if "i8mm" in features:
        return _pairwise(a, b, *forms)
    if "dotprod" in features and a == b:
        return _by_lane("sdot" if a else "udot", 16, 4, *forms, "4b")
    return None


def _pairwise(a: bool, b: bool, x: Format, y: Format, z: Format) -> Unit:
    """One row against registers of smmla's order: 8 of k of two columns, in four sums."""
    op = {(True, True): "sdot", (False, False): "udot"}.get((a, b), "usdot")
    order = "{2}.16b, {1}.16b" if (a and not b) else "{1}.16b, {2}.16b"
    lanes = tuple((0, k) for _ in range(2) for k in range(8))
    sums = ((0, 0), (0, 0), (0, 1), (0, 1))
    template = f"{op} {{0}}.4s, {order}"
    return Unit(op, template, lanes, _turned(8, 2), sums, x, y, z, folded=True)


def register_tile(unit: Unit, m: int, n: int, k: int) -> tuple[int, int]:
    """Rows and columns of the tile that is held in accumulators, in elements.

    min  e/ep h/hp (l hp + l ep + hp ep)  subject to the registers: accumulators, a column's worth of b,
    and of a what one step reads before it is used (Blazingly Fast LLM Inference on Arm, section IV D).
    """
    best, cost = (unit.rows, unit.columns), float("inf")
    streams = unit.rows > 1 or unit.folded
    for rows in _sizes(unit.rows, m, 12):
        for columns in _sizes(unit.columns, n, 64):
            across = columns // unit.columns
            down = rows // unit.rows
            # Of an operand that one row (column) alone reads, nothing is held.
            held = down * across + (across if down > 1 else 2) + (2 if streams else down)
            if held > 30 or (unit.folded and across % 2) or across > 24:
                continue
            visits = m / rows * n / columns
            found = visits * (k * columns + k * rows + rows * columns)
            if found < cost:
                best, cost = (rows, columns), found
    return best


def _sizes(least: int, extent: int, most: int) -> list[int]:
    """Multiples of `least` up to the extent: those that end within whole fours, or divide one."""
    end = -(-extent // least) * least
    return [x for x in range(least, min(most, end) + 1, least) if x % 4 == 0 or 4 % x == 0]
