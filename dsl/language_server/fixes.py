"""Quick fixes: what a finding's hint says to write instead, as an edit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MEANT = re.compile(r"did you mean `([^`]+)`\?")
_CLOSE = re.compile(r"close it with (\"\"\"|'''|\"|')")
_QUOTE = re.compile(r"write a straight quote: (['\"])")
_SPACE = re.compile(r"put a space between `([^`]+)` and `([^`]+)`")
_CHARACTER = re.compile(r"write `([^`]+)`\Z")
_CAST = re.compile(r"write cast\((?:\.\.\.|x), (\w+)\)(?: first)?\Z")
_NUMBER = re.compile(r"a number has no leading zeros: write (\w+)")


@dataclass(frozen=True)
class Fix:
    """A title, and the text that replaces the finding's span."""

    title: str
    text: str


def fixes(code: str, hint: str, written: str) -> Iterator[Fix]:
    """The fixes of a finding whose span has the text `written`, on one line."""
    if not written or "\n" in written:
        return
    if match := _MEANT.search(hint):
        yield Fix(f"Write `{match[1]}`", match[1])
    elif match := _CLOSE.search(hint):
        yield Fix(f"Close the string with {match[1]}", written.rstrip() + match[1])
    elif match := _QUOTE.search(hint):
        yield Fix("Write a straight quote", match[1])
    elif match := _SPACE.search(hint):
        yield Fix("Put a space between them", f"{match[1]} {match[2]}")
    elif match := _NUMBER.search(hint):
        yield Fix(f"Write {match[1]}", match[1])
    elif len(written) == 1 and (match := _CHARACTER.search(hint)):
        yield Fix(f"Write `{match[1]}`", match[1])
    elif match := _CAST.search(hint):
        yield Fix(f"Cast it to {match[1]}", f"cast({written}, {match[1]})")
    elif code == "DSL0008" and written.isspace():
        yield Fix("Indent with spaces", written.expandtabs(4))
