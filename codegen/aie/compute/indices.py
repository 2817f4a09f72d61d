"""Index arithmetic of emitted loops: sums of loop counters, so that addresses fold as they are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Index:
    """The sum of `coefficient * name` over terms, plus a constant; names are SSA values."""

    terms: tuple[tuple[str, int], ...] = ()
    constant: int = 0

    def __add__(self, other: Index | int) -> Index:
        if isinstance(other, int):
            return Index(self.terms, self.constant + other)
        total = dict(self.terms)
        for name, factor in other.terms:
            total[name] = total.get(name, 0) + factor
        kept = tuple((n, f) for n, f in sorted(total.items()) if f)
        return Index(kept, self.constant + other.constant)

    def __mul__(self, factor: int) -> Index:
        if factor == 0:
            return Index()
        return Index(tuple((n, f * factor) for n, f in self.terms), self.constant * factor)

    def split(self, divisor: int, extents: Mapping[str, int]) -> tuple[Index, Index] | None:
        """Quotient and remainder, where the counters' extents (from 0, exclusive) tell them."""
        whole = tuple((n, f // divisor) for n, f in self.terms if f % divisor == 0)
        rest = tuple((n, f) for n, f in self.terms if f % divisor)
        remainder = Index(rest, self.constant % divisor)
        top = remainder.constant
        for name, factor in rest:
            if factor < 0 or name not in extents:
                return None
            top += factor * (extents[name] - 1)
        if top >= divisor:
            return None
        return Index(whole, self.constant // divisor), remainder


ZERO = Index()


def counter(name: str, factor: int = 1) -> Index:
    """A loop counter times a factor."""
    return Index(((name, factor),))
