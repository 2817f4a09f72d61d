"""Hover, signature help and inlay hints: what a name is, what a call takes."""

from __future__ import annotations

from collections.abc import Iterator

from dslc.frontend import tree
from dslc.frontend.printer import print_item
from dslc.frontend.tokens import KEYWORDS, Token
from dslc.language_server.checking import Fact, Facts
from dslc.language_server.document import Document, Part
from dslc.language_server.language import Described, dtype_text, functions, statement_text
from dslc.language_server.names import Kind, Name, locals_of, resolve

_OPENS, _CLOSES = frozenset("([{"), frozenset(")]}")


def hover(document: Document, facts: Facts, part: Part, token: Token) -> str | None:
    """What stands at a token, in Markdown; None where there is nothing to say."""
    if token.kind in KEYWORDS and token.kind != "parallel":
        return statement_text(token.kind)
    if token.kind not in ("NAME", "parallel"):
        return None
    name = resolve(document, part, token)
    match name.kind:
        case Kind.BUILTIN | Kind.METHOD:
            known = functions().get(token.text)
            return None if known is None else f"{_code(known.signature)}\n\n{known.text}"
        case Kind.DTYPE:
            return f"{_code(token.text)}\n\n{dtype_text(token.text)}"
        case Kind.UNKNOWN | Kind.KEYWORD_ARGUMENT:
            return statement_text(token.text)
        case Kind.KERNEL | Kind.PROGRAM | Kind.FUNCTION if name.part is not None:
            return _item_text(name.part)
    fact = facts.get((token.line, token.col)) or _fact_of(facts, part, token.text)
    declared = _declared(name)
    shown = f"{token.text}: {fact.type}" if fact else declared or token.text
    about = f"{name.kind.value}" + (f", `{declared}`" if declared and fact else "")
    values = f"\n\nvalues: {fact.values}" if fact and fact.values else ""
    return f"{_code(shown)}\n\n{about}{values}"


def _fact_of(facts: Facts, part: Part, name: str) -> Fact | None:
    """What is known of a name elsewhere in its item."""
    for token in part.tokens:
        if token.text == name and (fact := facts.get((token.line, token.col))):
            return fact
    return None


def _declared(name: Name) -> str | None:
    """The declaration of a parameter, const, tune or counter, on one line."""
    if name.part is None or name.definition is None:
        return None
    tokens = name.part.tokens
    i = tokens.index(name.definition)
    match name.kind:
        case Kind.PARAMETER:
            return _until(tokens[i:], (",", ")"))
        case Kind.CONST | Kind.TUNE:
            start = i - 1 if i and tokens[i - 1].kind in ("const", "tune") else i
            return _line(name.part, tokens[start])
        case Kind.COUNTER:
            return _line(name.part, name.definition)
    return None


def _until(tokens: list[Token], ends: tuple[str, ...]) -> str:
    depth = 0
    last = tokens[0]
    for token in tokens:
        if depth == 0 and token.kind in ends:
            break
        depth += (token.kind in _OPENS) - (token.kind in _CLOSES)
        last = token
    return _source(tokens[: tokens.index(last) + 1])


def _source(tokens: list[Token]) -> str:
    from dslc.formatting.spacing import spaces

    spaced = spaces(tokens)
    return "".join(" " * s + t.text for s, t in zip(spaced, tokens, strict=True))


def _line(part: Part, token: Token) -> str:
    text = part.text.split("\n")[token.line - 1].split("#")[0].strip()
    return text.rstrip(":")


def _item_text(part: Part) -> str | None:
    """The head of a kernel or function, and its docstring."""
    item = part.item
    if not isinstance(item, tree.Kernel | tree.Program | tree.Function):
        return None
    head = print_item(item).split("):\n")[0] + ")"
    return _code(head) + (f"\n\n{item.doc}" if item.doc else "")


def _code(text: str) -> str:
    return f"```tile\n{text}\n```"


def call_at(document: Document, line: int, col: int) -> tuple[Described, int] | None:
    """The call around a place (from 0), and which of its arguments stands there."""
    part, own = document.at(line)
    before = [t for t in part.tokens if (t.line, t.col) <= (own, col)]
    depth = 0
    position = 0
    keyword = None
    for i in range(len(before) - 1, 0, -1):
        kind = before[i].kind
        if kind in _CLOSES:
            depth += 1
        elif kind in _OPENS:
            if depth == 0 and kind == "(" and before[i - 1].kind in ("NAME", "parallel"):
                known = _callee(document, part, before[i - 1])
                return None if known is None else (known, _active(known, position, keyword))
            if depth == 0:
                return None if kind == "(" else _outer(document, line, before[i])
            depth -= 1
        elif depth == 0 and kind == ",":
            position += 1
        elif depth == 0 and kind == "=" and position == 0 and keyword is None:
            keyword = before[i - 1].text
    return None


def _outer(document: Document, line: int, token: Token) -> tuple[Described, int] | None:
    """The call around a bracket of a list or an index."""
    return call_at(document, line, token.col - 2) if token.col > 1 else None


def _active(known: Described, position: int, keyword: str | None) -> int:
    names = [p.split("=")[0] for p in known.parameters]
    return names.index(keyword) if keyword in names else position


def _callee(document: Document, part: Part, token: Token) -> Described | None:
    name = resolve(document, part, token)
    if name.kind in (Kind.BUILTIN, Kind.METHOD):
        return functions().get(token.text)
    item = name.part.item if name.part is not None else None
    match item:
        case tree.Kernel(params=params) | tree.Program(params=params):
            texts = tuple(_declared_param(name.part, p.name) for p in params if name.part)
            return Described(item.name, texts, item.doc or "")
        case tree.Function(params=names):
            return Described(item.name, names, item.doc or "")
    return None


def _declared_param(part: Part | None, name: str) -> str:
    assert part is not None
    kind, token = locals_of(part)[name]
    return _declared(Name(token, kind, part, token)) or name


def inlay_hints(part: Part, facts: Facts) -> Iterator[tuple[Token, str]]:
    """Behind which tokens what is to be shown: the type of a name where it first gets a value."""
    for kind, token in locals_of(part).values():
        if kind is not Kind.LOCAL:
            continue
        fact = facts.get((token.line, token.col)) or _fact_of(facts, part, token.text)
        if fact and "[" in fact.type and not fact.type.startswith("["):
            yield token, f": {fact.type.split(', layout')[0]}"
