"""Types and attributes of MLIR as Python values."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass
from typing import Any

_SHAPE = re.compile(r"((?:(?:\d+|\?)x)*)(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Type:
    """A type: its text, its kind, and what it is made of.

    The kind is the word before `<`: memref, vector, tensor, or the dialect's name as in
    `aie.objectfifo`; a scalar's kind is its text. Dimensions that are not known are -1. The element of
    a shaped type is the text of a scalar; `inner` is what a dialect's type holds.
    """

    text: str
    kind: str
    shape: tuple[int, ...] = ()
    element: str = ""
    inner: Type | None = None

    @property
    def count(self) -> int:
        """The number of its elements."""
        return math.prod(self.shape)

    def __str__(self) -> str:
        return self.text


@functools.lru_cache(4096)
def type_of(text: str) -> Type:
    """The type of a text without comments, with one space where there is any."""
    text = text.strip()
    head, bracket, rest = text.partition("<")
    if not bracket or text[0] == "(":
        return Type(text, text.removeprefix("!"), (), text)
    body = rest[:-1].strip()
    head = head.strip().removeprefix("!")
    if head in ("memref", "vector", "tensor"):
        parts = _SHAPE.fullmatch(_first(body))
        assert parts is not None
        shape = tuple(-1 if n == "?" else int(n) for n in parts[1].split("x") if n)
        return Type(text, head, shape, parts[2].strip())
    inner = type_of(body) if "memref" in body else None
    return Type(text, head, (), "", inner)


def _first(body: str) -> str:
    """The part before the first comma that is in no bracket: a memref's layout and space follow it."""
    depth = 0
    for at, char in enumerate(body):
        depth += (char in "<([{") - (char in ">)]}")
        if char == "," and not depth:
            return body[:at].strip()
    return body


INDEX, I1, I32 = type_of("index"), type_of("i1"), type_of("i32")


@dataclass(frozen=True, slots=True)
class Number:
    """An integer or a float with the text of its type, which is empty where none was written."""

    value: int | float
    type: str = ""


class Word(str):
    """A bare keyword, as the cases of enumerations are: DMA, AcquireGreaterEqual."""

    __slots__ = ()


class Symbol(str):
    """The name of a symbol, without the @; nested ones are joined by ::."""

    __slots__ = ()


class Use(str):
    """The use of a value where an integer may stand as well; it is among the operands too."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Dense:
    """Elements of a constant: one for all (`splat`), or all of them in order; hex texts stay texts."""

    values: tuple[Any, ...]
    splat: bool
    type: Type


@dataclass(frozen=True, slots=True)
class Opaque:
    """An attribute of a dialect: its name (`aie.packet_info`), what it holds, and its text."""

    name: str
    value: Any
    text: str


@dataclass(frozen=True, slots=True)
class Integers:
    """`array<i32: 1, 2>`."""

    values: tuple[int, ...]
    type: str


UNIT = Word("unit")
