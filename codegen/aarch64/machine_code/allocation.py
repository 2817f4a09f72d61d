"""Register allocation by graph colouring, with spilling last (Chaitin 1982; Briggs et al. 1994).

Two registers interfere where one is defined while the other is live. Registers of low degree are put
aside first and coloured last; where none is left, the one that costs least to keep in memory goes on as
if it had a colour. Those that find none in the end are spilled: kept in the stack frame, or made again
where an instruction without operands made them, and loaded into a register of their own before each
use. Moves get equal registers where they may and then vanish.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dslc.codegen.aarch64.machine_code.blocks import Effect, File, Inst, Label, Line, Reg
from dslc.codegen.aarch64.machine_code.register_liveness import (
    Numbering,
    basic_blocks,
    members,
    solve,
)
from dslc.codegen.aarch64.machine_code.stream import Stream

# x18 belongs to the platform; x16 is kept for addresses of the frame. d8-d15 and x19-x28 are the
# caller's: they come last, since using them costs saves.
GENERAL = (*range(4, 16), 17, 3, 2, 1, 0, 30, *range(19, 30))
VECTORS = (*range(8), *range(16, 32), *range(8, 16))
_ORDER = {File.X: GENERAL, File.V: VECTORS}
_ROUNDS = 12


def allocate(lines: list[Line], stream: Stream) -> tuple[list[Line], dict[Reg, int]]:
    """The lines with what spilling adds and without needless moves, and each register's number."""
    spilled: set[Reg] = set()  # short by now: not spilled again
    for _ in range(_ROUNDS):
        lines = remove_dead(lines)
        numbering, adjacent, weights, moves = _interference(lines)
        numbers, failed = _colour(numbering, adjacent, weights, moves, spilled)
        if not failed:
            named = {reg: numbers[i] for i, reg in enumerate(numbering.regs)}
            return [line for line in lines if not _is_void(line, named)], named
        lines = _spill(lines, failed, stream, spilled)
    raise AssertionError("registers run out whatever is spilled")


def remove_dead(lines: list[Line]) -> list[Line]:
    """The lines without instructions whose results nobody reads."""
    numbering = Numbering(lines)
    while True:
        blocks = basic_blocks(lines)
        solve(lines, blocks, numbering)
        kept: list[Line] = []
        for block in reversed(blocks):
            live = block.live_out
            for line in reversed(lines[block.start : block.stop]):
                if isinstance(line, Inst):
                    writes = numbering.written[line]
                    pure = line.effect is not Effect.STORE and line.target is None
                    if pure and writes and not writes & live:
                        continue
                    live = live & ~writes | numbering.read[line]
                kept.append(line)
        kept.reverse()
        if len(kept) == len(lines):
            return kept
        lines = kept


def loop_depths(lines: Sequence[Line]) -> list[int]:
    """How many loops are around each line: a loop is what lies behind a backward jump's label."""
    places = {line: at for at, line in enumerate(lines) if isinstance(line, Label)}
    change = [0] * (len(lines) + 1)
    for at, line in enumerate(lines):
        if isinstance(line, Inst) and line.target in places and places[line.target] <= at:
            change[places[line.target]] += 1
            change[at + 1] -= 1
    depths, depth = [], 0
    for step in change[:-1]:
        depth += step
        depths.append(depth)
    return depths


def _interference(
    lines: Sequence[Line],
) -> tuple[Numbering, list[set[int]], list[float], list[tuple[int, int]]]:
    """The registers by number, those that each interferes with, the costs of spilling, the moves."""
    numbering = Numbering(lines)
    blocks = basic_blocks(lines)
    solve(lines, blocks, numbering)
    depths = loop_depths(lines)
    number, regs = numbering.number, numbering.regs
    files = {f: sum(1 << i for i, r in enumerate(regs) if r.file is f) for f in File}
    near = [0] * len(regs)  # sets as bits of integers
    weights = [0.0] * len(regs)
    moves: list[tuple[int, int]] = []
    for block in blocks:
        live = block.live_out
        for at in range(block.stop - 1, block.start - 1, -1):
            line = lines[at]
            if not isinstance(line, Inst):
                continue
            cost = 10.0 ** min(depths[at], 6)
            for reg in line.operands:
                weights[number[reg]] += cost
            written = numbering.written[line]
            beside = live | written
            if line.is_move:  # its operands may be one register
                a, source = (number[r] for r in line.operands)
                moves.append((a, source))
                beside &= ~(1 << source)
            for reg in line.defined:
                near[number[reg]] |= beside & files[reg.file]
            live = live & ~written | numbering.read[line]
    beside_each = [members(bits & ~(1 << i)) for i, bits in enumerate(near)]
    adjacent = [set(neighbours) for neighbours in beside_each]
    for i, neighbours in enumerate(beside_each):
        for j in neighbours:
            adjacent[j].add(i)
    return numbering, adjacent, weights, moves


def _colour(
    numbering: Numbering,
    adjacent: list[set[int]],
    weights: list[float],
    moves: list[tuple[int, int]],
    spilled: set[Reg],
) -> tuple[list[int], list[Reg]]:
    regs = numbering.regs
    count = len(regs)
    numbers = [-1 if r.fixed is None else r.fixed for r in regs]
    neighbours = [sorted(a) for a in adjacent]
    degrees = [len(n) for n in neighbours]
    limits = [len(_ORDER[r.file]) for r in regs]
    waiting = {i for i in range(count) if numbers[i] < 0}
    low = [i for i in waiting if degrees[i] < limits[i]]
    stack: list[int] = []

    def price(i: int) -> float:
        """What spilling costs for each register that it frees; what was spilled is short already."""
        again = 1e9 if regs[i] in spilled else 0.5 if regs[i].remade else 1
        return weights[i] * again / (1 + degrees[i])

    by_price = sorted(waiting, key=price, reverse=True)
    while waiting:
        while low:
            i = low.pop()
            if i in waiting:
                _put_aside(i, waiting, neighbours, degrees, limits, low, stack)
        while by_price and by_price[-1] not in waiting:
            by_price.pop()
        if by_price:
            _put_aside(by_price.pop(), waiting, neighbours, degrees, limits, low, stack)
    hints: dict[int, list[int]] = {}
    for a, b in moves:
        hints.setdefault(a, []).append(b)
        hints.setdefault(b, []).append(a)
    failed = []
    for i in reversed(stack):
        taken = {numbers[j] for j in neighbours[i] if numbers[j] >= 0}
        order = _ORDER[regs[i].file]
        wanted = [numbers[j] for j in hints.get(i, ()) if numbers[j] in order]
        free = next((n for n in (*wanted, *order) if n not in taken), None)
        if free is None:
            failed.append(regs[i])
        else:
            numbers[i] = free
    return numbers, failed


def _put_aside(
    i: int,
    waiting: set[int],
    neighbours: list[list[int]],
    degrees: list[int],
    limits: list[int],
    low: list[int],
    stack: list[int],
) -> None:
    waiting.discard(i)
    stack.append(i)
    for j in neighbours[i]:
        degrees[j] -= 1
        if degrees[j] == limits[j] - 1 and j in waiting:
            low.append(j)


def _spill(lines: list[Line], failed: list[Reg], stream: Stream, spilled: set[Reg]) -> list[Line]:
    """Each use of a spilled register reads it from the frame, each definition writes it there."""
    homes = {r: None if r.remade else stream.frame(16) for r in failed}
    out: list[Line] = []
    for line in lines:
        if not isinstance(line, Inst) or not any(r in homes for r in line.operands):
            out.append(line)
            continue
        fresh = {r: Reg(r.file, remade=None) for r in line.operands if r in homes}
        spilled.update(fresh.values())
        if line.defined and line.defined[0] in homes and line.defined[0].remade is not None:
            continue  # made again where it is used
        for reg in dict.fromkeys(r for r in line.used if r in homes):
            out.append(_reload(reg, fresh[reg], homes[reg]))
        out.append(replace(line, operands=tuple(fresh.get(r, r) for r in line.operands)))
        for reg in line.defined:
            if reg in homes:
                slot = f"{{0:{_name(reg)}}}"
                text = f"str {slot}, [sp, #{homes[reg]}]"
                out.append(Inst(text, (fresh[reg],), effect=Effect.STORE, alias=("spill", reg)))
    return out


def _reload(reg: Reg, fresh: Reg, home: int | None) -> Inst:
    if reg.remade is not None:
        return replace(reg.remade, operands=(fresh,))
    text = f"ldr {{0:{_name(reg)}}}, [sp, #{home}]"
    return Inst(text, (fresh,), 1, effect=Effect.LOAD, alias=("spill", reg))


def _name(reg: Reg) -> str:
    return "q" if reg.file is File.V else "x"


def _is_void(line: Line, numbers: dict[Reg, int]) -> bool:
    return isinstance(line, Inst) and line.is_move and len({numbers[r] for r in line.operands}) == 1
