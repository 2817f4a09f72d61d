"""What an editor shows of a whole source: its items, what can be folded, what each name is."""

from __future__ import annotations

from collections.abc import Iterator

from dslc.frontend.tokens import Token
from dslc.language_server.document import Document, Part
from dslc.language_server.names import Kind, defined_by, locals_of, module_names, resolve

TOKEN_TYPES = ("parameter", "variable", "function", "type", "enumMember", "namespace", "property")
TOKEN_MODIFIERS = ("declaration", "readonly", "defaultLibrary")
_TYPES = {
    Kind.PARAMETER: "parameter",
    Kind.DIM: "enumMember",
    Kind.CONST: "variable",
    Kind.TUNE: "variable",
    Kind.LOCAL: "variable",
    Kind.COUNTER: "variable",
    Kind.FUNCTION: "function",
    Kind.KERNEL: "function",
    Kind.PROGRAM: "function",
    Kind.IMPORTED: "function",
    Kind.BUILTIN: "function",
    Kind.METHOD: "function",
    Kind.DTYPE: "type",
    Kind.KEYWORD_ARGUMENT: "property",
}
_READ_ONLY = frozenset({Kind.CONST, Kind.TUNE, Kind.DIM})
_OF_LANGUAGE = frozenset({Kind.BUILTIN, Kind.METHOD, Kind.DTYPE})


def symbols(document: Document) -> Iterator[tuple[Kind, str, Part, Token]]:
    """The items of a source."""
    for part in document.parts:
        for kind, token in defined_by(part.tokens):
            yield kind, token.text, part, token


def semantic_tokens(document: Document) -> list[int]:
    """Every name with what it is, in the protocol's numbers: each five, relative to the one before."""
    data: list[int] = []
    line, col = 0, 0
    kinds = {name: kind for name, (kind, _, _) in module_names(document).items()}
    for part, start in zip(document.parts, document.starts, strict=True):
        known = part.memo.get("marks")
        if known is None or known[0] != kinds:
            known = part.memo["marks"] = (kinds, _marks(document, part))
        for own_line, own_col, length, kind, modifiers in known[1]:
            here = start + own_line
            data += [here - line, own_col - (col if here == line else 0), length, kind, modifiers]
            line, col = here, own_col
    return data


def _marks(document: Document, part: Part) -> list[tuple[int, int, int, int, int]]:
    """The names of a part."""
    own = locals_of(part)
    marks = []
    for i, token in enumerate(part.tokens):
        if token.kind not in ("NAME", "parallel"):
            continue
        kind = Kind.BUILTIN if token.kind == "parallel" else resolve(document, part, token, i).kind
        if kind is Kind.UNKNOWN:
            continue
        modifiers = (
            (own.get(token.text, (None, None))[1] == token)
            | (kind in _READ_ONLY) << 1
            | (kind in _OF_LANGUAGE) << 2
        )
        number = TOKEN_TYPES.index(_TYPES[kind])
        marks.append((token.line - 1, token.col - 1, len(token.text), number, int(modifiers)))
    return marks


def folds(document: Document) -> Iterator[tuple[int, int]]:
    """The first and the last line of each block (from 0), by indentation."""
    rows = document.text.split("\n")
    open_: list[tuple[int, int]] = []
    last = 0
    for number, row in enumerate(rows):
        if not row.strip() or row.lstrip().startswith("#"):
            continue
        indent = len(row) - len(row.lstrip())
        while open_ and open_[-1][1] >= indent:
            start, _ = open_.pop()
            if last > start:
                yield start, last
        open_.append((number, indent))
        last = number
    for start, _ in reversed(open_):
        if last > start:
            yield start, last
