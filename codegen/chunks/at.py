"""Which elements of a tile a chunk is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import Linear, linear, to_expr

Coordinates: TypeAlias = "tuple[int, ...]"


@dataclass(frozen=True, slots=True)
class At:
    """Where a chunk begins, and each lane's distance from there.

    Where not every lane counts, `live` is the mask of those that do, as the generator has it; the
    others are neither read nor written.
    """

    base: tuple[Linear, ...]
    lanes: tuple[Coordinates, ...]
    live: object = None

    @property
    def count(self) -> int:
        """How many elements it is."""
        return len(self.lanes)

    def key(self) -> object:
        """What two equal chunks have in common."""
        return tuple(to_expr(b) for b in self.base), self.lanes, self.live

    def lane(self, k: int) -> tuple[Linear, ...]:
        """The coordinates of one lane."""
        return tuple(b + Linear(constant=d) for b, d in zip(self.base, self.lanes[k], strict=True))

    def with_axis(self, axis: int, base: Linear, distance: int = 0) -> At:
        """The chunk in a tile of one more axis: all lanes have one coordinate along it."""
        lanes = tuple((*x[:axis], distance, *x[axis:]) for x in self.lanes)
        return At((*self.base[:axis], base, *self.base[axis:]), lanes, self.live)


def row(base: tuple[Linear, ...], count: int, live: object = None) -> At:
    """So many neighbours along the last axis."""
    zeros = (0,) * (len(base) - 1)
    return At(base, tuple((*zeros, k) for k in range(count)), live)


def linear_of(expr: ex.Expr) -> Linear:
    """An index or integer scalar expression as a sum."""
    return linear(expr if expr.dtype == INDEX else ex.Convert(expr, INDEX))
