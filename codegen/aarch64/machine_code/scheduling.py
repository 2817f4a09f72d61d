"""Instructions of loops in an order that hides their latencies: list scheduling before allocation.

A region is straight code between labels, jumps and remarks. Of the instructions whose operands are
ready the one with the longest way to the region's end goes first, as far as pipes and width allow by
`timing`: loads move ahead of the multiply-adds of the step before, as many as registers are free. An
order that would need more registers than there are, or than it did before, is not taken.

    ldr q0, [x2]                ldr q0, [x2]
    smmla v8, v0, v4            ldr q1, [x2, #16]
    ldr q1, [x2, #16]     ->    smmla v8, v0, v4
    smmla v9, v1, v4            smmla v9, v1, v4
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dslc.codegen.aarch64.machine_code.allocation import loop_depths
from dslc.codegen.aarch64.machine_code.blocks import Effect, File, Inst, Line, Reg
from dslc.codegen.aarch64.machine_code.register_liveness import Numbering, basic_blocks, solve
from dslc.codegen.aarch64.machine_code.timing import PIPES, WIDTH, timing

_LONGEST = 600  # instructions of a region: what takes quadratic time ends here
_REACHES = (32, 16, 8)  # how far an instruction may move ahead of the first that is left
_SPARE = {File.V: 30, File.X: 24}  # registers that an order may use, others being needed by moves


def scheduled(lines: list[Line]) -> list[Line]:
    """The lines with the regions of inner loops in their best order."""
    numbering = Numbering(lines)
    blocks = basic_blocks(lines)
    solve(lines, blocks, numbering)
    depths = loop_depths(lines)
    out: list[Line] = []
    for block in blocks:
        if depths[block.start] < 2:
            out += lines[block.start : block.stop]
            continue
        live = numbering.registers(block.live_out)
        parts: list[list[Line]] = []
        for part in reversed(list(_regions(lines[block.start : block.stop]))):
            insts = [x for x in part if isinstance(x, Inst)]
            plain = len(insts) == len(part) and 2 < len(insts) <= _LONGEST
            parts.append(list(_best(insts, frozenset(live))) if plain else part)
            for inst in reversed(insts):
                live -= set(inst.defined)
                live |= set(inst.used)
        for part in reversed(parts):
            out += part
    return out


def _regions(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Runs of instructions that do not jump, and each other line by itself."""
    run: list[Line] = []
    for line in lines:
        if isinstance(line, Inst) and line.target is None:
            run.append(line)
            continue
        if run:
            yield run
            run = []
        yield [line]
    if run:
        yield run


@dataclass(slots=True)
class _Node:
    """An instruction, what waits for it and how long, how many it waits for, the way to the end."""

    inst: Inst
    after: dict[int, int] = field(default_factory=dict)
    waits: int = 0
    way: int = 0


def dependences(insts: Sequence[Inst]) -> list[_Node]:
    """Which instructions have to follow which: by registers and by memory."""
    nodes = [_Node(inst) for inst in insts]
    writer: dict[Reg, int] = {}
    readers: defaultdict[Reg, list[int]] = defaultdict(list)
    stores: dict[object, int] = {}
    loads: defaultdict[object, list[int]] = defaultdict(list)

    def follow(first: int, second: int, distance: int) -> None:
        if first != second:
            after = nodes[first].after
            after[second] = max(after.get(second, 0), distance)

    for at, inst in enumerate(insts):
        for reg in inst.used:
            if reg in writer:
                written = timing(insts[writer[reg]])
                chained = inst.reads_result and reg in inst.defined
                forwarded = chained and insts[writer[reg]].mnemonic == inst.mnemonic
                follow(writer[reg], at, written.forwarded if forwarded else written.latency)
        for reg in inst.defined:
            for reader in readers[reg]:
                follow(reader, at, 0)
            if reg in writer:
                follow(writer[reg], at, 1)
        for reg in inst.used:
            readers[reg].append(at)
        for reg in inst.defined:
            writer[reg] = at
            readers[reg] = [at] if inst.reads_result else []
        if inst.effect is not Effect.NONE:
            if inst.alias in stores:
                follow(stores[inst.alias], at, 1)
            if inst.effect is Effect.STORE:
                for reader in loads.pop(inst.alias, []):
                    follow(reader, at, 0)
                stores[inst.alias] = at
            else:
                loads[inst.alias].append(at)
    for node in reversed(nodes):
        for second, distance in node.after.items():
            nodes[second].waits += 1
            node.way = max(node.way, distance + nodes[second].way)
        node.way = max(node.way, timing(node.inst).latency) if not node.after else node.way
    return nodes


class _Pressure:
    """How many registers are live, as instructions are put one after another."""

    def __init__(self, insts: Sequence[Inst], live_out: frozenset[Reg]) -> None:
        self.sets = {i: (set(i.defined), set(i.used)) for i in insts}
        self.left = Counter(r for _, used in self.sets.values() for r in used)
        self.kept = live_out
        written: set[Reg] = set()
        self.live: set[Reg] = set()
        for inst in insts:
            self.live |= {r for r in inst.used if r not in written}
            written.update(inst.defined)
        self.live |= live_out - written
        self.count = dict.fromkeys(File, 0)
        for reg in self.live:
            self.count[reg.file] += 1
        self.peak = dict(self.count)

    def change(self, inst: Inst) -> dict[File, int]:
        """What the instruction adds to the live registers of files."""
        changes: dict[File, int] = {}
        defined, used = self.sets[inst]
        for reg in defined:
            if reg not in self.live:
                changes[reg.file] = changes.get(reg.file, 0) + 1
        for reg in used:
            if self.left[reg] == 1 and reg not in self.kept and reg not in defined:
                changes[reg.file] = changes.get(reg.file, 0) - 1
        return changes

    def take(self, inst: Inst) -> None:
        """Put the instruction next."""
        for file, change in self.change(inst).items():
            self.count[file] += change
            self.peak[file] = max(self.peak[file], self.count[file])
        defined, used = self.sets[inst]
        for reg in used:
            self.left[reg] -= 1
            if not self.left[reg] and reg not in self.kept and reg not in defined:
                self.live.discard(reg)
        self.live |= defined


def _best(insts: Sequence[Inst], live_out: frozenset[Reg]) -> Sequence[Inst]:
    """The region in its new order, or as it was."""
    before = _Pressure(insts, live_out)
    for inst in insts:
        before.take(inst)
    most = {f: max(_SPARE[f], before.peak[f]) for f in File}
    for reach in _REACHES:
        pressure = _Pressure(insts, live_out)
        order = _Order(dependences(insts), pressure, most, reach).instructions()
        if order is not None:
            return order
    return insts


class _Order:
    """A region cycle by cycle: the ready instructions, those with the longest way first."""

    def __init__(
        self, nodes: list[_Node], pressure: _Pressure, most: dict[File, int], reach: int
    ) -> None:
        self.nodes, self.pressure, self.most, self.reach = nodes, pressure, most, reach
        self.first, self.taken = 0, [False] * len(nodes)
        self.waits = [n.waits for n in nodes]
        self.earliest = [0] * len(nodes)
        self.ready = [(-n.way, i) for i, n in enumerate(nodes) if not n.waits]
        heapq.heapify(self.ready)
        self.cycle, self.free, self.width = 0, dict(PIPES), WIDTH

    def instructions(self) -> list[Inst] | None:
        """The region in order; None where registers run out."""
        out = []
        while self.ready:
            at = self._next()
            if at is None:
                return None
            out.append(self.nodes[at].inst)
            self._take(at)
        return out

    def _next(self) -> int | None:
        """The instruction that goes next; None where the registers left are enough for none."""
        while True:
            passed, chosen, late = [], None, False
            while self.ready and chosen is None:
                key = heapq.heappop(self.ready)
                inst = self.nodes[key[1]].inst
                if key[1] > self.first + self.reach or not self._fits(inst):
                    passed.append(key)
                elif self.earliest[key[1]] > self.cycle or not self._has_room(inst):
                    late = True
                    passed.append(key)
                else:
                    chosen = key[1]
            if chosen is None and not late:
                return None
            for key in passed:
                heapq.heappush(self.ready, key)
            if chosen is not None:
                return chosen
            self.cycle, self.free, self.width = self.cycle + 1, dict(PIPES), WIDTH

    def _fits(self, inst: Inst) -> bool:
        change = self.pressure.change(inst)
        return all(n <= 0 or self.pressure.count[f] + n <= self.most[f] for f, n in change.items())

    def _has_room(self, inst: Inst) -> bool:
        return self.width > 0 and self.free[timing(inst).pipe] > 0

    def _take(self, at: int) -> None:
        node = self.nodes[at]
        self.taken[at] = True
        while self.first < len(self.taken) and self.taken[self.first]:
            self.first += 1
        self.pressure.take(node.inst)
        self.free[timing(node.inst).pipe] -= 1
        self.width -= 1
        for second, distance in node.after.items():
            self.waits[second] -= 1
            self.earliest[second] = max(self.earliest[second], self.cycle + distance)
            if not self.waits[second]:
                heapq.heappush(self.ready, (-self.nodes[second].way, second))
