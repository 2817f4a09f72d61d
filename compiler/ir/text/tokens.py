"""Tokens of the text form, and the cursor that a parser moves over them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from dslc.compiler.diagnostics import DiagnosticError, Loc, error
from dslc.compiler.diagnostics.suggest import did_you_mean
from dslc.compiler.dtypes import DType, all_dtypes, parse_dtype

T = TypeVar("T")

_NAME = r"[A-Za-z_][A-Za-z0-9_.]*"
_TOKEN = re.compile(
    rf"""
      (?P<space>[ \t\r]+|\#[^\n]*)
    | (?P<line>\n)
    | (?P<string>"(?:[^"\\\n]|\\.)*")
    | (?P<layout>`[^`\n]*`)
    | (?P<tile>%{_NAME})
    | (?P<memory>@{_NAME})
    | (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)
    | (?P<name>{_NAME})
    | (?P<symbol>\*\*|//|<<|>>|[=!<>]=|[-+*/%&|^~<>()\[\]{{}},:=!])
    """,
    re.VERBOSE,
)
_MAX_DIGITS = 400
_MAX_DEPTH = 100  # of nested blocks and parentheses


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the text: its kind, its text, and where it stands."""

    kind: str
    text: str
    line: int
    col: int


class Cursor:
    """The tokens of a text, one looked at, and what every parser asks of them."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self._tokens = list(self._split(text))
        self._at = 0
        self._depth = 0

    def _split(self, text: str) -> Iterator[Token]:
        position, line, start = 0, 1, 0
        brackets = 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                loc = Loc(self.file, line, position - start + 1)
                raise error("DSL0401", f"{text[position]!r} begins no word of Tile IR", loc)
            kind, word = str(match.lastgroup), match.group()
            if kind == "line":
                if not brackets:
                    yield Token(kind, word, line, position - start + 1)
                line, start = line + 1, match.end()
            elif kind != "space":
                brackets += (word in ("(", "[")) - (word in (")", "]"))
                yield Token(kind, word, line, position - start + 1)
            position = match.end()
        yield Token("line", "\n", line, position - start + 1)
        yield Token("end", "", line, position - start + 1)

    @property
    def token(self) -> Token:
        """The token that comes next."""
        return self._tokens[self._at]

    @property
    def following(self) -> Token:
        """The token after the next."""
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)]

    def ahead(self) -> list[Token]:
        """The tokens from the next one on, none taken."""
        return self._tokens[self._at :]

    def loc(self, token: Token | None = None) -> Loc:
        """Where a token stands; the next one if none is given."""
        token = token or self.token
        return Loc(self.file, token.line, token.col, token.line, token.col + len(token.text))

    def fail(self, expected: str) -> DiagnosticError:
        """The error of a text that goes on otherwise than expected."""
        there = {"line": "the line ends", "end": "the text ends"}.get(self.token.kind)
        there = there or f"there is {self.token.text!r}"
        return error("DSL0401", f"expected {expected}, but {there}", self.loc())

    def unknown(self, what: str, token: Token, known: Iterable[str]) -> DiagnosticError:
        """The error of a name that nothing has."""
        hint = did_you_mean(token.text, known)
        return error("DSL0402", f"there is no {what} {token.text!r}", self.loc(token), hint=hint)

    def mismatch(self, message: str, token: Token, hint: str | None = None) -> DiagnosticError:
        """The error of parts that do not fit together."""
        return error("DSL0404", message, self.loc(token), hint=hint)

    def defined_twice(self, token: Token) -> DiagnosticError:
        """The error of a name that something has already."""
        return error("DSL0403", f"{token.text} is defined twice", self.loc(token))

    def take(self, kind: str, expected: str) -> Token:
        """The next token, which must be of the kind."""
        token = self.token
        if token.kind != kind:
            raise self.fail(expected)
        self._at += 1
        return token

    def accept(self, *texts: str) -> bool:
        """Take the next token if it is one of these symbols or words."""
        token = self.token
        if token.kind in ("symbol", "name") and token.text in texts:
            self._at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        """Take the next token, which must be this symbol or word."""
        if not self.accept(text):
            raise self.fail(repr(text))

    def lines(self) -> None:
        """Skip the ends of lines."""
        while self.token.kind == "line":
            self._at += 1

    def end_line(self) -> None:
        """The statement ends here: at the end of a line or before a closing brace."""
        if self.token.text != "}":
            self.take("line", "the end of the line")
        self.lines()

    def until(self, close: str, item: Callable[[], T]) -> tuple[T, ...]:
        """Items with commas up to a closing bracket, which is taken."""
        items: list[T] = []
        while not self.accept(close):
            if items:
                self.expect(",")
            items.append(item())
        return tuple(items)

    def deeper(self) -> None:
        """One level of nesting begins; too many are an error."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise error("DSL0401", f"more than {_MAX_DEPTH} levels are nested here", self.loc())

    def shallower(self) -> None:
        """A level of nesting ends."""
        self._depth -= 1

    def name(self, what: str) -> Token:
        """A bare name."""
        return self.take("name", what)

    def string(self) -> str:
        """A text between quotes."""
        token = self.take("string", "a text between quotes")
        try:
            return str(json.loads(token.text))
        except ValueError:
            raise error("DSL0401", "this is no text that can be read", self.loc(token)) from None

    def integer(self) -> int:
        """A whole number, perhaps negative."""
        sign = -1 if self.accept("-") else 1
        token = self.take("number", "a whole number")
        if not token.text.isdigit() or len(token.text) > _MAX_DIGITS:
            raise error("DSL0401", f"{token.text[:40]} is no whole number", self.loc(token))
        return sign * int(token.text)

    def dtype(self) -> DType:
        """The name of a dtype."""
        token = self.name("a dtype")
        parsed = parse_dtype(token.text)
        if parsed is None:
            raise self.unknown("dtype", token, (d.name for d in all_dtypes()))
        return parsed
