"""Printed expressions: how strongly they hold together, and what Python knows of their types."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dslc.codegen.flydsl.c_types import (
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    ULONG,
    UNSIGNED,
    Scalar,
    Type,
)

POSTFIX = 13  # how strongly a call or subscript holds together
_NUMBER = re.compile(r"(0[xX][\da-fA-F.]+(?:[pP][+-]?\d+)?|[\d.]+(?:[eE][+-]?\d+)?)([uUlLfF]*)$")


class UnprintableError(Exception):
    """What FlyDSL has no words for."""


@dataclass(frozen=True, slots=True)
class Text:
    """A printed expression: how strongly it holds together, and its type in C.

    `literal` has no type in Python; `raw` has the bits of its type, but perhaps not the sign.
    """

    text: str
    level: int
    type: Type
    literal: bool = False
    raw: bool = False

    def within(self, level: int) -> str:
        """The text as part of what holds together so strongly."""
        return self.text if self.level >= level else f"({self.text})"


def scalar_of(x: Text) -> Scalar:
    """The type of a number; UnprintableError for a pointer."""
    if not isinstance(x.type, Scalar):
        raise UnprintableError(f"arithmetic on {x.text}")
    return x.type


def literal_of(text: str) -> Text:
    """A number of C with the type that C gives it."""
    match = _NUMBER.match(text)
    assert match is not None, text
    digits, suffix = match[1], match[2].lower()
    hexadecimal = digits.lower().startswith("0x")
    if "p" in digits.lower() or (not hexadecimal and ("." in digits or "e" in digits.lower())):
        if hexadecimal:
            digits = repr(float.fromhex(digits))
        kind = FLOAT if suffix == "f" else DOUBLE
        shown = f"fx.Float64({digits})" if kind == DOUBLE else digits
        return Text(shown, POSTFIX, kind, literal=kind == FLOAT)
    value = int(digits, 0)
    kind = {"": INT, "u": UNSIGNED, "l": LONG, "ll": LONG}.get(suffix, ULONG)
    if kind == INT and value >= 1 << 31:
        kind = UNSIGNED if hexadecimal and value < 1 << 32 else LONG
    literal = Text(digits, POSTFIX, kind, literal=True)
    return literal if value < 1 << 31 else with_type(literal)


def is_small(x: Text) -> bool:
    """Whether a literal is one number that every integer of 32 bits can be."""
    try:
        return -(1 << 31) <= int(x.text, 0) < 1 << 31
    except ValueError:
        return False


def with_type(x: Text) -> Text:
    """A literal with its type."""
    if not x.literal or not isinstance(x.type, Scalar):
        return x
    return Text(f"fx.{x.type.fly}({x.text})", POSTFIX, x.type)


def with_sign(x: Text) -> Text:
    """What was read, with the sign of its type."""
    if not x.raw or not isinstance(x.type, Scalar):
        return x
    return Text(f"fx.{x.type.fly}({x.text})", POSTFIX, x.type)
