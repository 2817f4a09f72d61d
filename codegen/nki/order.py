"""The order in which things are written out: loads before a product, and what stands inside one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import Body
from dslc.compiler.passes.trainium.capacity import is_long

if TYPE_CHECKING:
    from dslc.codegen.nki.emission import Emission


class Between(Protocol):
    """Instructions of other engines that stand between the pieces of a product."""

    @property
    def product(self) -> ins.Dot:
        """The product."""

    def begin(self, e: Emission) -> None:
        """Before the first piece, when its operands are loaded."""

    def emit(self, e: Emission, times: int) -> None:
        """One of so many equal parts of them."""


def few_first(e: Emission, body: Body) -> Body:
    """Loads that stand together, those of few transfers first.

    A product begins with the first chunk of an operand that comes in many, the other one it waits
    for: its queue is in order.
    """
    ordered: list[Stmt] = []
    run: list[ins.Load] = []
    for stmt in (*body, None):
        if isinstance(stmt, ins.Load):
            run.append(stmt)
            continue
        ordered += sorted(run, key=e.transfers)
        run = []
        if stmt is not None:
            ordered.append(stmt)
    return tuple(ordered)


def is_streamed(e: Emission, load: ins.Load, after: Body) -> bool:
    """Whether a load waits for the product that reads it, which loads it piece by piece.

    It does where nothing else reads the tile, where the product comes before any write, and where it is
    long: a part of it is enough to begin with, and the whole need not lie on chip.
    """
    if e.uses[load.out] != 1 or not is_long(load) or load.out in e.resident:
        return False
    for stmt in after:
        if isinstance(stmt, ins.Dot) and load.out in (stmt.a, stmt.b):
            return not any(v in e.streamed for v in (stmt.a, stmt.b))
        if not isinstance(stmt, ins.Load | ins.Full | ins.Cast | ins.ConvertLayout):
            return False
    return False
