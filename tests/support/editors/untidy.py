"""The same program with other white space, comments and line breaks: what a formatter undoes."""

from __future__ import annotations

import random

from dslc.frontend.lexer import Lexer
from dslc.frontend.tokens import Token


def untidy(source: str, seed: int) -> str:
    """A text of the same tokens."""
    r = random.Random(seed)
    tokens = list(Lexer(source, "t.tile", lambda d: None).tokens())
    indents = [""]
    rows: list[str] = []
    row: str | None = None
    depth = 0
    for i, token in enumerate(tokens):
        match token.kind:
            case "INDENT":
                indents.append(indents[-1] + " " * r.choice((1, 2, 3, 4, 8)))
            case "DEDENT":
                indents.pop()
            case "NEWLINE" if row is not None:
                rows.append(row + _end(r))
                row = None
            case "NEWLINE" | "END":
                pass
            case _:
                if row is None:
                    _between(r, rows, indents[-1])
                    row = indents[-1]
                else:
                    row = _apart(r, rows, row, tokens[i - 1], token, depth)
                row += token.text
                depth += (token.kind in ("(", "[", "{")) - (token.kind in (")", "]", "}"))
    return "\n".join(rows) + r.choice(("", "\n", "\n\n\n", "\n# the end\n"))


def _between(r: random.Random, rows: list[str], indent: str) -> None:
    """Blank lines and comments before a statement."""
    rows += [r.choice(("", "  ", "\t"))] * r.choice((0, 0, 0, 1, 2, 4))
    if r.random() < 0.1:
        rows.append(f"{' ' * r.choice((0, len(indent), len(indent) + 4))}#{_words(r)}")


def _apart(
    r: random.Random, rows: list[str], row: str, left: Token, right: Token, depth: int
) -> str:
    """What stands before the next token of a statement."""
    needs_space = (
        (left.text + right.text).isidentifier()
        or left.text[-1:].isalnum()
        or (left.text[-1:] in "'\"_")
    )
    if left.text[-1:] in ".=<>*/" or right.text[:1] == ".":
        needs_space = True
    if depth and r.random() < 0.05:
        rows.append(row + _end(r))
        if r.random() < 0.3:
            rows.append(f"   #{_words(r)}")
        return " " * r.choice((0, 1, 4, 17))
    if not depth and r.random() < 0.01:
        rows.append(row + " \\")
        return " " * r.choice((0, 1, 4, 17))
    return row + " " * r.choice((1, 1, 1, 2, 5) if needs_space else (0, 0, 0, 1, 3))


def _end(r: random.Random) -> str:
    if r.random() < 0.1:
        return f"{' ' * r.choice((0, 1, 2, 7))}#{_words(r)}"
    return r.choice(("", "", "", " ", "   "))


def _words(r: random.Random) -> str:
    return r.choice((" why", "why", "", "# heading", "  [0:1] = {", " a = 'b", "!run", " ünïcode"))
