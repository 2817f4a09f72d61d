"""What no token begins with: which character it is, and what was probably meant."""

from __future__ import annotations

import re
import unicodedata

MEANT = {
    "!": "write `not x`, or `!=` to compare",
    "?": "write `a if condition else b`, or `where(condition, a, b)` on tiles",
    "\0": "is this a text file?",
    "\\": "a backslash joins lines only as the last character of its line",
    "\u2018": "write a straight quote: '",
    "\u2019": "write a straight quote: '",
    "\u201c": 'write a straight quote: "',
    "\u201d": 'write a straight quote: "',
    "\u00a0": "write a plain space",
    "\u00d7": "write `*`",
    "\u2212": "write `-`",
    "\u2264": "write `<=`",
    "\u2265": "write `>=`",
    "\u2260": "write `!=`",
}
"""Hints by character."""


def shown(character: str) -> str:
    """A character with its name in Unicode; one that does not print by its name alone."""
    name = unicodedata.name(character, f"U+{ord(character):04X}")
    return f"`{character}` ({name})" if character.isprintable() else name


def number_hint(text: str) -> str | None:
    """What to write instead of digits that are no number; None where nothing is likely."""
    if re.fullmatch("0[0-9_]+", text):
        return f"a number has no leading zeros: write {text.lstrip('0_') or '0'}, or 0o for octal"
    if re.fullmatch(r"[0-9_.]+[jJ]", text):
        return "there are no complex numbers"
    if match := re.fullmatch(r"([0-9][0-9_.]*)(if|else|and|or|in|for)", text):
        return f"put a space between `{match[1]}` and `{match[2]}`"
    if re.fullmatch(r"[0-9_.]+[fFuUlL]+", text):
        return "a number has no suffix: the dtype comes from the other operand, or from `cast`"
    return None
