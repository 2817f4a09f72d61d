"""Swizzles: a xor of one digit of the logical index by another, on top of the modes.

The Tilus paper (Appendix B.1) writes swizzle(i, j) = (i, j xor (i >> log_step)) for a whole layout. A
layout composed from swizzled ones needs the same within a range of digits, which is what a `Swizzle`
says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Swizzle:
    """digit(dim) ^= digit(source) % size, on logical coordinates.

    The changed digit of the coordinate along `dim` is `x // unit % size`, size a power of two; the
    digit read along `source` is `x // source_unit % source_size`. The two do not overlap, so that
    doing it twice does nothing.
    """

    dim: int
    unit: int
    size: int
    source: int
    source_unit: int
    source_size: int

    def apply(self, coordinates: list[Any]) -> None:
        """Change the coordinates (ints or integer arrays) in place."""
        key = coordinates[self.source] // self.source_unit % self.source_size % self.size
        x = coordinates[self.dim]
        digit = x // self.unit % self.size
        coordinates[self.dim] = x + ((digit ^ key) - digit) * self.unit

    def scaled(self, shape: Sequence[int]) -> Swizzle:
        """The swizzle where each element is now a tile of that shape."""
        return replace(
            self,
            unit=self.unit * shape[self.dim],
            source_unit=self.source_unit * shape[self.source],
        )

    def shrunk(self, shape: Sequence[int]) -> Swizzle:
        """The inverse of `scaled`."""
        return replace(
            self,
            unit=self.unit // shape[self.dim],
            source_unit=self.source_unit // shape[self.source],
        )

    def moved(self, axes: Sequence[int]) -> Swizzle:
        """The swizzle where axis d is now axis axes[d]."""
        return replace(self, dim=axes[self.dim], source=axes[self.source])

    def is_valid(self, shape: Sequence[int]) -> bool:
        """Whether it permutes the indices of a tile of that shape."""
        if self.size < 1 or self.size & (self.size - 1) or self.unit < 1 or self.source_unit < 1:
            return False
        if not (0 <= self.dim < len(shape) and 0 <= self.source < len(shape)):
            return False
        if shape[self.dim] % (self.unit * self.size):
            return False
        if self.source_size < 1 or shape[self.source] % (self.source_unit * self.source_size):
            return False
        return self.dim != self.source or _apart(
            (self.unit, self.size), (self.source_unit, self.source_size)
        )

    def normal(self) -> Swizzle:
        """The same permutation with the smallest digits."""
        source_size = self.source_size
        if source_size % self.size == 0:
            source_size = self.size
        size = self.size
        if source_size & (source_size - 1) == 0:
            size = min(size, source_size)
        return replace(self, size=size, source_size=source_size)


def normal_swizzles(swizzles: Sequence[Swizzle]) -> tuple[Swizzle, ...]:
    """The same permutation: trivial ones dropped, pairs cancelled, an order fixed where it is free."""
    out: list[Swizzle] = []
    for swizzle in swizzles:
        new = swizzle.normal()
        if new.size == 1 or new.source_size == 1:
            continue
        at = len(out)
        while at and _commute(out[at - 1], new) and _order(new) <= _order(out[at - 1]):
            at -= 1
        if at < len(out) and out[at] == new:
            del out[at]
        elif at and out[at - 1] == new:
            del out[at - 1]
        else:
            out.insert(at, new)
    return tuple(out)


def _order(swizzle: Swizzle) -> tuple[int, ...]:
    s = swizzle
    return (s.dim, s.unit, s.size, s.source, s.source_unit, s.source_size)


def _commute(a: Swizzle, b: Swizzle) -> bool:
    if a.dim == b.dim and a.unit != b.unit and not _apart((a.unit, a.size), (b.unit, b.size)):
        return False
    return not (_feeds(a, b) or _feeds(b, a))


def _feeds(a: Swizzle, b: Swizzle) -> bool:
    """Whether the digit that `a` changes is read by `b`."""
    if a.dim != b.source:
        return False
    return not _apart((a.unit, a.size), (b.source_unit, b.source_size))


def _apart(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Whether two digits (unit, size) of one coordinate are independent."""
    (unit_a, size_a), (unit_b, size_b) = sorted((a, b))
    return size_a == 1 or size_b == 1 or unit_b % (unit_a * size_a) == 0
