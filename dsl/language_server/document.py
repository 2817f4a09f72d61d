"""A source as an editor changes it: its top-level items, of which those that stay are read once.

The lines of a part count from its own first line, so that what is typed above moves nothing in it. Its
places bear its `key` in place of a file's name, by which a document finds where the part is now.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, Loc
from dslc.frontend import tree
from dslc.frontend.lexer import Lexer
from dslc.frontend.patterns import ITEM
from dslc.frontend.tile_parser import parse_tile
from dslc.frontend.tokens import Token

_EDGES = frozenset({"NEWLINE", "INDENT", "DEDENT", "END"})
_numbers = itertools.count(1)


def new_key() -> str:
    """A key that no other part has."""
    return f"<part {next(_numbers)}>"


@dataclass(eq=False)
class Part:
    """One top-level item with what stands before the next one.

    `tokens` are those that can be read, whether or not the part can be parsed; `items` are its syntax
    trees, none where `errors` are its syntax errors. `is_code` says that it is in the Tile language, as
    of a Python module the decorated functions are.
    """

    text: str
    key: str
    tokens: list[Token] = field(default_factory=list)
    items: tuple[tree.TopLevel, ...] = ()
    doc: str | None = None
    errors: tuple[Diagnostic, ...] = ()
    is_code: bool = True
    memo: dict[str, Any] = field(default_factory=dict)  # what was derived from it before

    @property
    def item(self) -> tree.TopLevel | None:
        """The item, where there is one."""
        return self.items[0] if self.items else None

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return self.text.count("\n")


def tile_part(text: str) -> Part:
    """The part of a `.tile` source with this text."""
    part = Part(text, new_key())
    part.tokens = list(_tokens(text))
    try:
        module = parse_tile.__wrapped__(text, part.key)
        part.items, part.doc = module.items, module.doc
    except DiagnosticError as failure:
        part.errors = failure.diagnostics
    return part


def _tokens(text: str) -> Iterator[Token]:
    """The tokens, as far as there are any."""
    lexer = Lexer(text, "", lambda diagnostic: None)
    try:
        for token in lexer.tokens():
            if token.kind not in _EDGES:
                yield token
    except DiagnosticError:
        return


class Document:
    """The parts of one source in order, with the line on which each begins (from 0)."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = ""
        self.rows: list[str] = []
        self.parts: list[Part] = []
        self.starts: list[int] = []
        self.memo: dict[str, Any] = {}  # what was derived from this text
        self.update(text)

    def update(self, text: str) -> None:
        """Take a new text; parts whose text is as before are kept."""
        if text == self.text and self.parts:
            return
        self.text = text
        self.rows = text.split("\n")
        self.memo = {}
        known: defaultdict[str, list[Part]] = defaultdict(list)
        for part in self.parts:
            known[part.text].append(part)
        self.parts = []
        self.starts = []
        line = 0
        for piece in self.pieces(text.replace("\r\n", "\n")):
            part = known[piece].pop(0) if known[piece] else self.part(piece)
            self.parts.append(part)
            self.starts.append(line)
            line += part.lines

    def pieces(self, text: str) -> Iterator[str]:
        """The text of each part: from the beginning of an item to that of the next."""
        begins = [0, *(item.start() for item in ITEM.finditer(text) if item.start())]
        for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
            yield text[begin:end]

    def part(self, text: str) -> Part:
        """A part of this text."""
        return tile_part(text)

    @property
    def items(self) -> tuple[tree.TopLevel, ...]:
        """The items of every part that can be parsed."""
        return tuple(item for part in self.parts for item in part.items)

    def at(self, line: int) -> tuple[Part, int]:
        """The part of a line (from 0) and the line in it (from 1)."""
        for part, start in zip(reversed(self.parts), reversed(self.starts), strict=True):
            if start <= line:
                return part, line - start + 1
        return self.parts[0], line + 1

    def token_at(self, line: int, col: int) -> tuple[Part, Token] | None:
        """The token at a place (both from 0); of two that meet there, the name."""
        part, own = self.at(line)
        meeting = [t for t in part.tokens if t.line == own and t.col - 1 <= col <= t.end_col - 1]
        words = [t for t in meeting if t.text.isidentifier()]
        return (part, (words or meeting)[-1]) if meeting else None

    def start_of(self, part: Part) -> int:
        """The line on which a part begins, from 0."""
        return self.starts[self.parts.index(part)]

    def located(self, loc: Loc) -> Loc:
        """A place in a part as one of the document."""
        for part, start in zip(self.parts, self.starts, strict=True):
            if part.key == loc.file:
                end = loc.end_line + start if loc.end_line else 0
                return Loc(str(self.path), loc.line + start, loc.col, end, loc.end_col)
        return loc
