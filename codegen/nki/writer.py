"""Lines of Python, indented by blocks, and names that no two things share."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from dslc.codegen.line_marks import marked
from dslc.codegen.quoting import ascii_name
from dslc.compiler.diagnostics import Loc

# What emitted lines call by these names shall mean what Python means.
RESERVED = frozenset(dir(builtins))


class Writer:
    """The body of a function as it grows."""

    def __init__(self, indent: int = 1, taken: Iterable[str] = ()) -> None:
        self.lines: list[str] = []
        self.loc: Loc | None = None  # of the statement that is written
        self._indent = indent
        self._names: dict[str, int] = dict.fromkeys((*RESERVED, *taken), 1)

    def line(self, text: str) -> None:
        """Add one line, folded at commas where it is long."""
        margin = "    " * self._indent
        self.lines.extend(marked(line, self.loc, "#") for line in _folded(margin + text))

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """`head:` and the lines inside; an empty block passes."""
        self.line(f"{head}:")
        self._indent += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.line("pass")
        self._indent -= 1

    def name(self, hint: str) -> str:
        """An identifier like the hint that was not given before."""
        stem = ascii_name(hint) or "t"
        if stem[0].isdigit() or keyword.iskeyword(stem):
            stem = f"t_{stem}"
        count = self._names.get(stem, 0)
        self._names[stem] = count + 1
        return self.name(f"{stem}_{count}") if count else stem

    def text(self) -> str:
        """All lines."""
        return "".join(line + "\n" for line in self.lines)


_WIDTH = 100


def _folded(line: str) -> list[str]:
    """A call that is too long, continued under its first argument."""
    if len(line) <= _WIDTH or "(" not in line:
        return [line]
    margin = " " * (line.index("(") + 1)
    folded: list[str] = []
    rest, limit = line, _WIDTH
    while len(rest) > limit:
        cut = _last_comma(rest, limit, 1 if folded else 0)
        if cut is None:
            break
        folded.append(rest[: cut + 1])
        rest = margin + rest[cut + 1 :].lstrip()
    return [*folded, rest]


def _last_comma(text: str, limit: int, depth: int) -> int | None:
    """The last comma before the limit that separates arguments of the outermost call."""
    comma = None
    for at, char in enumerate(text):
        if char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "," and depth == 1:
            if at >= limit:  # nothing fits: the line is as long as one argument
                return at if comma is None else comma
            comma = at
    return comma
