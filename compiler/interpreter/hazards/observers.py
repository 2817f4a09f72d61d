"""What watches the accesses of a memory: the base of every check."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dslc.compiler.interpreter.scope import Site
    from dslc.compiler.interpreter.turn import Turn
    from dslc.compiler.interpreter.windows import Window
    from dslc.compiler.ir import Memory


class Observer:
    """Sees every access of one memory before it happens; by default it minds none of them."""

    __slots__ = ()

    def of_view(
        self, memory: Memory, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> Observer | None:
        """What watches some of the elements, which lie so, in the same way."""
        return None

    def read(self, turn: Turn, window: Window, site: Site) -> None:
        """Elements are about to be read."""

    def write(self, turn: Turn, window: Window, site: Site) -> None:
        """Elements are about to be written."""

    def update(self, turn: Turn, window: Window, site: Site) -> None:
        """Elements are about to be read and written atomically."""

    def hold(self, turn: Turn, window: Window, site: Site) -> None:
        """An asynchronous copy begins to read elements."""

    def reserve(self, turn: Turn, window: Window, site: Site) -> None:
        """An asynchronous copy begins to write elements."""

    def free(self, turn: Turn, window: Window, reserved: bool) -> None:
        """The copy that held (or reserved) elements is over; what it wrote is a `write` after this."""


def element_text(element: tuple[int, ...]) -> str:
    """An element's index as diagnostics show it: `[3, 0]`."""
    return f"[{', '.join(map(str, element))}]"
