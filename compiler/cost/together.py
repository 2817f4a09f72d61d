"""How many tiles the blocks that run at one time read, where they find their turns themselves.

A grid's own variables say which of its turns read the same (`traffic`). Blocks that take turn after
turn (`passes.even_work`) compute theirs from their number: that is done here for each first turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dslc.compiler.interpreter.scalars import compile_scalars
from dslc.compiler.interpreter.scope import Frame, Scope
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Const, Var
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.traverse import Body
from dslc.compiler.ir.values import Memory
from dslc.compiler.ir.workload import Known


def tiles_at_once(kernel: Kernel, known: Known, blocks: int) -> Mapping[Memory, int]:
    """By global memory that warps aside read, the different tiles of so many blocks' first steps."""
    aside = next((s for s in kernel.body if isinstance(s, ins.Aside)), None)
    if aside is None or len(kernel.grid) != 1:
        return {}
    found: dict[Memory, set[tuple[Any, ...]]] = {}
    for block in range(blocks):
        reader = _Reader(known | {kernel.grid[0].var: Const(block, kernel.grid[0].var.dtype)})
        if reader.body((*kernel.body[: kernel.body.index(aside)], *aside.body)):
            for memory, at in reader.found:
                found.setdefault(memory, set()).add(at)
    return {memory: len(starts) for memory, starts in found.items()}


class _Reader:
    """Goes through the first turn of every loop."""

    def __init__(self, known: Known) -> None:
        self.scope = Scope(check=False)
        self.frame: Frame = [None] * 1
        self.found: list[tuple[Memory, tuple[Any, ...]]] = []
        for var, value in known.items():
            self._set(var, value.value)

    def body(self, body: Body) -> bool:
        """Whether all of it could be followed to its end."""
        return all(self._statement(s) for s in body)

    def _statement(self, stmt: Stmt) -> bool:
        match stmt:
            case ins.Let(var=var, value=value):
                self._set(var, self._values(value)[0])
            case ins.For():
                start, stop = self._values(stmt.start, stmt.stop)
                if start >= stop:
                    return False  # a block without work
                self._set(stmt.var, start)
                for c in stmt.carried:
                    if isinstance(c.inner, Var):
                        self._set(c.inner, 0)
                return self.body(stmt.body)
            case ins.CopyAsync(src=src):
                self.found.append((src.memory, self._values(*(a.start for a in src.axes))))
            case _:
                pass
        return True

    def _set(self, var: Var, value: Any) -> None:
        slot = self.scope.slot(var)
        self.frame += [None] * (slot + 1 - len(self.frame))
        self.frame[slot] = value

    def _values(self, *exprs: Any) -> tuple[Any, ...]:
        found = compile_scalars(self.scope, exprs)
        self.frame += [None] * (self.scope.size - len(self.frame))
        values: tuple[Any, ...] = found(self.frame)
        return values
