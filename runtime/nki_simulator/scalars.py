"""Numbers known at run time alone: registers, such as the index of a compiled loop.

The simulator knows them, but a kernel may only begin slices and bound loops by them: no arithmetic of
registers is documented for nki 0.6 (`nki.isa.VirtualRegister`, `nki.language.fori_loop`).
"""

from __future__ import annotations

from typing import Any, NoReturn

from dslc.runtime.nki_simulator.tensors import Fail


class VirtualRegister:
    """`nisa.register_alloc`: an integer that instructions load and move; an offset, or a loop's bound.

    `loaded` is the number of the instruction that loaded it, `note` is told of it when it is used.
    """

    __slots__ = ("_fail", "loaded", "note", "set", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: int | None, fail: Fail) -> None:
        self.value = value or 0
        self.set = value is not None
        self._fail = fail
        self.loaded = -1
        self.note: set[int] | None = None

    def __repr__(self) -> str:
        return f"register (now {self.value})"

    def number(self) -> int:
        """Its value, as an offset or a bound; a fault where nothing has loaded it."""
        if not self.set:
            self._fail("unwritten", "a register is read before it is loaded")
        if self.note is not None:
            self.note.add(self.loaded)
        return self.value

    def copy(self) -> VirtualRegister:
        """The register as a loop passes it: by value."""
        other = VirtualRegister(self.value if self.set else None, self._fail)
        other.loaded, other.note = self.loaded, self.note
        return other

    def _refuse(self, *_: object) -> NoReturn:
        self._fail("scalar", f"{self} steers the building of the kernel: it is not known then")

    def _no_arithmetic(self, *_: object) -> NoReturn:
        self._fail(
            "scalar", f"{self} is computed with: add offsets by slicing a slice, or in a tile"
        )

    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __index__ = __int__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _no_arithmetic
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __neg__ = _no_arithmetic


def number_of(value: Any) -> int:
    """The integer of an int or a register."""
    return value.number() if isinstance(value, VirtualRegister) else int(value)
