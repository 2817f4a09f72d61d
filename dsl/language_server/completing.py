"""Completion: what may be written at a place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dslc.compiler.layout import LAYOUT_FUNCTIONS
from dslc.language_server.checking import Facts
from dslc.language_server.document import Document
from dslc.language_server.explaining import call_at
from dslc.language_server.language import (
    STATEMENTS,
    dtype_text,
    dtypes,
    functions,
    statement_text,
)
from dslc.language_server.names import Kind, locals_of, module_names
from dslc.language_server.navigation import Open

_IMPORT = re.compile(r"\s*from\s+([\w.]+)\s+import\b")
_FROM = re.compile(r"\s*from\s+[\w.]*\Z")


@dataclass(frozen=True)
class Choice:
    """What may be written: its kind in words, a short description, and a text in Markdown."""

    label: str
    kind: str
    detail: str = ""
    text: str = ""


def choices(document: Document, facts: Facts, line: int, col: int, open_: Open) -> Iterator[Choice]:
    """Everything that may be written at a place (from 0)."""
    rows = document.text.split("\n")
    before = rows[line][:col] if line < len(rows) else ""
    if imported := _IMPORT.match(before):
        yield from _importable(document, imported[1], open_)
        return
    if _FROM.match(before):
        yield from _files(document.path)
        return
    if re.search(r"[\w)\]]\.\w*\Z", before) and not re.search(r"\d\.\d*\Z", before):
        yield from (_function(name) for name in sorted(LAYOUT_FUNCTIONS) if name in functions())
        return
    part, _ = document.at(line)
    for name, (kind, token) in locals_of(part).items():
        fact = facts.get((token.line, token.col))
        yield Choice(name, kind.value, fact.type if fact else "")
    for name, (kind, _, _) in module_names(document).items():
        yield Choice(name, kind.value)
    call = call_at(document, line, col)
    if call is not None:
        for parameter in call[0].parameters:
            name, equals, _ = parameter.partition("=")
            if equals:
                yield Choice(f"{name}=", Kind.KEYWORD_ARGUMENT.value, parameter)
    yield from (_function(name) for name in functions())
    yield from (Choice(n, Kind.DTYPE.value, dtype_text(n) or "") for n in dtypes())
    yield from (Choice(w, "keyword", "", statement_text(w) or "") for w in STATEMENTS)


def _function(name: str) -> Choice:
    known = functions()[name]
    return Choice(name, Kind.BUILTIN.value, known.signature, known.text)


def _importable(document: Document, module: str, open_: Open) -> Iterator[Choice]:
    path = (document.path.parent / Path(*module.split("."))).with_suffix(".tile")
    other = open_(path)
    if other is not None:
        for name, (kind, _, _) in module_names(other).items():
            if kind is not Kind.IMPORTED:
                yield Choice(name, kind.value)


def _files(path: Path) -> Iterator[Choice]:
    """The files beside a source."""
    if path.parent.is_dir():
        for other in sorted(path.parent.glob("*.tile")):
            if other.stem.isidentifier() and other != path:
                yield Choice(other.stem, "file", other.name)
