"""What the lexer gives and the parser takes.

The kind of a token is NAME, INT, FLOAT, STRING, NEWLINE, INDENT, DEDENT or END; of a keyword or a
mark it is the text itself.
"""

from __future__ import annotations

from typing import NamedTuple

END = "END"  # the kind of the last one
MAX_NESTING = 100  # brackets in brackets, blocks in blocks, nodes in nodes
MAX_LINE = 1 << 16  # characters

PYTHON_KEYWORDS = frozenset({
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in",
    "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with",
    "yield",
})  # fmt: skip
OWN_KEYWORDS = frozenset(
    {"kernel", "program", "const", "tune", "require", "parallel", "out", "inout"}
)
KEYWORDS = PYTHON_KEYWORDS | OWN_KEYWORDS

# A line that begins with one of these cannot continue an open bracket of the line before.
CONTINUES_NOTHING = frozenset({
    "kernel", "program", "const", "tune", "require", "def", "from", "for", "while", "return", "assert",
    "pass", "elif",
})  # fmt: skip


CLOSING = {"(": ")", "[": "]", "{": "}"}


class Token(NamedTuple):
    """A piece of the source; lines and columns count from 1, the end is exclusive."""

    kind: str
    text: str
    line: int
    col: int
    end_line: int
    end_col: int
