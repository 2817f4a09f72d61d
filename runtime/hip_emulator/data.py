"""Objects in memory that a text defines: constants and variables with their first values."""

from __future__ import annotations

import re

from dslc.runtime.hip_emulator.errors import EmulationError

_WIDTHS = {".byte": 1, ".short": 2, ".hword": 2, ".2byte": 2, ".long": 4, ".int": 4, ".4byte": 4}
_WIDTHS |= {".quad": 8, ".8byte": 8}
_ESCAPES = {"n": 10, "t": 9, "r": 13, "b": 8, "f": 12, '"': 34, "\\": 92}


class Data:
    """Bytes of the data sections, and where labels are in them."""

    def __init__(self) -> None:
        self.content = bytearray()
        self.labels: dict[str, int] = {}
        self._kept = False

    def section(self, name: str) -> None:
        """What follows belongs to the section of this name; those for debuggers are left out."""
        self._kept = name.startswith((".rodata", ".data", ".bss"))
        if self._kept:
            self._align(256)

    def label(self, name: str) -> None:
        """The next byte has this name."""
        if self._kept:
            self.labels[name] = len(self.content)

    def directive(self, name: str, rest: str) -> None:
        """One of the directives that define bytes or align them."""
        if not self._kept:
            return
        if name in _WIDTHS:
            for word in rest.split(","):
                number = _number(name, word)
                self.content += (number % (1 << 8 * _WIDTHS[name])).to_bytes(
                    _WIDTHS[name], "little"
                )
        elif name in (".zero", ".skip", ".space"):
            self.content += bytes(_number(name, rest.split(",", maxsplit=1)[0]))
        elif name in (".ascii", ".asciz", ".string"):
            self.content += _string(rest) + (b"" if name == ".ascii" else b"\0")
        elif name == ".p2align":
            self._align(1 << _number(name, rest.split(",", maxsplit=1)[0]))
        elif name == ".fill":
            count, size, value = (_number(name, w) for w in rest.split(","))
            self.content += value.to_bytes(size, "little") * count

    def _align(self, to: int) -> None:
        self.content += bytes(-len(self.content) % to)


def _number(name: str, word: str) -> int:
    try:
        return int(word.strip(), 0)
    except ValueError:
        raise EmulationError(f"the emulator cannot read the data {name} {word.strip()}") from None


def _string(text: str) -> bytes:
    content = bytearray()
    body = text.strip()[1:-1]
    for match in re.finditer(r"\\([0-7]{1,3})|\\(.)|(.)", body):
        if match[1]:
            content.append(int(match[1], 8))
        elif match[2]:
            content.append(_ESCAPES[match[2]])
        else:
            content += match[3].encode()
    return bytes(content)
