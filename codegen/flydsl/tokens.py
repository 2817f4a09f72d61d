"""The words of emitted HIP."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"\s+|//[^\n]*"
    r"|(?P<pragma>\#pragma[^\n]*)"
    r"|(?P<number>0[xX][\da-fA-F.]+(?:[pP][+-]?\d+)?[uUlLfF]*|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[uUlLfF]*)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r'|(?P<string>"(?:[^"\\]|\\.)*")'
    r"|(?P<sign><<=|>>=|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|::|[-+*/%&|^~!<>=?:;,.(){}\[\]])"
    r"|(?P<other>.)"
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the text: its kind, its spelling, its line."""

    kind: str
    text: str
    line: int


def tokens(text: str, first_line: int = 1) -> list[Token]:
    """The words of a text; what is no word of the generator's is for the grammar to refuse."""
    read, at, line = [], 0, first_line
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None, "any character is a token"
        if match.lastgroup:
            read.append(Token(match.lastgroup, match[0], line))
        line += match[0].count("\n")
        at = match.end()
    return [*read, Token("end", "", line)]
