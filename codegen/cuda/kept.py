"""Registers that products of warpgroups read, kept until they have ended.

    keep_registers<16>(low_up);

ptxas (CUDA 13.0) forgets that a wgmma reads its left operand from registers wherever a call stands
between: the slow path of a division or a square root is one. In a loop it then gives the registers of
an operand that stays the same to others, and the next iteration reads those. So every such operand is
named once more where its life ends: by nothing where there are no calls, and by an instruction that is
never carried out in a text that the toolchain compiles again, having found calls (`toolchain.KEEP`).
docs/decisions/0011 has the machine code.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

from dslc.codegen.c_family.emission import Emission
from dslc.compiler.ir import Kernel, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import Body, bodies, inner_names, results


@dataclass(slots=True)
class Owners:
    """The body in which each statement stands and each tile is made anew, by number."""

    of: dict[Value | Stmt, int] = field(default_factory=dict)
    around: dict[int, Stmt] = field(default_factory=dict)  # the statement that a body is part of

    def within(self, stmt: Stmt, body: int) -> Stmt:
        """The statement of a body around it that it is in."""
        while self.of[stmt] != body:
            stmt = self.around[self.of[stmt]]
        return stmt


@functools.lru_cache(maxsize=8)
def owners(kernel: Kernel) -> Owners:
    """Those of a kernel."""
    by_number = Owners()
    todo: list[tuple[Body, tuple[object, ...], Stmt | None]] = [(kernel.body, (), None)]
    for number, (body, names, around) in enumerate(todo):  # which grows meanwhile
        by_number.of |= {n: number for n in names if isinstance(n, Value)}
        if around is not None:
            by_number.around[number] = around
        for stmt in body:
            by_number.of[stmt] = number
            by_number.of |= {n: number for n in results(stmt) if isinstance(n, Value)}
            todo += [(inner, inner_names(stmt), stmt) for inner in bodies(stmt)]
    return by_number


def keep(e: Emission, dot: ins.Dot, value: Value) -> None:
    """The product reads these registers."""
    tile, own = e.tile(value), owners(e.kernel)
    line = f"keep_registers<{tile.words}>({tile.name});"
    home = own.of[value] if value in e.tiles else own.of[dot]
    if home == own.of[dot]:
        e.read_by_async.append((line, home))
        return
    lines = e.after.setdefault(own.within(dot, home), [])
    if line not in lines:
        lines.append(line)


def waited(e: Emission, wait: ins.WaitDots) -> None:
    """Products have ended: all of them in a text with calls (`wgmma_wait`)."""
    home = owners(e.kernel).of[wait]
    for line in dict.fromkeys(line for line, own in e.read_by_async if own == home):
        e.out.line(line)
    e.read_by_async.clear()
