"""Which registers are live where: backward data flow over basic blocks, sets as bits of integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dslc.codegen.aarch64.machine_code.blocks import Inst, Label, Line, Reg


@dataclass(slots=True)
class BasicBlock:
    """Lines from `start` up to `stop` (exclusive), entered at the first and left at the last."""

    start: int
    stop: int
    successors: list[int] = field(default_factory=list)
    live_out: int = 0


class Numbering:
    """Virtual registers by number, so that a set of them is an integer's bits.

    `written` and `read` are the sets of each instruction. What was numbered once stays so in any part
    of the lines.
    """

    def __init__(self, lines: Sequence[Line]) -> None:
        self.regs: list[Reg] = []
        self.number: dict[Reg, int] = {}
        self.written: dict[Inst, int] = {}
        self.read: dict[Inst, int] = {}
        masks: dict[Reg, int] = {}
        for line in lines:
            if not isinstance(line, Inst):
                continue
            writes = reads = 0
            results, reads_result = line.results, line.reads_result
            for at, reg in enumerate(line.operands):
                mask = masks.get(reg)
                if mask is None:
                    self.number[reg] = len(self.regs)
                    masks[reg] = mask = 1 << len(self.regs)
                    self.regs.append(reg)
                if at < results:
                    writes |= mask
                if at >= results or reads_result:
                    reads |= mask
            self.written[line], self.read[line] = writes, reads

    def registers(self, bits: int) -> set[Reg]:
        """The registers of a set."""
        return {self.regs[i] for i in members(bits)}


_BITS = tuple(tuple(j for j in range(8) if byte >> j & 1) for byte in range(256))


def members(bits: int) -> list[int]:
    """The numbers of the bits that are set; byte by byte, since shifting long numbers is not free."""
    data = bits.to_bytes(-(-bits.bit_length() // 8), "little")
    return [8 * k + j for k, byte in enumerate(data) if byte for j in _BITS[byte]]


def basic_blocks(lines: Sequence[Line]) -> list[BasicBlock]:
    """The blocks in order with their successors."""
    starts = [0]
    for at, line in enumerate(lines):
        if isinstance(line, Label) and at:
            starts.append(at)
        elif isinstance(line, Inst) and line.target is not None and at + 1 < len(lines):
            starts.append(at + 1)
    starts = sorted(set(starts))
    blocks = [
        BasicBlock(a, b) for a, b in zip(starts, [*starts[1:], len(lines)], strict=True) if a < b
    ]
    labels = {lines[b.start]: i for i, b in enumerate(blocks) if isinstance(lines[b.start], Label)}
    for i, block in enumerate(blocks):
        last = lines[block.stop - 1]
        jumps = isinstance(last, Inst) and last.target is not None
        if jumps:
            assert isinstance(last, Inst)
            if last.target in labels:
                block.successors.append(labels[last.target])
        falls = not (isinstance(last, Inst) and last.unconditional)
        if falls and i + 1 < len(blocks):
            block.successors.append(i + 1)
    return blocks


def solve(lines: Sequence[Line], blocks: list[BasicBlock], numbering: Numbering) -> None:
    """Fill in what is live at the end of every block."""
    used, defined = [], []
    written, read = numbering.written, numbering.read
    for block in blocks:
        reads = writes = 0
        for line in lines[block.start : block.stop]:
            if isinstance(line, Inst):
                reads |= read[line] & ~writes
                writes |= written[line]
        used.append(reads)
        defined.append(writes)
    live_in = [0] * len(blocks)
    changed = True
    while changed:
        changed = False
        for i in range(len(blocks) - 1, -1, -1):
            out = 0
            for s in blocks[i].successors:
                out |= live_in[s]
            blocks[i].live_out = out
            entering = used[i] | (out & ~defined[i])
            if entering != live_in[i]:
                live_in[i] = entering
                changed = True
