"""What a statement of a random program may name, and how large its floats can be."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from support.oracle.dtypes import DTYPES
from support.oracle.profiles import Profile
from support.oracle.tree import Affine, Expr, Shape, Tensor

INF = 9999


@dataclass(frozen=True, slots=True)
class Made:
    """An expression; its floats are multiples of 2**low of at most 2**high, or no numbers."""

    expr: Expr
    high: int = 0
    low: int = 0

    @property
    def dtype(self) -> str:
        return self.expr.dtype


@dataclass(frozen=True, slots=True)
class Variable:
    """A name of a tile; `settled` ones may be assigned again."""

    name: str
    dtype: str
    shape: Shape
    high: int
    low: int
    mutable: bool


@dataclass(slots=True)
class Scope:
    """Names that statements may read, and what the whole kernel has."""

    random: random.Random
    profile: Profile
    tensors: list[Tensor] = field(default_factory=list)
    dims: dict[str, int] = field(default_factory=dict)
    scalars: list[tuple[str, str, int | float]] = field(default_factory=list)
    grid: tuple[tuple[str, str | int, int], ...] = ()
    variables: list[Variable] = field(default_factory=list)
    buffers: list[Tensor] = field(default_factory=list)
    loops: list[tuple[str, int]] = field(default_factory=list)  # with their greatest values
    made: int = 0

    def name(self, letter: str) -> str:
        self.made += 1
        return f"{letter}{self.made}"

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def index(self, spread: int) -> Affine:
        """A start near 0: a constant, with loop variables and scalars at times."""
        terms: list[tuple[int, str]] = []
        names = [name for name, _ in self.loops] + [g[0] for g in self.grid]
        names += [name for name, dtype, _ in self.scalars if dtype == "i32"]
        if names and self.chance(0.5):
            terms.append((self.random.choice((1, 1, 2, 4, -1)), self.random.choice(names)))
        return Affine(self.random.choice((0, 0, 0, self.random.randint(-3, spread))), tuple(terms))


def range_of(name: str, draw: str = "any") -> tuple[int, int]:
    """The bounds of a dtype's floats as a tensor holds them: see `Made`."""
    d = DTYPES[name]
    if d.kind == "scale":
        return 3, -3
    if not d.is_float:
        return min(d.bits, 64), 0
    if draw == "plain" and d.bits > 8:
        return 4, -2
    high = d.bias + 1 if d.specials == "ieee" else (1 << d.exponent) - d.bias
    return (INF if draw == "special" else high), d.grain


def top_grain(name: str) -> int:
    """log2 of the step between a float dtype's greatest numbers."""
    d = DTYPES[name]
    last = (1 << d.exponent) - 1 - (d.specials == "ieee")
    return last - d.bias - d.mantissa
