"""Definitions and references, across imports, and renaming."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dslc.compiler.diagnostics import Loc
from dslc.frontend.imports import STANDARD
from dslc.frontend.tokens import KEYWORDS, Token
from dslc.language_server.document import Document, Part
from dslc.language_server.names import (
    Kind,
    Name,
    locals_of,
    module_names,
    occurrences,
    resolve,
)

Open = Callable[[Path], "Document | None"]
"""Gives the document of a path: as it is in the editor, else on disk."""
_MOST_FILES = 2_000  # that are looked through for references


@dataclass(frozen=True)
class Found:
    """A token in a document."""

    document: Document
    part: Part
    token: Token

    @property
    def loc(self) -> Loc:
        """Its place."""
        t = self.token
        return self.document.located(Loc(self.part.key, t.line, t.col, t.end_line, t.end_col))


def definition(document: Document, part: Part, token: Token, open_: Open) -> Found | None:
    """Where what a token names is defined: of an imported name, in the file that it comes from."""
    name = resolve(document, part, token)
    if name.part is None or name.definition is None:
        return None
    if name.kind is not Kind.IMPORTED:
        return Found(document, name.part, name.definition)
    other = open_(_imported_path(document, name.part))
    if other is None:
        return None
    names = module_names(other)
    if token.text not in names:
        return None
    kind, where, defined = names[token.text]
    if kind is Kind.IMPORTED and other is not document:
        return definition(other, where, defined, open_)
    return Found(other, where, defined)


def _imported_path(document: Document, part: Part) -> Path:
    """The file of an import."""
    words = []
    for token in part.tokens[1:]:
        if token.kind == "import":
            break
        if token.kind == "NAME":
            words.append(token.text)
    folder = STANDARD if words[:1] == ["std"] else document.path.parent
    return (folder / Path(*words or [""])).with_suffix(".tile")


def references(
    document: Document, part: Part, token: Token, open_: Open, folder: Path | None
) -> list[Found]:
    """Every token that names the same, in this document and in those of `folder` that import it."""
    target = definition(document, part, token, open_)
    if target is None:
        return []
    home = target.document
    own = resolve(home, target.part, target.token)
    places = [Found(home, p, t) for p, t in occurrences(home, own)]
    if locals_of(target.part).get(target.token.text, (None, None))[1] == target.token:
        return places
    for other in _importers(home, target.token.text, open_, folder):
        for kind, where, defined in [
            module_names(other).get(target.token.text, (None, None, None))
        ]:
            if kind is not Kind.IMPORTED or where is None or defined is None:
                continue
            if _imported_path(other, where).resolve() == home.path.resolve():
                name = Name(defined, Kind.IMPORTED, where, defined)
                places += [Found(other, p, t) for p, t in occurrences(other, name)]
    return places


def _importers(home: Document, name: str, open_: Open, folder: Path | None) -> Iterator[Document]:
    """The documents that may import a name from `home`."""
    root = folder or home.path.parent
    for number, path in enumerate(sorted(root.rglob("*.tile"))):
        if number >= _MOST_FILES:
            return
        if path.resolve() == home.path.resolve():
            continue
        other = open_(path)
        if other is not None and name in other.text and home.path.stem in other.text:
            yield other


def refusal(document: Document, part: Part, token: Token, new: str) -> str | None:
    """Why a name cannot become `new`; None where it can."""
    name = resolve(document, part, token)
    if name.definition is None:
        return f"`{token.text}` is not defined in this source"
    if not new.isidentifier() or new in KEYWORDS:
        return f"`{new}` cannot be a name"
    if name.part is not None and new in locals_of(name.part):
        return f"`{new}` is another name here"
    if name.kind not in (Kind.LOCAL, Kind.COUNTER) and new in module_names(document):
        return f"`{new}` is another name of this source"
    return None
