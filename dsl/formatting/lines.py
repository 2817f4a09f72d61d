"""A source as statements: each a line of its own with its tokens, comments and line breaks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from dslc.compiler.diagnostics import Diagnostic, DiagnosticError
from dslc.frontend.lexer import Lexer
from dslc.frontend.tokens import Token

_BLOCKS = frozenset({"for", "while", "if", "elif", "else", "def", "kernel", "program"})


@dataclass(slots=True)
class Piece:
    """A token; whether its line begins with it, the comments on lines before it, the one behind it."""

    token: Token
    breaks: bool = False
    above: list[str] = field(default_factory=list)
    behind: str | None = None


@dataclass(slots=True)
class Line:
    """A statement in `depth` blocks, or a comment that has a line of its own, without pieces.

    `first` and `last` are its lines in the source.
    """

    depth: int
    first: int
    last: int
    pieces: list[Piece] = field(default_factory=list)
    comment: str | None = None


def lines_of(source: str, file: str) -> list[Line]:
    """The lines of a source; DiagnosticError where its tokens are wrong."""
    findings: list[Diagnostic] = []
    lexer = Lexer(source, file, findings.append)
    tokens = list(lexer.tokens())
    if findings:
        raise DiagnosticError(findings)
    return list(_Reader(tokens, lexer.comments).lines())


class _Reader:
    """Puts comments where they were among the tokens."""

    def __init__(self, tokens: list[Token], comments: list[Token]) -> None:
        self._tokens = tokens
        self._comments = comments[::-1]  # the next one last
        self._columns = [1]  # where the open blocks begin
        self._opens, self._closes = False, 0  # blocks that begin and end before the next token

    def lines(self) -> Iterator[Line]:
        """Every line of the source in order."""
        line: Line | None = None
        for token in self._tokens:
            match token.kind:
                case "INDENT":
                    self._opens = True
                case "DEDENT":
                    self._closes += 1
                case "NEWLINE" if line is not None:
                    last = line.pieces[-1]
                    if self._comments and self._comments[-1].line == last.token.end_line:
                        last.behind = self._comments.pop().text
                    yield from _statements(line)
                    line = None
                case "NEWLINE":
                    pass
                case _:
                    if line is None:
                        yield from self._before(token)
                        if token.kind == "END":
                            return
                        line = Line(len(self._columns) - 1, token.line, token.end_line)
                    self._add(line, token)

    def _before(self, token: Token) -> Iterator[Line]:
        """The comments before a statement, each in the block that its column says."""
        if self._opens:
            self._columns.append(token.col)
            self._opens = False
        outer = len(self._columns) - 1 - self._closes
        innermost = len(self._columns) - 1
        lowest = innermost if not self._closes else outer
        while self._comments and (token.kind == "END" or self._comments[-1].line < token.line):
            comment = self._comments.pop()
            depth = innermost
            while depth > lowest and self._columns[depth] > comment.col:
                depth -= 1
            yield Line(depth, comment.line, comment.line, comment=comment.text)
        del self._columns[outer + 1 :]
        self._closes = 0

    def _add(self, line: Line, token: Token) -> None:
        """The next token of a statement, with the comments before it, which are within brackets."""
        piece = Piece(token)
        if line.pieces:
            last = line.pieces[-1]
            while self._comments and (self._comments[-1].line, self._comments[-1].col) < (
                token.line,
                token.col,
            ):
                comment = self._comments.pop()
                if comment.line == last.token.end_line and not piece.above:
                    last.behind = comment.text
                else:
                    piece.above.append(comment.text)
            piece.breaks = token.line > last.token.end_line
        line.pieces.append(piece)
        line.last = token.end_line


def _statements(line: Line) -> Iterator[Line]:
    """A line with several statements as a line for each: after the colon of a block, after `;`."""
    depth = line.depth
    brackets = 0
    is_head = line.pieces[0].token.kind in _BLOCKS
    held: list[Piece] = []
    for i, piece in enumerate(line.pieces):
        kind = piece.token.kind
        brackets += (kind in "([{") - (kind in ")]}") if len(kind) == 1 else 0
        if brackets == 0 and kind == ";":
            if piece.behind or piece.above:  # only a line's last token has such outside of brackets
                held[-1].behind = piece.behind
            yield from _statement(depth, held)
            held = []
            continue
        held.append(piece)
        if brackets == 0 and kind == ":" and is_head:
            is_head = False
            if i + 1 < len(line.pieces):
                yield from _statement(depth, held)
                held = []
                depth += 1
    yield from _statement(depth, held)


def _statement(depth: int, pieces: list[Piece]) -> Iterator[Line]:
    if pieces:
        pieces[0].breaks = False
        first, last = pieces[0].token, pieces[-1].token
        yield Line(depth, first.line, last.end_line, pieces)
