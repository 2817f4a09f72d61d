"""Machine code read back: instructions, loops, and what a main loop costs.

nvdisasm (wheel `nvidia-cuda-nvdisasm`) prints a cubin as JSON, with neither a GPU nor a driver. A loop
is what lies between a branch and its target further up; the main loop is the innermost one with the
most matrix and memory instructions.
"""

from __future__ import annotations

import functools
import json
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dslc.codegen.cuda.tools.locate import find_tool, missing
from dslc.compiler.diagnostics import error
from dslc.compiler.scratch import scratch_folder

_BYTES = 16  # of an instruction, since Volta
_LONGEST = 120.0  # seconds
_LONGEST_WAIT = (
    16  # instructions of a loop that asks whether a barrier's phase has ended, or elects
)
_TARGET = re.compile(r"0x([0-9a-f]+)\Z")

# opcode up to its first dot -> class; what is not listed is integer arithmetic and logic
_CLASSES = {
    "matrix": "HMMA IMMA DMMA QMMA OMMA BMMA HGMMA IGMMA QGMMA BGMMA UTCHMMA UTCIMMA UTCQMMA UTCOMMA",
    "global": "LD ST LDG STG LDGSTS RED REDG ATOM ATOMG CCTL UBLKCP UBLKRED UBLKPF UTMALDG UTMASTG"
    " UTMAREDG UTMAPF",
    "shared": "LDS STS LDSM STSM ATOMS SYNCS LDTM STTM",
    "local": "LDL STL",
    "constant": "LDC LDCU ULDC",
    "control": "BRA BRX JMP JMX BSSY BSYNC BREAK EXIT RET CALL BAR WARPSYNC WARPGROUP DEPBAR LDGDEPBAR"
    " LDSDEPBAR ERRBAR MEMBAR FENCE YIELD NANOSLEEP BMOV BPT KILL RPCMOV ACQBULK CGAERRBAR UCGABAR_ARV"
    " UCGABAR_WAIT PREEXIT ARRIVES USETMAXREG",
    "shuffle": "SHFL VOTE VOTEU MATCH REDUX CREDUX",
    "special": "MUFU",
    "half": "HADD2 HMUL2 HFMA2 HSET2 HSETP2 HMNMX2",
    "float": "FADD FMUL FFMA FSET FSETP FMNMX FSEL FCHK FSWZADD FADD2 FMUL2 FFMA2",
    "double": "DADD DMUL DFMA DSETP DMNMX",
    "convert": "F2F F2FP F2I F2IP I2F I2FP I2I I2IP FRND",
}
_CLASS_OF = {name: kind for kind, names in _CLASSES.items() for name in names.split()}
_MEMORY = frozenset({"global", "shared"})


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its byte address in the function, and its text in parts."""

    address: int
    opcode: str
    operands: str = ""
    predicate: str = ""

    @property
    def name(self) -> str:
        """The opcode without its modifiers: `LDG` of `LDG.E.128`."""
        return self.opcode.partition(".")[0]

    @property
    def kind(self) -> str:
        """Its class: matrix, global, shared, local, control, half, float, integer, ..."""
        return _CLASS_OF.get(self.name, "integer")

    @property
    def target(self) -> int | None:
        """Where a branch goes, None for anything else."""
        if self.name != "BRA":
            return None
        match = _TARGET.search(self.operands)
        return int(match[1], 16) if match else None

    def __str__(self) -> str:
        return " ".join(p for p in (self.predicate, self.opcode, self.operands) if p)


@dataclass(frozen=True, slots=True)
class Code:
    """Instructions in a row: a function, or one of its loops."""

    name: str
    instructions: tuple[Instruction, ...]

    def __len__(self) -> int:
        """How many there are, padding apart."""
        return sum(1 for i in self.instructions if i.name != "NOP")

    def mix(self) -> dict[str, int]:
        """How many instructions there are of each class, the most frequent first."""
        return dict(Counter(i.kind for i in self.instructions if i.name != "NOP").most_common())

    def count(self, *names: str) -> int:
        """How many instructions have one of these opcodes: `LDG`, or with modifiers `LDG.E.128`."""
        dotted = tuple(f"{n}." for n in names)
        return sum(1 for i in self.instructions if f"{i.opcode}.".startswith(dotted))

    def spills(self) -> tuple[Instruction, ...]:
        """The loads and stores of local memory: spilled registers, or arrays that are no registers."""
        return tuple(i for i in self.instructions if i.kind == "local")

    def per(self, elements: int, threads: int) -> float:
        """Lane-instructions an element, where `threads` run this code once for `elements`."""
        return len(self) * threads / elements

    def loops(self) -> tuple[Code, ...]:
        """The loops in the order of their heads; two branches to one head are one loop."""
        ends: dict[int, int] = {}
        for at in self.instructions:
            if at.target is not None and at.target <= at.address:
                ends[at.target] = max(at.address, ends.get(at.target, 0))
        # The padding after the end of every function is a branch to itself.
        spans = sorted((start, end) for start, end in ends.items() if start < end)
        return tuple(self._between(start, end) for start, end in spans)

    def main_loop(self) -> Code | None:
        """The innermost loop with the most matrix and memory instructions, None without loops.

        Loops that wait within a loop that multiplies do not count.
        """
        multiply = [c for c in self.loops() if c._multiplies()]
        loops = [c for c in multiply if not any(x._multiplies() for x in c._inner())]
        loops = loops or [c for c in self.loops() if not c._inner()]
        return max(loops, key=lambda c: (c._weight(), len(c)), default=None)

    def text(self) -> str:
        """One instruction a line, with addresses."""
        return "".join(f"  {i.address:#06x}  {i}\n" for i in self.instructions)

    def _between(self, start: int, end: int) -> Code:
        inside = tuple(i for i in self.instructions if start <= i.address <= end)
        return Code(f"{self.name}+{start:#x}", inside)

    def _inner(self) -> tuple[Code, ...]:
        """The loops within this one, but for those that wait at a barrier or elect a thread."""
        return tuple(c for c in self.loops() if len(c) < len(self) and not c._waits())

    def _waits(self) -> bool:
        return len(self) <= _LONGEST_WAIT and self.count("SYNCS", "ELECT") > 0

    def _multiplies(self) -> bool:
        return any(i.kind == "matrix" for i in self.instructions)

    def _weight(self) -> int:
        return sum(1 for i in self.instructions if i.kind == "matrix" or i.kind in _MEMORY)


@functools.lru_cache(maxsize=64)  # those who look at a kernel ask more than once
def disassemble(cubin: bytes) -> tuple[Code, ...]:
    """The functions of a cubin. DSL0951 without nvdisasm, DSL0954 where it cannot read the cubin."""
    printed = _run_nvdisasm(cubin)
    try:
        _, functions = json.loads(printed)
        return tuple(_code(f["function-name"], f["sass-instructions"]) for f in functions)
    except (ValueError, KeyError, TypeError) as problem:
        text = f"nvdisasm printed what is not understood: {problem}"
        raise error("DSL0954", text, hint="pip install --upgrade nvidia-cuda-nvdisasm") from None


def _run_nvdisasm(cubin: bytes) -> str:
    tool = find_tool("nvdisasm")
    if tool is None:
        raise missing("nvdisasm, which reads machine code,", "nvidia-cuda-nvdisasm")
    with scratch_folder("sass") as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        done = subprocess.run(
            [tool, "-json", str(path)],
            capture_output=True,
            text=True,
            check=False,
            timeout=_LONGEST,
        )
    if done.returncode:
        reason = done.stderr.strip() or f"exit code {done.returncode}"
        hint = "pip install --upgrade nvidia-cuda-nvdisasm"
        raise error("DSL0954", f"nvdisasm cannot read the binary: {reason}", hint=hint)
    return done.stdout


def _code(name: str, listed: Sequence[dict[str, Any]]) -> Code:
    return Code(
        name,
        tuple(
            Instruction(n * _BYTES, i["opcode"], i.get("operands", ""), i.get("predicate", ""))
            for n, i in enumerate(listed)
        ),
    )
