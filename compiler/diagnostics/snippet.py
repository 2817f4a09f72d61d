"""The source line of a place with its span underlined."""

from __future__ import annotations

import linecache
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path

from dslc.compiler.diagnostics.diagnostic import Loc

_WIDTH = 96  # columns of source that are shown of one line
_TAB = 4
_LARGEST = 16 << 20  # bytes of a file that is read to show a line of it


class Sources:
    """The lines of source files, those given and those that can be read."""

    def __init__(self, given: Mapping[str, str] | None) -> None:
        self._given = given or {}
        self._lines: dict[str, list[str]] = {}

    def lines(self, file: str) -> list[str]:
        """The lines of a file; none where it cannot be had."""
        if file not in self._lines:
            text = self._given.get(file)
            text = _read(file) if text is None else text
            if text is None:
                return []
            text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
            self._lines[file] = text.split("\n")
        return self._lines[file]


def snippet(
    loc: Loc,
    text: str,
    lines: list[str],
    *,
    margin: int,
    mark: str,
    paint: Callable[[str], str],
) -> list[str]:
    """The line of a place, and below it marks under its span with `text` beside them.

    A span over several lines is underlined to the end of its first. Nothing where the file has no
    such line, except the text.
    """
    bar = " " * margin + " |"
    if not 1 <= loc.line <= len(lines):
        return [f"{bar} {text}"] if text else []
    line = lines[loc.line - 1]
    start = min(max(loc.col - 1, 0), len(line))
    same_line = loc.end_line == loc.line and loc.end_col > loc.col
    end = min(loc.end_col - 1, len(line)) if same_line else start + 1
    if loc.end_line > loc.line:
        end = len(line.rstrip())
    shown, first, last = _window(line, start, max(end, start + 1))
    below = " " * first + paint(mark * max(last - first, 1) + (f" {text}" if text else ""))
    return [bar, f"{loc.line:>{margin}} | {shown}".rstrip(), f"{bar} {below}"]


def _window(line: str, start: int, end: int) -> tuple[str, int, int]:
    """The part of a line to show and the columns of [start, end) in it."""
    cells = _cells(line)
    left, right = 0, len(cells)
    if sum(map(width, cells)) > _WIDTH:
        left = max(0, start - _WIDTH // 3)
        right, used = left, 0
        while right < len(cells) and used + width(cells[right]) <= _WIDTH:
            used += width(cells[right])
            right += 1
    head = "…" if left else ""
    tail = "…" if right < len(cells) else ""
    end = min(end, right)
    first = len(head) + sum(map(width, cells[left:start]))
    last = first + sum(map(width, cells[start:end])) if start < len(cells) else first + 1
    return head + "".join(cells[left:right]) + tail, first, last


def _cells(line: str) -> list[str]:
    """What each character of a line looks like: tabs to the next stop, no controls."""
    cells = []
    column = 0
    for character in line:
        if character == "\t":
            cell = " " * (_TAB - column % _TAB)
        else:
            cell = character if character.isprintable() or _is_joining(character) else "\ufffd"
        cells.append(cell)
        column += width(cell)
    return cells


def width(cell: str) -> int:
    """The columns that a terminal gives a text (Unicode Standard Annex 11)."""
    if cell.isascii():
        return len(cell)
    return sum(
        0 if _is_joining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in cell
    )


def _is_joining(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Me")


def _read(file: str) -> str | None:
    if file.startswith("<"):  # a notebook's cell, a line at a prompt
        return "".join(linecache.getlines(file)) or None
    try:
        with Path(file).open("rb") as stream:
            return stream.read(_LARGEST).decode("utf-8", errors="replace")
    except (OSError, ValueError):
        return None
