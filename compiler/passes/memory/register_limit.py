"""Tiles that no thread could hold are refused before a compiler works on them for minutes.

A thread of 256 holds 1024 elements of a tile of 512 x 512. Where that is several times what the machine
has, all but a part would lie in memory, and the text, in which every element of a thread is a variable,
takes the machine's compiler longer than anybody waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dslc.compiler.diagnostics import error
from dslc.compiler.ir import Kernel, TileProgram, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.rewrite import kernels
from dslc.compiler.ir.traverse import results, walk

# What surely becomes registers: others may only rename what these hold.
_HELD = (ins.Dot, ins.Load, ins.For, ins.While)
_TIMES = 3  # as many registers as there are: what is a little too large is spilled, which works


@dataclass(frozen=True, slots=True)
class RegisterLimit:
    """Checks the bytes that a thread holds of each tile against `bytes`, those of its registers."""

    bytes: int
    name: ClassVar[str] = "register-limit"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program as it is; DSL0503 for a tile that is far too large."""
        for kernel in kernels(program):
            self._check(kernel)
        return program

    def _check(self, kernel: Kernel) -> None:
        for stmt in walk(kernel.body):
            if not isinstance(stmt, _HELD):
                continue
            for value in results(stmt):
                if not isinstance(value, Value) or value.type.layout is None:
                    continue
                held = value.type.layout.locals * value.type.dtype.bits // 8
                if held > _TIMES * self.bytes:
                    shape = ", ".join(map(str, value.type.shape))
                    raise error(
                        "DSL0503",
                        f"{value.name or 'a tile'}: {value.type.dtype}[{shape}] takes {held} bytes of "
                        f"registers in each of {kernel.threads} threads; the machine has {self.bytes}",
                        stmt.loc,
                        hint="choose smaller blocks, or more warps",
                    )
