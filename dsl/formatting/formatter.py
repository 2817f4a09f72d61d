"""`.tile` text -> the same program in the one form that `dslc fmt` writes.

White space alone changes: between tokens, at the beginnings of lines, between statements; a line of
more than 100 columns is broken within its brackets. Comments and line breaks within brackets stay, and
so do numbers and strings as they were written.
"""

from __future__ import annotations

from collections.abc import Iterator

from dslc.formatting.lines import Line, lines_of
from dslc.formatting.wrapping import INDENT, comment_text, statement_text
from dslc.frontend.tile_parser import parse_tile

_ITEMS = frozenset({"kernel", "program", "def"})


def format_tile(source: str, file: str) -> str:
    """The formatted text; DiagnosticError where the source has syntax errors.

    The text parses to the same tree, and formatting it again changes nothing.
    """
    tree = parse_tile(source, file)
    text = "".join(f"{row}\n" for row in _rows(lines_of(source, file)))
    assert parse_tile(text, file) == tree, f"formatting would change the program {file}"
    return text


def _rows(lines: list[Line]) -> Iterator[str]:
    before: Line | None = None
    for line in lines:
        if before is not None:
            yield from [""] * _blank_lines(before, line)
        if line.comment is not None:
            yield " " * (INDENT * line.depth) + comment_text(line.comment)
        else:
            _indent_docstring(line)
            yield from statement_text(line)
        before = line


def _blank_lines(before: Line, line: Line) -> int:
    """How many go between two lines: those that are there, one at least before an item, two at most."""
    there = max(0, line.first - before.last - 1)
    if line.depth > before.depth:
        return 0
    if line.depth:
        return min(there, 1)
    is_item = line.comment is None and line.pieces[0].token.kind in _ITEMS
    documents = before.comment is None and before.pieces[0].token.kind == "STRING"
    parts = before.depth > 0 or documents or (is_item and before.comment is None)
    return min(max(there, 1 if parts else 0), 2)


def _indent_docstring(line: Line) -> None:
    """The further lines of a docstring indented as its first."""
    token = line.pieces[0].token
    if len(line.pieces) > 1 or "\n" not in token.text or "\\\n" in token.text:
        return
    first, *rest = token.text.split("\n")
    rest = [row.expandtabs().rstrip() for row in rest]
    margin = min((len(row) - len(row.lstrip()) for row in rest if row), default=0)
    indent = " " * (INDENT * line.depth)
    moved = [f"{indent}{row[margin:]}" if row else "" for row in rest]
    line.pieces[0].token = token._replace(text="\n".join([first.rstrip(), *moved]))
