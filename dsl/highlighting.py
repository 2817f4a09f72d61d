"""Colours for `.tile` sources: a lexer of Pygments, which finds it by the name `tile`.

    pygmentize -l tile softmax.tile

Its words are the language's own, so that it knows what this version knows.
"""

from __future__ import annotations

from typing import ClassVar

from dslc.checker.calls import FUNCTIONS
from dslc.compiler.dtypes import all_dtypes
from dslc.compiler.layout import LAYOUT_FUNCTIONS
from dslc.frontend.tokens import OWN_KEYWORDS
from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
    Whitespace,
)

DECLARES = ("const", "tune", "require", "out", "inout")
FLOW = ("for", "in", "while", "if", "elif", "else", "return", "assert", "pass", "from", "import")
CALLS = tuple(sorted({*FUNCTIONS, *LAYOUT_FUNCTIONS, "range", "parallel", "print", "grid"}))
DTYPES = tuple(sorted({d.name for d in all_dtypes()}))
assert {*DECLARES, "kernel", "program", "parallel"} == OWN_KEYWORDS


class TileLexer(RegexLexer):
    """Tokens of the Tile language."""

    name = "Tile"
    aliases: ClassVar[list[str]] = ["tile"]
    filenames: ClassVar[list[str]] = ["*.tile"]
    url = ""

    tokens: ClassVar[dict[str, list[object]]] = {
        "root": [
            (r"[ \t\f]+", Whitespace),
            (r"\\?\n", Whitespace),
            (r"#.*", Comment.Single),
            (r'(?i:[ru]?)"""(?:\\.|[^\\])*?"""', String.Doc),
            (r"(?i:[ru]?)'''(?:\\.|[^\\])*?'''", String.Doc),
            (r'(?i:[ru]?)"(?:\\.|[^"\\\n])*"', String),
            (r"(?i:[ru]?)'(?:\\.|[^'\\\n])*'", String),
            (
                r"(kernel|program|def)([ \t]+)([^\W\d]\w*)",
                bygroups(Keyword.Declaration, Whitespace, Name.Function),
            ),
            (words(DECLARES, suffix=r"\b", prefix=r"\b"), Keyword.Declaration),
            (words(FLOW, suffix=r"\b", prefix=r"\b"), Keyword),
            (words(("and", "or", "not"), suffix=r"\b", prefix=r"\b"), Operator.Word),
            (words(("True", "False", "None", "inf", "nan"), suffix=r"\b"), Keyword.Constant),
            (words(DTYPES, suffix=r"\b", prefix=r"\b"), Keyword.Type),
            (words(CALLS, suffix=r"\b(?=\s*\()", prefix=r"\b"), Name.Builtin),
            (r"[^\W\d]\w*", Name),
            (r"0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+", Number.Integer),
            (
                r"(?:\d[\d_]*\.[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?|\d[\d_]*[eE][+-]?\d+",
                Number.Float,
            ),
            (r"\d[\d_]*", Number.Integer),
            (r"\.\.\.|[()\[\]{},:;.]", Punctuation),
            (r"\*\*=?|//=?|<<=?|>>=?|[-+*/%&|^<>=!]=|[-+*/%&|^~<>=]", Operator),
            (r".", Text),
        ]
    }
