"""Tiles made of constants are made anew for each reader, so that each has them where it wants them.

A tile that a statement reads in two roles gets two names (`Apart`).

Before:                                   After:

    %one = full f32(1.0) : f32[64]            %one = full f32(1.0) : f32[64]
    %a = add %x, %one                         %a = add %x, %one
    %b = add %y, %one                         %one_1 = full f32(1.0) : f32[64]
                                              %b = add %y, %one_1

A constant is an immediate of the instruction that reads it, and `arange` one instruction of an engine
that is idle; a conversion between placements would cost microseconds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from dslc.compiler.ir import Kernel, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter
from dslc.compiler.ir.traverse import Body, Use, operands

MADE = (ins.Full, ins.Arange)
CHEAP = (ins.Cast, ins.Reshape, ins.Broadcast, ins.Binary, ins.Unary)
_MOST = 64  # statements that make a tile anew


class Remake(Rewriter):
    """Rewrites a kernel so that no tile made of constants alone has two readers.

    But for those of long computations, which are made once.
    """

    def __init__(self) -> None:
        super().__init__()
        self._makers: dict[Value, Stmt] = {}
        self._sizes: dict[Value, int] = {}  # how many statements make it
        self._pending: list[Stmt] = []

    def value(self, value: Value) -> Value:
        """A fresh copy of a constant tile; anything else as it is."""
        maker = self._makers.get(value)
        if maker is None:
            return value
        fresh = Value(value.type, value.name)
        parts: dict[str, object] = {"out": fresh}
        for field in dataclasses.fields(maker):
            part = getattr(maker, field.name)
            if isinstance(part, Value) and field.name != "out":
                parts[field.name] = self.value(part)
        self._pending.append(dataclasses.replace(maker, **parts))  # type: ignore[arg-type]
        return fresh

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """The statement after the constants that it reads; makers themselves wait for readers."""
        if isinstance(stmt, (*MADE, *CHEAP)) and all(x in self._makers for x in operands(stmt)):
            size = 1 + sum(self._sizes[x] for x in operands(stmt))
            if size <= _MOST:
                self._makers[stmt.out], self._sizes[stmt.out] = stmt, size
                return ()
        outer, self._pending = self._pending, []
        statements = list(super().statement(stmt))
        before, self._pending = self._pending, outer
        return [*before, *statements]

    def nested(self, stmt: Stmt, which: int, handed: list[Use]) -> tuple[Body, list[Use]]:
        """A body, ending with the constants that it hands on."""
        outer, self._pending = self._pending, []
        body, uses = super().nested(stmt, which, handed)
        pending, self._pending = self._pending, outer
        return (*body, *pending), uses


class Apart(Rewriter):
    """Gives a tile that one statement reads in two roles a second name, so that each has its placement.

    `dot(x, x)` wants the columns of one x and the rows of the other along the partitions.
    """

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A product or a scatter, and the names before it."""
        statements = list(super().statement(stmt))
        last = statements[-1]
        if not isinstance(last, ins.Dot | ins.Scatter):
            return statements
        roles = ("a", "b", "acc") if isinstance(last, ins.Dot) else ("x", "ids")
        seen: set[Value] = set()
        for role in roles:
            value = getattr(last, role)
            if value in seen:
                other = Value(value.type, value.name)
                statements.insert(-1, ins.Reshape(other, value, loc=stmt.loc))
                renamed: dict[str, Any] = {role: other}
                last = dataclasses.replace(last, **renamed)
            elif value is not None:
                seen.add(value)
        return [*statements[:-1], last]


def remake(kernel: Kernel) -> Kernel:
    """The kernel with its constants next to their readers, and one role a tile and statement."""
    return Apart().kernel(Remake().kernel(kernel))
