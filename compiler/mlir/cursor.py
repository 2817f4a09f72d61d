"""A place in the words of a text."""

from __future__ import annotations

from typing import NoReturn

from dslc.compiler.mlir.lexer import Tokens
from dslc.compiler.mlir.operations import MlirError

_OPEN, _CLOSE = "<([{", ">)]}"


class Cursor:
    """A text, and how far it was read."""

    def __init__(self, text: str) -> None:
        self._tokens = Tokens(text)
        self.kinds, self.words = self._tokens.kinds, self._tokens.words
        self.at = 0

    def fail(self, message: str, back: int = 0) -> NoReturn:
        """MlirError at this place, or so many words before."""
        raise MlirError(message, self._tokens.line_at(self._tokens.starts[self.at - back]))

    @property
    def line(self) -> int:
        """The line of this place."""
        return self._tokens.line_at(self._tokens.starts[self.at])

    @property
    def word(self) -> str:
        """The word at this place; empty at the end."""
        return self.words[self.at]

    @property
    def kind(self) -> str:
        """The kind of the word at this place."""
        return self.kinds[self.at]

    def accept(self, word: str) -> bool:
        """Whether this is the word, which is passed then."""
        if self.words[self.at] != word or self.kinds[self.at] == "string":
            return False
        self.at += 1
        return True

    def expect(self, word: str) -> None:
        """Pass a word that must be here."""
        if not self.accept(word):
            self.fail(f"{word!r} is expected, not {self.word or 'the end'!r}")

    def take(self, kind: str) -> str:
        """Pass a word of a kind."""
        if self.kinds[self.at] != kind:
            self.fail(f"a {kind} is expected, not {self.word or 'the end'!r}")
        self.at += 1
        return self.words[self.at - 1]

    def operand(self) -> str:
        """Pass the use of a value."""
        return self.take("value")

    def operands(self) -> list[str]:
        """Pass uses of values with commas between; there may be none."""
        uses: list[str] = []
        while self.kind == "value":
            uses.append(self.operand())
            if not (self.word == "," and self.kinds[self.at + 1] == "value"):
                break
            self.at += 1
        return uses

    def balanced(self) -> str:
        """Pass from an opening bracket to its partner; the text between, brackets included."""
        first, depth = self.at, 0
        while True:
            word, kind = self.words[self.at], self.kinds[self.at]
            if kind == "end":
                self.fail("a bracket is never closed")
            if kind == "mark":
                depth += (word in _OPEN) - (word in _CLOSE)
            self.at += 1
            if not depth:
                return self.span(first)

    def span(self, first: int) -> str:
        """The text from a word up to this place."""
        tokens = self._tokens
        return " ".join(tokens.text[tokens.starts[first] : tokens.ends[self.at - 1]].split())
