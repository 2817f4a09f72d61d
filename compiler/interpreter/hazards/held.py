"""Shared memory that products under way still read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dslc.compiler.diagnostics import error
from dslc.compiler.interpreter.scope import Site
from dslc.compiler.interpreter.windows import Window

if TYPE_CHECKING:
    from dslc.compiler.interpreter.tensors import Tensor
    from dslc.compiler.interpreter.turn import Turn


@dataclass(frozen=True, slots=True)
class Held:
    """The part of a memory that an operand is."""

    tensor: Tensor
    window: Window

    def hold(self, turn: Turn, site: Site) -> None:
        """Nothing may write it from now on."""
        for observer in self.tensor.observers:
            observer.hold(turn, self.window, site)

    def free(self, turn: Turn) -> None:
        """It has been read."""
        for observer in self.tensor.observers:
            observer.free(turn, self.window, False)


@dataclass(slots=True)
class Products:
    """A turn's asynchronous products under way, oldest first: where each is, and what it reads."""

    under_way: list[tuple[Site, list[Held]]] = field(default_factory=list)

    def start(self, turn: Turn, site: Site, operands: list[Held]) -> None:
        """A product begins to read its operands."""
        for held in operands:
            held.hold(turn, site)
        self.under_way.append((site, operands))

    def wait(self, turn: Turn, pending: int) -> None:
        """The oldest end until `pending` are left."""
        while len(self.under_way) > pending:
            _, operands = self.under_way.pop(0)
            for held in operands:
                held.free(turn)

    def check_over(self, title: str) -> None:
        """DSL0605 for a product that nobody waited for."""
        if self.under_way:
            raise error(
                "DSL0605",
                f"the product is never waited for, in {title}",
                self.under_way[0][0].loc,
                hint="end with a wait for all products: what has not ended is lost",
            )
