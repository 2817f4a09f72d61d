"""A statement's pieces as lines of text: breaks that were there stay, too long a line gets more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dslc.formatting.lines import Line, Piece
from dslc.formatting.spacing import spaces

WIDTH = 100
INDENT = 4
_OPENS, _CLOSES = frozenset("([{"), frozenset(")]}")


@dataclass(slots=True)
class _Row:
    """One line of text: its pieces from `start` to `end`, its indentation."""

    start: int
    end: int
    indent: int
    text: str
    is_joined: bool  # to the row before by a backslash


def statement_text(line: Line) -> Iterator[str]:
    """The lines of a statement's text."""
    pieces = line.pieces
    spaced = spaces([p.token for p in pieces])
    partner = _partners(pieces)
    _close_as_opened(pieces, partner)
    while True:
        rows = _rows(pieces, spaced, line.depth * INDENT, partner)
        if not any(_broken(row, pieces, partner) for row in rows if _is_long(row, pieces)):
            break
    for row in rows:
        margin = " " * row.indent
        for comment in pieces[row.start].above:
            yield margin + comment_text(comment)
        last = pieces[row.end - 1]
        behind = f"  {comment_text(last.behind)}" if last.behind else ""
        follows = rows[rows.index(row) + 1].is_joined if row is not rows[-1] else False
        yield margin + row.text + (" \\" if follows else "") + behind


def comment_text(comment: str) -> str:
    """A comment with a space behind its marks."""
    marks = len(comment) - len(comment.lstrip("#"))
    rest = comment[marks:].rstrip()
    apart = rest[:1] not in ("", " ", "!", ":") and marks == 1
    return comment[:marks] + (" " if apart else "") + rest


def _break_items(pieces: list[Piece], inside: range) -> None:
    """Break behind every comma of a bracket's content, within no other bracket."""
    depth = 0
    for i in inside:
        kind = pieces[i].token.kind
        depth += (kind in _OPENS) - (kind in _CLOSES)
        if depth == 0 and pieces[i - 1].token.kind == ",":
            pieces[i].breaks = True


def _partners(pieces: list[Piece]) -> dict[int, int]:
    """For each bracket the other of its pair."""
    partners: dict[int, int] = {}
    waiting: list[int] = []
    for i, piece in enumerate(pieces):
        if piece.token.kind in _OPENS:
            waiting.append(i)
        elif piece.token.kind in _CLOSES and waiting:
            start = waiting.pop()
            partners[start], partners[i] = i, start
    return partners


def _close_as_opened(pieces: list[Piece], partner: dict[int, int]) -> None:
    """A bracket with a line break behind it has one before its partner."""
    for start, end in partner.items():
        if start < end and end > start + 1 and pieces[start + 1].breaks:
            pieces[end].breaks = True


def _rows(
    pieces: list[Piece], spaced: list[bool], base: int, partner: dict[int, int]
) -> list[_Row]:
    rows: list[_Row] = []
    open_at: list[tuple[int, int]] = []  # of each open bracket: indentation of what is in it, of it
    for i, piece in enumerate(pieces):
        kind = piece.token.kind
        if i == 0 or piece.breaks or piece.above:
            piece.breaks = i > 0
            if not open_at:
                indent = base if i == 0 else base + INDENT
            else:
                indent = open_at[-1][1] if kind in _CLOSES else open_at[-1][0]
            rows.append(_Row(i, i, indent, "", i > 0 and not open_at))
            if kind in _CLOSES and open_at and not _hangs(pieces, partner.get(i)):
                rows[-1].indent = open_at[-1][0]
        elif spaced[i]:
            rows[-1].text += " "
        row = rows[-1]
        row.text += piece.token.text
        row.end = i + 1
        if kind in _OPENS:
            hangs = _hangs(pieces, i)
            inside = row.indent + (INDENT if hangs else len(row.text))
            open_at.append((inside, row.indent))
        elif kind in _CLOSES and open_at:
            open_at.pop()
    return rows


def _hangs(pieces: list[Piece], start: int | None) -> bool:
    """Whether what is in a bracket begins on the next line."""
    if start is None or start + 1 >= len(pieces):
        return True
    return pieces[start + 1].breaks or bool(pieces[start + 1].above)


def _is_long(row: _Row, pieces: list[Piece]) -> bool:
    return row.indent + len(row.text) > WIDTH and "\n" not in row.text


def _broken(row: _Row, pieces: list[Piece], partner: dict[int, int]) -> bool:
    """Give a row that is too long one more break: whether one was to be had."""
    depth = 0
    commas: list[int] = []
    opened: list[int] = []
    for i in range(row.start, row.end):
        kind = pieces[i].token.kind
        if kind in _CLOSES:
            depth -= 1
        if depth == 0 and kind == "," and i + 1 < row.end:
            commas.append(i + 1)
        elif depth == 0 and kind in _OPENS and partner.get(i, i) > i + 1 and i + 1 < row.end:
            opened.append(i)
        if kind in _OPENS:
            depth += 1
    within = any(start < row.start and end >= row.end for start, end in partner.items())
    if commas and within:  # the content of a bracket: an item a line
        for i in commas:
            pieces[i].breaks = True
        return True
    if opened:  # the last of the outermost brackets, an index only where there is no other
        start = next((i for i in reversed(opened) if pieces[i].token.kind != "["), opened[-1])
        pieces[start + 1].breaks = True
        pieces[partner[start]].breaks = True
        inside = range(start + 2, partner[start])
        if any(pieces[i].breaks for i in inside):
            _break_items(pieces, inside)
        return True
    return False
