"""Which registers of the operands one matrix instruction takes, found from the layouts alone.

A lane's element of an operand lies at (row, depth): a row of a, or a column of b, with the batch; the
depth is its index along k. An instruction fixes which lanes and registers share a row and a depth, not
which rows and depths they are: any map of its rows to the operand's serves as long as the accumulator
has the same one, and any order of k as long as both operands have the same one. So the registers are
matched by these functions of the thread, and a layout serves exactly if the match is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from dslc.compiler.layout import Layout
from numpy.typing import NDArray

Indices = NDArray[np.int64]


class Mismatch(Exception):
    """Why the layouts of a product do not fit the instruction."""


@dataclass(frozen=True, slots=True)
class Step:
    """The registers of one instruction: elements of a and b word by word, and of the accumulator."""

    a: tuple[int, ...]  # the first element of each register; its others follow
    b: tuple[int, ...]
    c: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """All instructions of a product, k outermost.

    `gather_a` and `gather_b` list the elements of the operand in the order that the steps count in,
    where its own registers do not hold the neighbours along k that the other operand's hold.
    """

    steps: tuple[Step, ...]
    gather_a: tuple[int, ...] | None = None
    gather_b: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Sides:
    """One operand: for each element and thread its row (or column, with the batch) and its depth."""

    rows: Indices  # [elements, threads]
    depths: Indices
    size: int  # how many depths there are
    lines: int  # how many rows a batch has


@dataclass(frozen=True, slots=True)
class Slots:
    """An atom's operand register by register: which block of rows, which block of k."""

    line: Indices  # [lanes]: the row within a block, of each lane
    lane_depth: Indices  # [lanes]: what decides a lane's depths
    blocks: tuple[int, ...]  # of each register: its block of rows
    depths: tuple[int, ...]  # of each register: its block of k


@dataclass(frozen=True, slots=True)
class Operand:
    """A product's operand against its slots in the instruction.

    `lines` gives for each row (a function of the thread, as bytes) the element at each depth (another
    such function), in the order of the elements.
    """

    sides: Sides
    slots: Slots
    lines: dict[bytes, dict[bytes, int]]


def plan(a: Layout, b: Layout, c: Layout, atom: tuple[Layout, Layout, Layout], per: int) -> Plan:
    """Match a product's registers to an instruction's; `per` is how many elements a register holds.

    `a` is [..., m, k], `b` [..., k, n] and `c` [..., m, n], over the threads of a block; `atom` has the
    layouts of the instruction's operands. Raises Mismatch where they do not fit.
    """
    rank = c.rank
    left = _operand(sides(a, rank - 2, rank - 1), _slots(atom[0], 0, per), "the left operand")
    right = _operand(sides(b, rank - 1, rank - 2), _slots(atom[1], 1, per), "the right operand")
    words, gathered = _order(left, right, per)
    count = max(left.slots.depths) + 1
    if len(words) % count:
        raise Mismatch(f"a thread has {len(words)} registers along k, not a multiple of {count}")
    at_a, gather_a = _registers(left, words, gathered == "a")
    at_b, gather_b = _registers(right, words, gathered == "b")
    meetings = _meetings(c, atom[2], left, right)
    steps = [
        Step(
            tuple(
                at_a[rows[block], k + depth]
                for block, depth in zip(left.slots.blocks, left.slots.depths, strict=True)
            ),
            tuple(at_b[column, k + depth] for depth in right.slots.depths),
            registers,
        )
        for k in range(0, len(words), count)
        for rows, column, registers in meetings
    ]
    return Plan(tuple(steps), gather_a, gather_b)


def sides(layout: Layout, row_axis: int, depth_axis: int) -> Sides:
    """Rows and depths of an operand of shape [..., m, k] or [..., k, n]."""
    table = np.moveaxis(layout.table(), 1, 0)
    batch = np.zeros(table.shape[:2], np.int64)
    for d, extent in enumerate(layout.shape[:-2]):
        batch = batch * extent + table[..., d]
    rows = batch * layout.shape[row_axis] + table[..., row_axis]
    return Sides(rows, table[..., depth_axis], layout.shape[depth_axis], layout.shape[row_axis])


def _slots(layout: Layout, row_axis: int, per: int) -> Slots:
    table = layout.table()
    rows, depths = table[..., row_axis][:, ::per], table[..., 1 - row_axis][:, ::per]
    blocks, first = _numbered(rows)
    deep, low = _numbered(depths)
    return Slots(rows[:, first], depths[:, low], blocks, deep)


def _numbered(columns: Indices) -> tuple[tuple[int, ...], int]:
    """The number of each column among the different ones, in ascending order; where the least is."""
    keys = [tuple(column) for column in columns.T]
    ordered = sorted(set(keys))
    return tuple(ordered.index(k) for k in keys), keys.index(ordered[0])


def _operand(x: Sides, slots: Slots, what: str) -> Operand:
    _follows(x.rows, slots.line, f"the rows of {what}")
    _follows(x.depths, slots.lane_depth, f"the k indices of {what}")
    lines: dict[bytes, dict[bytes, int]] = {}
    for i, (row, depth) in enumerate(zip(x.rows, x.depths, strict=True)):
        lines.setdefault(row.tobytes(), {})[depth.tobytes()] = i
    _, first = np.unique(slots.lane_depth, return_index=True)
    wanted, lanes = np.arange(x.size), len(slots.line)
    for elements in lines.values():
        held = x.depths[list(elements.values())].reshape(len(elements), -1, lanes)[..., first]
        held = np.sort(np.moveaxis(held, 1, 0).reshape(held.shape[1], -1), axis=-1)
        if held.shape[-1] != x.size or not (held == wanted).all():
            raise Mismatch(f"a warp does not hold all of k for the rows of {what} that it has")
    return Operand(x, slots, lines)


def _follows(values: Indices, lanes: Indices, what: str) -> None:
    """Within a warp the values depend on a lane's place in the instruction only."""
    _, first, inverse = np.unique(lanes, return_index=True, return_inverse=True)
    by_warp = values.reshape(len(values), -1, len(lanes))
    if not (by_warp == by_warp[..., first[inverse.reshape(-1)]]).all():
        raise Mismatch(f"{what} are not spread over the lanes as the instruction has them")


Word = tuple[bytes, ...]


def _order(a: Operand, b: Operand, per: int) -> tuple[list[Word], str]:
    """The registers along k that both operands are to have, and which operand must be gathered.

    The operand with more registers keeps its own.
    """
    ways = {"a": _words(a, per), "b": _words(b, per)}
    count = {"a": sum(map(len, a.lines.values())), "b": sum(map(len, b.lines.values()))}
    names = sorted(ways, key=lambda name: (ways[name] is None, -count[name], name))
    kept, other = ways[names[0]], ways[names[1]]
    if kept is None:
        raise Mismatch("neither operand holds neighbours along k in one register")
    wanted = {depth for word in kept for depth in word}
    if any(set(line) != wanted for x in (a, b) for line in x.lines.values()):
        raise Mismatch("the lanes of a warp do not hold the same k of both operands")
    return kept, "" if other is not None and set(other) == set(kept) else names[1]


def _words(x: Operand, per: int) -> list[Word] | None:
    """The registers along k of an operand, the same in all lines; None where they are mixed."""
    of_first: list[Word] | None = None
    for line in x.lines.values():
        depths = {i: depth for depth, i in line.items()}
        starts = [i for i in depths if i % per == 0]
        if len(starts) * per != len(line) or any(
            s + p not in depths for s in starts for p in range(per)
        ):
            return None
        words = [tuple(depths[s + p] for p in range(per)) for s in starts]
        if of_first is not None and set(of_first) != set(words):
            return None
        of_first = of_first or words
    return of_first


def _registers(
    x: Operand, words: list[Word], gathered: bool
) -> tuple[dict[tuple[bytes, int], int], tuple[int, ...] | None]:
    """The first element of the register of each row and place along k."""
    at: dict[tuple[bytes, int], int] = {}
    order: list[int] = []
    for row, line in x.lines.items():
        for k, word in enumerate(words):
            at[row, k] = len(order) if gathered else line[word[0]]
            order += [line[depth] for depth in word]
    return at, tuple(order) if gathered else None


Meeting = tuple[tuple[bytes, ...], bytes, tuple[int, ...]]


def _meetings(c: Layout, atom: Layout, a: Operand, b: Operand) -> list[Meeting]:
    """Rows of a (one a block), a column of b, and the accumulators in which they meet."""
    lying, across = sides(c, c.rank - 2, c.rank - 1), sides(c, c.rank - 1, c.rank - 2)
    held = {
        (row.tobytes(), column.tobytes()): i
        for i, (row, column) in enumerate(zip(lying.rows, across.rows, strict=True))
    }
    at = atom.table()
    meetings: list[Meeting] = []
    for rows in _groups(a):
        to_row = _places(rows, a.slots.line)
        for column in b.lines:
            to_column = _places((column,), b.slots.line)
            registers = [
                held.get((to_row[:, at[:, j, 0]].tobytes(), to_column[:, at[:, j, 1]].tobytes()))
                for j in range(atom.locals)
            ]
            whole = tuple(r for r in registers if r is not None)
            if len(whole) == len(registers):
                meetings.append((rows, column, whole))
            elif whole:
                raise Mismatch("the accumulator is not spread over the lanes as the operands are")
    if {r for _, _, registers in meetings for r in registers} != set(range(c.locals)):
        raise Mismatch("the warps do not hold the operands of the accumulators that they have")
    return meetings


def _groups(a: Operand) -> list[tuple[bytes, ...]]:
    """The rows of one batch in groups of one instruction, in the order of the registers."""
    blocks = max(a.slots.blocks) + 1
    batches: dict[bytes, list[bytes]] = {}
    for row in a.lines:
        batch = np.frombuffer(row, np.int64) // a.sides.lines
        batches.setdefault(batch.tobytes(), []).append(row)
    if any(len(rows) % blocks for rows in batches.values()):
        raise Mismatch(f"the rows of a thread are not a multiple of {blocks}")
    return [
        tuple(rows[i : i + blocks])
        for rows in batches.values()
        for i in range(0, len(rows), blocks)
    ]


def _places(rows: Sequence[bytes], line: Indices) -> Indices:
    """From a row of the instruction to a row of the operand: [warps, rows]."""
    size = int(line.max()) + 1
    values = [np.frombuffer(row, np.int64).reshape(-1, len(line)) for row in rows]
    out = np.zeros((len(values[0]), size * len(rows)), np.int64)
    for block, one in enumerate(values):
        out[:, block * size + line] = one
    return out
