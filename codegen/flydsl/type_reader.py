"""Tokens of emitted HIP, and the types and attributes in them."""

from __future__ import annotations

import re

from dslc.codegen.flydsl.c_types import NAMES, Other, Pointer, Scalar, Type
from dslc.codegen.flydsl.tokens import Token

_TYPE_WORDS = frozenset((
    "void", "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned",
))  # fmt: skip
_QUALIFIERS = frozenset(("const", "volatile", "__restrict__", "static", "constexpr"))
_VECTOR = re.compile(r"(?:f16|bf16|f32|i16|i32|u32)x\d+$")


class UnreadableError(Exception):
    """Text that is not of the kind that the generator writes: the line, and what was met there."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(f"line {line}: {text}")
        self.line, self.text = line, text


class TypeReader:
    """The tokens of a text, and how far they are read."""

    def __init__(self, found: list[Token], types: set[str]) -> None:
        self._tokens, self._at, self._types = found, 0, types

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _is(self, *texts: str) -> bool:
        return self._next.text in texts and self._next.kind != "string"

    def _take(self) -> Token:
        token = self._next
        self._at += 1
        return token

    def _accept(self, text: str) -> bool:
        if self._is(text):
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> Token:
        if not self._is(text):
            raise UnreadableError(self._next.line, f"{text!r} expected, not {self._next.text!r}")
        return self._take()

    def _attributes(self) -> str:
        """What stands before a result's type, as text."""
        attributes: list[str] = []
        while (
            self._is("DEVICE", "extern", "static", "__attribute__") or self._next.kind == "string"
        ):
            token = self._take()
            attributes.append(token.text)
            if token.text == "__attribute__":
                attributes.append(self._parenthesised())
        return " ".join(attributes)

    def _parenthesised(self) -> str:
        texts, depth = [], 0
        while True:
            token = self._take()
            texts.append(token.text)
            depth += (token.text == "(") - (token.text == ")")
            if depth == 0:
                return "".join(texts)

    def _begins_type(self, ahead: int = 0) -> bool:
        text = self._tokens[self._at + ahead].text
        if text in _QUALIFIERS:
            return self._begins_type(ahead + 1)
        known = text in _TYPE_WORDS or text in NAMES or text in self._types or text == "auto"
        return known or _VECTOR.match(text) is not None

    def _type(self) -> Type:
        words: list[str] = []
        while True:
            if self._next.text in _QUALIFIERS:
                self._take()
            elif self._next.text in _TYPE_WORDS or (not words and self._begins_type()):
                words.append(self._take().text)
            else:
                break
        name = " ".join(words)
        if not name:
            raise UnreadableError(self._next.line, f"a type expected, not {self._next.text!r}")
        base_type: Type = NAMES.get(name) or Other(name)
        while self._is("*"):
            self._take()
            base_type = Pointer(base_type if isinstance(base_type, Scalar) else None)
            while self._next.text in _QUALIFIERS:
                self._take()
        return base_type
