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
# From behind the opening quotes to behind the closing ones; possessive, since strings may be huge.
STRING_END = {
    quote: re.compile(
        rf"(?:[^\\{quote[0]}\n]|\\.)*+{quote}"
        if len(quote) == 1
        else rf"(?:[^\\{quote[0]}]|\\.|{quote[0]}(?!{quote[0] * 2}))*+{quote}",
        re.DOTALL,
    )
    for quote in ("'", '"', "'''", '"""')
}
# What may open or close a bracket in the rest of a source, up to the next item.
BRACKETS = re.compile(
    r"""\#[^\n]* | '[^'\n]*' | "[^"\n]*" | (?P<open>[(\[{]) | (?P<close>[)\]}])
    | ^(?P<item>kernel|program|def|const|from)\b""",
    re.VERBOSE | re.MULTILINE,
)
