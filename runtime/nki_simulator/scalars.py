"""Numbers known at run time alone: the index of a compiled loop, and registers.

The simulator knows them, but a kernel may only do with them what the machine's address arithmetic can.
"""

from __future__ import annotations

from typing import Any, NoReturn

from dslc.runtime.nki_simulator.tensors import Fail


class RuntimeScalar:
    """A run-time integer: sums and products with integers, and a use as an offset."""

    __slots__ = ("_fail", "value")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: int, fail: Fail) -> None:
        self.value = value
        self._fail = fail

    def _with(self, value: int) -> RuntimeScalar:
        return RuntimeScalar(value, self._fail)

    def __add__(self, other: Any) -> RuntimeScalar:
        return self._with(self.value + number_of(other))

    def __sub__(self, other: Any) -> RuntimeScalar:
        return self._with(self.value - number_of(other))

    def __rsub__(self, other: Any) -> RuntimeScalar:
        return self._with(number_of(other) - self.value)

    def __mul__(self, other: Any) -> RuntimeScalar:
        return self._with(self.value * number_of(other))

    __radd__ = __add__
    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"run-time scalar (now {self.value})"

    def _refuse(self, *_: object) -> NoReturn:
        self._fail("scalar", f"{self} steers the building of the kernel: it is not known then")

    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __index__ = __int__ = __floordiv__ = __mod__ = _refuse


class VirtualRegister(RuntimeScalar):
    """`nisa.register_alloc`: a scalar that instructions load and move."""

    __slots__ = ("set",)

    def __init__(self, value: int | None, fail: Fail) -> None:
        super().__init__(value or 0, fail)
        self.set = value is not None


def number_of(value: Any) -> int:
    """The integer of an int or a run-time scalar."""
    if isinstance(value, VirtualRegister) and not value.set:
        value._fail("unwritten", "a register is read before it is loaded")
    return value.value if isinstance(value, RuntimeScalar) else int(value)
