"""The words of MLIR."""

from __future__ import annotations

import re
from bisect import bisect_right

from dslc.compiler.mlir.operations import MlirError

# What stands before a word is passed with it. The common kinds come first: each is told by its first
# character, but numbers and shapes (8xi32).
_TOKENS = re.compile(
    r"""(?:\s+|//[^\n]*)*(?:
    (?P<word>[A-Za-z_][\w$.]*)
    |(?P<value>%[\w$.\-]+(?:\#\d+)?)
    |(?P<mark>->|[()\[\]{}<>:=,*+/|]|-(?!\d)|\?(?!x))
    |(?P<shape>(?!0x[0-9a-fA-F]+\b)(?:(?:\d+|\?)x)+(?:[A-Za-z_]\w*)?)
    |(?P<number>0x[0-9a-fA-F]+|-?\d+(?:\.\d*(?:[eE][+-]?\d+)?)?)
    |(?P<symbol>@(?:"(?:[^"\\\n]|\\.)*"|[A-Za-z_][\w$.]*)(?:::@[A-Za-z_][\w$.]*)*)
    |(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<label>\^[\w$.\-]+)
    |(?P<attribute>\#[\w$.]+)
    |(?P<type>![\w$.]+)
    |(?P<end>\Z))""",
    re.VERBOSE,
)


class Tokens:
    """A text as words: their kinds, their texts, where they begin and end."""

    def __init__(self, text: str) -> None:
        self.text = text
        matches = []
        scan = _TOKENS.scanner(text)  # type: ignore[attr-defined]
        while (match := scan.match()) is not None:
            matches.append(match)
            if match.lastgroup == "end":
                break
        self.kinds: list[str] = [m.lastgroup for m in matches]
        self.words: list[str] = [m[m.lastindex] for m in matches]
        self.starts: list[int] = [m.start(m.lastindex) for m in matches]
        self.ends: list[int] = [m.end() for m in matches]
        self._newlines = [m.start() for m in re.finditer("\n", text)]
        if not self.kinds or self.kinds[-1] != "end":
            at = self.ends[-1] if self.ends else 0
            at += len(text[at:]) - len(text[at:].lstrip())
            raise MlirError(f"no word of MLIR begins with {text[at : at + 8]!r}", self.line_at(at))

    def line_at(self, place: int) -> int:
        """The line of a place in the text, from 1 on."""
        return bisect_right(self._newlines, place - 1) + 1
