"""Places of the compiler as those of the protocol: from 0, columns in UTF-16 code units."""

from __future__ import annotations

from collections.abc import Sequence

from dslc.compiler.diagnostics import Loc
from lsprotocol import types


def position(rows: Sequence[str], line: int, col: int) -> types.Position:
    """A place of the compiler, from 1, in these lines."""
    row = rows[line - 1] if 0 < line <= len(rows) else ""
    if not row.isascii():
        col = len(row[: max(col - 1, 0)].encode("utf-16-le")) // 2 + 1
    return types.Position(max(line - 1, 0), max(col - 1, 0))


def span(rows: Sequence[str], loc: Loc) -> types.Range:
    """A span of the compiler; one that has no end ends behind its first word."""
    start = position(rows, loc.line, loc.col)
    if loc.end_line >= loc.line and (loc.end_line, loc.end_col) > (loc.line, loc.col):
        return types.Range(start, position(rows, loc.end_line, loc.end_col))
    row = rows[loc.line - 1] if 0 < loc.line <= len(rows) else ""
    return types.Range(start, position(rows, loc.line, max(len(row.rstrip()) + 1, loc.col)))


def column(row: str, place: types.Position) -> int:
    """The column of a place in its line, from 0 in characters."""
    if row.isascii():
        return place.character
    units = 0
    for col, character in enumerate(row):
        if units >= place.character:
            return col
        units += 2 if ord(character) > 0xFFFF else 1
    return len(row)
