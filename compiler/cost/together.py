"""How many tiles the blocks that run at one time read, where they find their turns themselves.

A grid's own variables say which of its turns read the same (`traffic`). Blocks that take turn after
turn (`tile_scheduler`) compute theirs from their number: that is done here for each first turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.arithmetic.scalar_functions import Frame, compile_scalar, compile_scalars
from dslc.compiler.ir.expr import Var
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.traverse import Body, results
from dslc.compiler.ir.values import Memory, Value
from dslc.compiler.ir.workload import Known

Read: TypeAlias = list[tuple[Memory, tuple[Any, ...]]]  # memories, and where in them
Run: TypeAlias = Callable[[Frame, Read], bool]
_UNKNOWN = np.zeros((), np.int64)  # a tile of rank 0 that is read from memory


def tiles_at_once(kernel: Kernel, known: Known, blocks: int) -> Mapping[Memory, int]:
    """By global memory that producer warps read, the different tiles of so many blocks' first steps."""
    producers = next((s for s in kernel.body if isinstance(s, ins.WarpSpecialize)), None)
    if producers is None or len(kernel.grid) != 1:
        return {}
    before = kernel.body[: kernel.body.index(producers)]
    reader = _Reader()
    run = reader.body((*before, *producers.body))
    own = reader.slots.slot(kernel.grid[0].var)
    slots = {reader.slots.slot(var): constant(value) for var, value in known.items()}
    starts_of: dict[Memory, set[tuple[Any, ...]]] = {}
    for block in range(blocks):
        frame: Frame = [None] * len(reader.slots.known)
        for slot, value in slots.items():
            frame[slot] = value
        frame[own] = block
        read: Read = []
        if run(frame, read):
            for memory, at in read:
                starts_of.setdefault(memory, set()).add(at)
    return {memory: len(starts) for memory, starts in starts_of.items()}


@dataclass(frozen=True, slots=True)
class _Slots:
    """A slot for each name, in the order in which they are met; nothing is undefined here."""

    known: dict[Value | Var, int]

    def slot(self, name: Value | Var) -> int:
        return self.known.setdefault(name, len(self.known))

    def guard(self, value: Value) -> None:
        return None


class _Reader:
    """Makes functions that go through each loop's first iteration, and say whether they got through."""

    def __init__(self) -> None:
        self.slots = _Slots({})

    def body(self, body: Body) -> Run:
        """All statements in order."""
        runs = [r for r in map(self._statement, body) if r is not None]
        return lambda f, read: all(r(f, read) for r in runs)

    def _statement(self, stmt: Stmt) -> Run | None:
        match stmt:
            case ins.Let(var=var, value=value):
                number, slot = compile_scalar(self.slots, value), self.slots.slot(var)

                def let(f: Frame, read: Read) -> bool:
                    f[slot] = number(f)
                    return True

                return let
            case ins.For():
                return self._first(stmt)
            case ins.CopyAsync(src=src):
                starts, memory = (
                    compile_scalars(self.slots, [a.start for a in src.axes]),
                    src.memory,
                )

                def copy(f: Frame, read: Read) -> bool:
                    read.append((memory, starts(f)))
                    return True

                return copy
            case ins.Load() | ins.If():
                # What is read from memory counts as 0, as in the work of a block.
                unknown = [
                    (self.slots.slot(n), 0 if isinstance(n, Var) else _UNKNOWN)
                    for n in results(stmt)
                ]

                def zero(f: Frame, read: Read) -> bool:
                    for slot, value in unknown:
                        f[slot] = value
                    return True

                return zero
            case _:
                return None

    def _first(self, loop: ins.For) -> Run:
        bounds, var = (
            compile_scalars(self.slots, (loop.start, loop.stop)),
            self.slots.slot(loop.var),
        )
        counters = [self.slots.slot(c.inner) for c in loop.carried if isinstance(c.inner, Var)]
        body = self.body(loop.body)

        def first(f: Frame, read: Read) -> bool:
            start, stop = bounds(f)
            if start >= stop:
                return False  # a block without work
            f[var] = start
            for slot in counters:
                f[slot] = 0
            return body(f, read)

        return first
