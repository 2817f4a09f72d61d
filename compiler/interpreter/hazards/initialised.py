"""Reads of elements that nothing has written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.interpreter.hazards.observers import Observer, element_text
from dslc.compiler.interpreter.scope import Site
from dslc.compiler.interpreter.tensors import strided
from dslc.compiler.interpreter.turn import Turn
from dslc.compiler.interpreter.windows import Window
from dslc.compiler.ir import Memory, Role


@dataclass(slots=True)
class Initialised(Observer):
    """One bool an element: whether it was written."""

    memory: Memory
    written: Array

    @classmethod
    def nowhere(cls, memory: Memory, shape: tuple[int, ...]) -> Initialised:
        """Nothing is written yet."""
        return cls(memory, np.zeros(shape, np.bool_))

    def of_view(
        self, memory: Memory, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> Observer:
        """What was written of the elements of a view."""
        return Initialised(memory, strided(self.written, offset, shape, strides))

    def read(self, turn: Turn, window: Window, site: Site) -> None:
        """DSL0603 where an element was never written."""
        written = self.written[window.index]
        if not written.all():
            raise self._unwritten(turn, window.element(~np.asarray(written)), site)

    def write(self, turn: Turn, window: Window, site: Site) -> None:
        """The elements are written now."""
        self.written[window.index] = True

    def update(self, turn: Turn, window: Window, site: Site) -> None:
        """An atomic addition reads what stands there."""
        self.read(turn, window, site)

    def _unwritten(self, turn: Turn, element: tuple[int, ...], site: Site) -> Exception:
        name = self.memory.name
        if self.memory.role is Role.OUT:
            hint = (
                f"`out` parameters start undefined: declare {name} as `inout` to read its contents"
            )
        else:
            hint = f"write {name} first: its elements are undefined when it begins to live"
        return error(
            "DSL0603",
            f"{site.verb} takes element {element_text(element)} of {name}, which was never written, "
            f"in {turn.title}",
            site.loc,
            hint=hint,
        )


@dataclass(slots=True)
class Owned(Initialised):
    """The same for a buffer in an arena, whose bytes may be another buffer's by now.

    `owners` says who last wrote each byte of the arena; `spans` has, for each byte of an element, where
    it lies in the arena: arrays of the buffer's shape.
    """

    owners: Array
    spans: tuple[Array, ...]
    number: int

    def read(self, turn: Turn, window: Window, site: Site) -> None:
        """DSL0611 where another buffer has overwritten an element."""
        Initialised.read(self, turn, window, site)
        bytes_lost = [self.owners[span[window.index]] != self.number for span in self.spans]
        lost = np.asarray(np.logical_or.reduce(bytes_lost))
        if lost.any():
            raise error(
                "DSL0611",
                f"{site.verb} takes element {element_text(window.element(lost))} of "
                f"{self.memory.name}, which another buffer has overwritten, in {turn.title}",
                site.loc,
                hint="the memory plan lets two live buffers share bytes",
            )

    def write(self, turn: Turn, window: Window, site: Site) -> None:
        """The elements' bytes belong to this buffer now."""
        Initialised.write(self, turn, window, site)
        for span in self.spans:
            self.owners[span[window.index]] = self.number
