"""What instructions read: registers, each written once, and constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from dslc.compiler.dtypes import BOOL, INDEX, DType
from dslc.compiler.vector.types import Type, VectorType


@dataclass(frozen=True, slots=True, eq=False)
class Register:
    """A virtual register, written by one instruction; compared by identity.

    The name is a hint for reading: printers make it unique.
    """

    type: Type
    name: str = ""


@dataclass(frozen=True, slots=True)
class Constant:
    """Numbers that are known: one for all lanes, or one a lane.

    They are values of the dtype: `cast` made them so. Integers are ints, floats are floats, bools are
    bools. A NaN is the quiet one of its dtype.
    """

    values: tuple[int | float | bool, ...]
    type: VectorType

    @property
    def is_splat(self) -> bool:
        """Whether one number stands for all lanes."""
        return len(self.values) == 1

    def __eq__(self, other: object) -> bool:
        """Whether the text is the same: 0.0 and -0.0 differ, NaN is NaN."""
        return isinstance(other, Constant) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, VectorType]:
        return repr(self.values), self.type


Operand: TypeAlias = Register | Constant


def index(value: int) -> Constant:
    """A number of bytes or of iterations."""
    return Constant((value,), VectorType(INDEX))


def truth(value: bool) -> Constant:
    """A condition that is known."""
    return Constant((value,), VectorType(BOOL))


def splat(value: int | float | bool, dtype: DType, lanes: int | None = None) -> Constant:
    """One number in all lanes; it must be a value of the dtype."""
    return Constant((value,), VectorType(dtype, lanes))
