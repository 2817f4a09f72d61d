"""Assembly in the dialect of ELF, as the assembler of macOS takes it.

C symbols have an underscore there, local labels begin with L in place of .L, and symbols have neither
type nor size. Code is the same: it addresses what is in its own section alone, so that no relocation
has another form.
"""

from __future__ import annotations

import re

_DROPPED = re.compile(r"^\s*\.(type|size|hidden)\b")
_SECTION = re.compile(r"^\s*\.section\s+\.rodata\S*")
_GLOBAL = re.compile(r"^\s*\.glob(?:a)?l\s+([\w$.]+)", re.MULTILINE)
_PARTS = re.compile(r"(\s*[\w.$]+:)?(\s*[\w.]+)?(.*)")
_LOCAL = re.compile(r"(?<![\w.])\.L(?=\w)")


def for_macos(text: str) -> str:
    """The same program for macOS, line by line: of `f: b .Lend` it makes `_f: b Lend`."""
    names = "|".join(re.escape(name) for name in sorted(set(_GLOBAL.findall(text))))
    symbol = re.compile(rf"(?<![\w.$])({names})(?![\w.$])") if names else None
    return "\n".join(_line(line, symbol) for line in text.split("\n"))


def _line(line: str, symbol: re.Pattern[str] | None) -> str:
    code, mark, comment = line.partition("//")
    if _DROPPED.match(code):
        return mark + comment
    if _SECTION.match(code):
        code = "\t.section __TEXT,__const"
    code = _LOCAL.sub("L", code)
    if symbol is not None and (parts := _PARTS.match(code)) is not None:
        label, mnemonic, operands = parts.groups(default="")
        code = symbol.sub(r"_\1", label) + mnemonic + symbol.sub(r"_\1", operands)
    return code + mark + comment
