"""Casts for products that leave out a power of two.

An integer n < 2^11 in the bits of an f16 is the number n 2^-24, subnormal or just above: a field of a
code, masked where it lies in the low 11 bits of each half, is an operand as it stands. A small float
whose exponent is at the place of the result's lacks the difference of the biases. The products' sums
are multiplied by what is missing (`scaled.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dslc.codegen.c_family.casts.bits import Positions
from dslc.codegen.c_family.casts.byte_rules import byte_cast, first_lane
from dslc.codegen.c_family.casts.cast_rules import Rule, first_special, rule_for
from dslc.codegen.c_family.casts.extraction import Words, hexadecimal, pieces
from dslc.codegen.c_family.writer import Writer
from dslc.compiler.dtypes import DType, Kind


@dataclass(frozen=True, slots=True)
class Scaled:
    """A rule whose results lack a power of two.

    `classes` is how many there are; `of` gives the class of a word of results, from the bits of its
    elements, and `factors` what each class is to be multiplied by. Before that, results are too great
    by `offset`, an integer in the places of their class.
    """

    rule: Rule
    of: Callable[[Positions], int]
    factors: tuple[float, ...]
    offset: int = 0
    bits: int = 0  # from the place of one class to that of the next

    def of_rows(self, classes: tuple[int, ...]) -> tuple[float, ...]:
        """The factors of each kind of rows, by their classes."""
        return tuple(self.factors[k] for k in classes)

    def minus_offset(self, k: int) -> int:
        """A word of two halves, each what takes a class's offset away."""
        return (0x8000 | self.offset << self.bits * k) * 0x10001

    def shifts(self, words: Positions) -> int:
        """How many shifts of source words the rule needs, each counted once."""
        return _shifts(self.rule, words)


def exact_shifts(dtype: DType, to: DType, words: Positions) -> int:
    """The same of the cast that gives the numbers themselves."""
    rule = rule_for(dtype, to)
    assert rule is not None
    return _shifts(rule, words)


def _shifts(rule: Rule, words: Positions) -> int:
    source = Words(Writer(), {int(b) // 32: "w" for b in words.reshape(-1)})
    for at in words:
        rule(source, at)
    return len(source.shifted)


def class_counts(dtype: DType) -> tuple[int, ...]:
    """How many places in a half's low 11 bits codes of a width may be masked at: ways to choose."""
    if dtype.kind is Kind.FLOAT:
        return (1,)
    return {1: (1, 2, 4, 8), 2: (1, 2, 4), 3: (1, 3), 4: (1, 2)}.get(dtype.bits, (1,))


def scaled_rule_for(dtype: DType, to: DType, classes: int) -> Scaled | None:
    """How an operand of f16 products is made in so many classes; None where numbers are as cheap."""
    if to.name != "f16" or dtype.bits > 8:
        return None
    if dtype.is_integer:
        return _scaled_integer(dtype, classes)
    if dtype.kind is Kind.FLOAT and dtype.exponent < to.exponent and first_special(dtype) is None:
        return _scaled_float(dtype, to)
    return None


def _scaled_integer(dtype: DType, classes: int) -> Scaled:
    # A half with the integer n < 2^11 for its code is n 2^-24.
    bits = dtype.bits
    minus = dtype.name == "i1"  # whose 1 is -1
    # The sign bit of two's complement, inverted, makes a number of u4 that is too great by 8.
    offset = 1 << (bits - 1) if dtype.kind is Kind.INT and not minus else 0

    def of(at: Positions) -> int:
        lanes = [at[0], at[-1] - 16]
        first = int(at[0][0]) // 32 * 16 + int(at[0][0]) % 32  # bit of the lane's own stream
        if first % bits or (lanes[0] != lanes[1]).any():
            return 0
        # Codes of 3 bits, eight of which are 24 bits, share shifts where their classes repeat so.
        return first // bits % (16 // bits if 16 % bits == 0 else 8) % classes

    def rule(words: Words, at: Positions) -> str:
        place = of(at) * bits
        inverted = hexadecimal((offset << place) * 0x10001) if offset else ""
        return words.field(pieces(at, 16), place, 16, inverted)

    sign = -1 if minus else 1
    factors = tuple(sign * 2.0 ** (24 - bits * k) for k in range(classes))
    return Scaled(rule, of, factors, offset, bits)


def _scaled_float(dtype: DType, to: DType) -> Scaled:
    place = to.mantissa - dtype.mantissa
    factors = [2.0 ** ((1 << (to.exponent - 1)) - (1 << (dtype.exponent - 1)))]
    through = byte_cast(dtype, to)
    if through is not None:
        factors.append(through.factor)

    def of(at: Positions) -> int:
        return int(through is not None and first_lane(at) is not None)

    def rule(words: Words, at: Positions) -> str:
        if through is not None and (exact := through.word(words, at)) is not None:
            return exact
        magnitude = words.field(pieces(at[:, :-1], 16), place, 16)
        return words.field(pieces(at[:, -1:], 16), 15, 16, magnitude)

    return Scaled(rule, of, tuple(factors))
