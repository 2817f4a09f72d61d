"""String literals and docstrings, as Python reads them."""

from __future__ import annotations

import re
import unicodedata

_ESCAPE = re.compile(
    r"\\(\n|[\\'\"abfnrtv]|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|[xuUN])"
)
_SINGLE = {
    "\n": "", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r",
    "t": "\t", "v": "\v",
}  # fmt: skip


def unquote(text: str) -> str:
    """The value of a string literal; ValueError where an escape is none.

    A backslash before any other character stands for itself, as in Python.
    """
    opening = re.match(r"[a-zA-Z]*('''|\"\"\"|'|\")", text)
    assert opening is not None
    quote = opening[1]
    inner = text[opening.end() : len(text) - len(quote)]
    if "r" in opening[0].lower() or "\\" not in inner:
        return inner
    return _ESCAPE.sub(_escaped, inner)


def _escaped(match: re.Match[str]) -> str:
    escape = match[1]
    if escape in _SINGLE:
        return _SINGLE[escape]
    try:
        if escape[0] in "01234567":
            return chr(int(escape, 8))
        if escape[0] == "N":
            return unicodedata.lookup(escape[2:-1])
        return chr(int(escape[1:], 16))
    except (KeyError, ValueError, OverflowError):
        raise ValueError(f"`\\{escape}` is no escape of a character") from None


def clean_docstring(text: str) -> str:
    """A docstring without its indentation and the blank lines at its ends (PEP 257)."""
    lines = text.expandtabs().split("\n")
    margins = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    margin = min(margins, default=0)
    kept = [lines[0].strip(), *(line[margin:].rstrip() for line in lines[1:])]
    return "\n".join(kept).strip("\n")
