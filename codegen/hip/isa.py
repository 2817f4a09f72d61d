"""The compiler's ISA text read back: instructions by class, loops, and what a main loop is made of.

    code = read_isa(text)["gemm"]
    code.main_loop().mix()      # {"matrix": 128, "lds": 32, "scalar": 30, ...}

A loop is what lies between a label and the last branch back to it; the main loop is the one with the
most matrix instructions, or else with the most instructions.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

_FUNCTION = re.compile(r"^([A-Za-z_]\w*):(?:\s|$)")
_LABEL = re.compile(r"^(\.LBB\w+):")
_END = "\t.section"
_MATRIX = "v_mfma"
_WAITS = ("s_waitcnt", "s_barrier", "s_nop", "s_sleep", "s_setprio", "s_sched")
_PREFIXES = (
    ("matrix", ("v_mfma", "v_smfmac")),
    ("lds", ("ds_",)),
    ("memory", ("buffer_", "global_", "flat_")),
    ("scratch", ("scratch_",)),
    ("sync", _WAITS),
    ("vector", ("v_",)),
    ("scalar", ("s_",)),
)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its mnemonic and its operands."""

    opcode: str
    operands: str = ""

    @property
    def kind(self) -> str:
        """Its class: matrix, lds, memory, scratch, vector, scalar, or sync for waits and barriers."""
        kinds = (k for k, prefixes in _PREFIXES if self.opcode.startswith(prefixes))
        return next(kinds, "scalar")

    @property
    def target(self) -> str:
        """The label that a branch goes to, empty for anything else."""
        return self.operands if self.opcode.startswith(("s_cbranch", "s_branch")) else ""


@dataclass(frozen=True, slots=True)
class Code:
    """Instructions in a row, a function or one of its loops, and the labels before them."""

    name: str
    instructions: tuple[Instruction, ...]
    labels: tuple[tuple[str, int], ...] = ()

    def __len__(self) -> int:
        """How many instructions there are."""
        return len(self.instructions)

    def mix(self) -> dict[str, int]:
        """How many instructions there are of each class, the most frequent first."""
        return dict(Counter(i.kind for i in self.instructions).most_common())

    def count(self, *prefixes: str) -> int:
        """How many instructions begin with one of these: `v_mfma`, `s_waitcnt`."""
        return sum(i.opcode.startswith(prefixes) for i in self.instructions)

    def share(self, kind: str) -> float:
        """The part of a class in all instructions."""
        return self.mix().get(kind, 0) / len(self) if len(self) else 0.0

    def loops(self) -> tuple[Code, ...]:
        """The loops in the order of their heads; two branches to one head are one loop."""
        heads = dict(self.labels)
        ends: dict[int, int] = {}
        for number, instruction in enumerate(self.instructions):
            head = heads.get(instruction.target)
            if head is not None and head <= number:
                ends[head] = number
        return tuple(
            Code(self.name, self.instructions[head : end + 1]) for head, end in sorted(ends.items())
        )

    def main_loop(self) -> Code | None:
        """The loop with the most matrix instructions, else the longest; the innermost of equals."""
        loops = self.loops()
        if any(loop.count(_MATRIX) for loop in loops):
            return max(loops, key=lambda c: (c.count(_MATRIX), -len(c)))
        return max(loops, key=len, default=None)


def read_isa(text: str) -> dict[str, Code]:
    """The functions of an ISA text by name."""
    kernels: dict[str, Code] = {}
    name = ""
    instructions: list[Instruction] = []
    labels: list[tuple[str, int]] = []
    for line in text.splitlines():
        if match := _FUNCTION.match(line):
            name, instructions, labels = match[1], [], []
        elif line.startswith(_END) and name:
            if instructions:
                kernels[name] = Code(name, tuple(instructions), tuple(labels))
            name = ""
        elif match := _LABEL.match(line):
            labels.append((match[1], len(instructions)))
        elif name and (code := line.partition(";")[0].strip()) and not code.startswith("."):
            opcode, _, operands = code.partition(" ")
            instructions.append(Instruction(opcode, operands.strip()))
    return kernels
