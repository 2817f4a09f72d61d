"""What the names of a source refer to: locals of an item, items of the module, imports, the language.

It reads tokens, not trees, so that it answers while a line is being typed. A kernel has one scope: a
name that it binds anywhere is its own everywhere in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from dslc.checker.calls import FUNCTIONS
from dslc.checker.context import CONSTANTS
from dslc.compiler.dtypes import parse_dtype
from dslc.compiler.layout import LAYOUT_FUNCTIONS
from dslc.frontend.tokens import Token
from dslc.language_server.document import Document, Part

_OPENS, _CLOSES = frozenset("([{"), frozenset(")]}")
_UPDATES = frozenset(
    {"=", "+=", "-=", "*=", "/=", "//=", "%=", "**=", "&=", "|=", "^=", "<<=", ">>="}
)
STATEMENTS = frozenset({"print", "range", "grid"})


class Kind(Enum):
    """What a name is."""

    PARAMETER = "parameter"
    DIM = "dim"
    CONST = "const"
    TUNE = "tune"
    LOCAL = "local"
    COUNTER = "counter"
    FUNCTION = "function"
    KERNEL = "kernel"
    PROGRAM = "program"
    IMPORTED = "imported"
    BUILTIN = "function of the language"
    DTYPE = "dtype"
    KEYWORD_ARGUMENT = "argument"
    METHOD = "function of layouts"
    UNKNOWN = "unknown"


_HEADS = {"kernel": Kind.KERNEL, "program": Kind.PROGRAM, "def": Kind.FUNCTION}


@dataclass(frozen=True)
class Name:
    """A name at a token: what it is, and where it is defined, if in this document."""

    token: Token
    kind: Kind
    part: Part | None = None  # of its definition
    definition: Token | None = None


def locals_of(part: Part) -> dict[str, tuple[Kind, Token]]:
    """The names that an item binds for itself, with what each is and its first token."""
    known: dict[str, tuple[Kind, Token]] | None = part.memo.get("locals")
    if known is None:
        known = part.memo["locals"] = {}
        for kind, token in _bindings(part.tokens):
            known.setdefault(token.text, (kind, token))
    return known


def _bindings(tokens: list[Token]) -> Iterator[tuple[Kind, Token]]:
    """Every binding of an item within its own scope, parameters first."""
    begin = _head(tokens)
    if begin is None:
        return
    head, body = tokens[begin : (end := _end_of_head(tokens, begin))], tokens[end:]
    yield from _decorated(tokens[:begin])
    yield from _parameters(head, is_function=head[0].kind == "def" and not _has_types(head))
    depth = 0
    for i, token in enumerate(body):
        depth += (token.kind in _OPENS) - (token.kind in _CLOSES)
        after = body[i + 1].kind if i + 1 < len(body) else ""
        if token.kind in ("const", "tune") and after == "NAME":
            yield (Kind.CONST if token.kind == "const" else Kind.TUNE), body[i + 1]
        elif token.kind == "for":
            for target in body[i + 1 :]:
                if target.kind == "in":
                    break
                if target.kind == "NAME":
                    yield Kind.COUNTER, target
        elif token.kind == "NAME" and depth == 0 and after in ("=", ",") and _begins(body, i):
            yield from _targets(body, i)


def _has_types(head: list[Token]) -> bool:
    """Whether a `def` is a decorated kernel: its parameters have types."""
    depth = 0
    for token in head:
        depth += (token.kind in _OPENS) - (token.kind in _CLOSES)
        if depth == 1 and token.kind == ":":
            return True
    return False


def _begins(body: list[Token], i: int) -> bool:
    """Whether a token is the first of its line."""
    return i == 0 or body[i - 1].end_line < body[i].line or body[i - 1].kind in (":", ";")


def _targets(body: list[Token], i: int) -> Iterator[tuple[Kind, Token]]:
    """The names before a `=`: of `a = ...` and `a, b = ...`."""
    names = []
    for token in body[i:]:
        if token.kind == "NAME":
            names.append(token)
        elif token.kind == "=":
            yield from ((Kind.LOCAL, name) for name in names)
            return
        elif token.kind != ",":
            return


def _head(tokens: list[Token]) -> int | None:
    """Where the item's own keyword is."""
    return next((i for i, t in enumerate(tokens) if t.kind in _HEADS), None)


def _end_of_head(tokens: list[Token], begin: int) -> int:
    """Behind the colon that ends a head."""
    depth = 0
    for i in range(begin, len(tokens)):
        kind = tokens[i].kind
        depth += (kind in _OPENS) - (kind in _CLOSES)
        if depth <= 0 and kind == ":":
            return i + 1
    return len(tokens)


def _decorated(tokens: list[Token]) -> Iterator[tuple[Kind, Token]]:
    """The keywords of a decorator."""
    for i, token in enumerate(tokens[:-1]):
        if (
            token.kind == "NAME"
            and tokens[i + 1].kind == "="
            and token.text
            not in (
                "target",
                "autotune",
            )
        ):
            is_tune = i + 2 < len(tokens) and tokens[i + 2].kind == "["
            yield (Kind.TUNE if is_tune else Kind.CONST), token


def _parameters(head: list[Token], *, is_function: bool) -> Iterator[tuple[Kind, Token]]:
    """The parameters of a head, then the dims that their types name."""
    depth = 0
    names: set[str] = set()
    dims = []
    word = ""
    for i, token in enumerate(head):
        after = head[i + 1].kind if i + 1 < len(head) else ""
        depth += (token.kind in _OPENS) - (token.kind in _CLOSES)
        if token.kind != "NAME":
            continue
        if depth == 1 and (
            after == ":" or (is_function and head[i - 1].kind in ("(", ",") and after != ".")
        ):
            names.add(token.text)
            yield Kind.PARAMETER, token
        elif depth > 1 and after not in ("[", "(", ".") and not is_function:
            first = head[i - 1].kind == "[" and word in ("tensor", "out", "inout")
            if not first and parse_dtype(token.text) is None:
                dims.append(token)
        if after in ("[", "("):
            word = token.text
    for token in dims:
        if token.text not in names:
            yield Kind.DIM, token


def module_names(document: Document) -> dict[str, tuple[Kind, Part, Token]]:
    """The names of the module, each with its part and token."""
    names: dict[str, tuple[Kind, Part, Token]] | None = document.memo.get("names")
    if names is None:
        names = document.memo["names"] = {}
        for part in document.parts:
            for kind, token in defined_by(part.tokens):
                names.setdefault(token.text, (kind, part, token))
    return names


def defined_by(tokens: list[Token]) -> Iterator[tuple[Kind, Token]]:
    """The names that a part of a source gives to the module."""
    if not tokens:
        return
    begin = _head(tokens)
    first = tokens[0].kind
    if begin is not None and begin + 1 < len(tokens) and tokens[begin + 1].kind == "NAME":
        kind = _HEADS[tokens[begin].kind]
        if kind is Kind.FUNCTION and any(t.kind == "@" for t in tokens[:begin]):
            kind = Kind.KERNEL
        yield kind, tokens[begin + 1]
    elif first == "const" and len(tokens) > 1 and tokens[1].kind == "NAME":
        yield Kind.CONST, tokens[1]
    elif first == "from":
        after = next((i for i, t in enumerate(tokens) if t.kind == "import"), len(tokens))
        yield from ((Kind.IMPORTED, t) for t in tokens[after + 1 :] if t.kind == "NAME")
    elif first == "NAME" and len(tokens) > 1 and tokens[1].kind == "=":
        yield Kind.CONST, tokens[0]


def is_keyword_argument(part: Part, i: int) -> bool:
    """Whether token i is the name of an argument in a call: `axis` of `sum(x, axis=1)`."""
    after = part.tokens[i + 1].kind if i + 1 < len(part.tokens) else ""
    if after != "=" or i == 0 or part.tokens[i - 1].kind not in ("(", ","):
        return False
    depth = 0
    for before in reversed(part.tokens[:i]):
        depth += (before.kind in _CLOSES) - (before.kind in _OPENS)
        if depth < 0:
            return before.kind == "("
    return False


def resolve(document: Document, part: Part, token: Token, i: int | None = None) -> Name:
    """What the name at a token, the part's number i, refers to."""
    text = token.text
    own = locals_of(part)
    i = part.tokens.index(token) if i is None else i
    if i and part.tokens[i - 1].kind == ".":
        return Name(token, Kind.METHOD if text in LAYOUT_FUNCTIONS else Kind.UNKNOWN)
    if is_keyword_argument(part, i) and not (text in own and own[text][1] == token):
        return Name(token, Kind.KEYWORD_ARGUMENT)
    if text in own:
        kind, definition = own[text]
        return Name(token, kind, part, definition)
    names = module_names(document)
    if text in names:
        kind, where, definition = names[text]
        return Name(token, kind, where, definition)
    if text in FUNCTIONS or text in LAYOUT_FUNCTIONS or text in STATEMENTS or text in CONSTANTS:
        return Name(token, Kind.BUILTIN)
    if parse_dtype(text) is not None:
        return Name(token, Kind.DTYPE)
    return Name(token, Kind.UNKNOWN)


def occurrences(document: Document, name: Name) -> Iterator[tuple[Part, Token]]:
    """Every token of the document that refers to what a name refers to."""
    if name.part is None or name.definition is None:
        return
    text = name.definition.text
    is_local = locals_of(name.part).get(text, (None, None))[1] == name.definition
    for part in [name.part] if is_local else document.parts:
        if not is_local and text in locals_of(part):
            continue
        for i, token in enumerate(part.tokens):
            if token.text == text and token.kind == "NAME":
                other = resolve(document, part, token, i)
                if other.definition == name.definition and other.part is name.part:
                    yield part, token
