"""The regular expressions of the lexer."""

from __future__ import annotations

import re

_DIGITS = "[0-9](?:_?[0-9])*"
TOKEN = re.compile(
    rf"""[ \t\f]*(?:
      (?P<STRING>(?i:[rubft]|rb|br|fr|rf|tr|rt)?(?:'''|\"""|'|"))
    | (?P<NAME>[^\W\d]\w*)
    | (?P<FLOAT>(?:{_DIGITS}\.(?:{_DIGITS})?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?(?!\w)
        | {_DIGITS}[eE][+-]?{_DIGITS}(?!\w))
    | (?P<INT>(?:0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|0(?:_?0)*
        | [1-9](?:_?[0-9])*)(?![\w.]))
    | (?P<number>[0-9][\w.]*)
    | (?P<mark>\.\.\.|\*\*=|//=|<<=|>>=|\*\*|//|<<|>>|<=|>=|==|!=|->|:=|[-+*/%&|^@]=
        | [-+*/%&|^~<>=()\[\]{{}},:.;@])
    | (?P<newline>\n)
    | (?P<comment>\#[^\n]*)
    | (?P<join>\\\n)
    | (?P<end>\Z)
    | (?P<unknown>.))""",
    re.VERBOSE,
)
NEWLINE = re.compile("\n")
ITEM = re.compile(r"^(?:from|const|def|kernel|program)\b", re.MULTILINE)
INDENT = re.compile(r"[ \t\f]*")
# What is looked at within a string: escaped characters, the closing quotes, the end of a line.
_STOPS = {
    quote: re.compile(rf"\\.|{quote}" + (r"|\n" if len(quote) == 1 else ""), re.DOTALL)
    for quote in ("'", '"', "'''", '"""')
}


def string_end(source: str, quote: str, start: int) -> int | None:
    """Behind the quotes that close a string whose content begins at `start`; None where none do.

    One expression for all of it would need a possessive repeat of a group, since strings may be
    huge, and those are wrong in early releases of Python 3.11 (3.11.2 has it).
    """
    for mark in _STOPS[quote].finditer(source, start):
        if mark[0] == quote:
            return mark.end()
        if mark[0] == "\n":
            return None
    return None


# What may open or close a bracket in the rest of a source, up to the next item.
BRACKETS = re.compile(
    r"""\#[^\n]* | '[^'\n]*' | "[^"\n]*" | (?P<open>[(\[{]) | (?P<close>[)\]}])
    | ^(?P<item>kernel|program|def|const|from)\b""",
    re.VERBOSE | re.MULTILINE,
)
