"""Text -> tokens, by Python's lexical rules (The Python Language Reference, chapter 2).

Tokens are made one at a time, so that a parser which gives up early has not paid for the rest of a
huge file.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator

from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, Label, Loc
from dslc.frontend import patterns
from dslc.frontend.strange import MEANT, number_hint, shown
from dslc.frontend.tokens import CLOSING, CONTINUES_NOTHING, KEYWORDS, MAX_LINE, MAX_NESTING, Token

_CLOSES = {closing: opening for opening, closing in CLOSING.items()}
_EDGES = ("", "NEWLINE")  # the kinds of `last` where a line has no token yet
_HINTS = {
    "DSL0008": "indent with spaces only",
    "DSL0009": "indent it as the other lines of one of the two blocks",
    "DSL0012": f"the limit is {MAX_NESTING}",
}


class Lexer:
    """The tokens of one source.

    Errors go to `report` and the tokens go on; `damaged` says that the current line had one, so that
    what the parser finds strange there is not worth a word.
    """

    def __init__(self, source: str, file: str, report: Callable[[Diagnostic], None]) -> None:
        self.source = source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        self.file = file
        self.report = report
        self.damaged = False
        self.line = 1
        self.line_start = 0
        self.starts = [0]
        self.brackets: list[Token] = []
        self.indents = [(0, 0)]
        self._jump: int | None = None  # where to go on instead of behind the last token
        self.last = Token("", "", 1, 1, 1, 1)
        self.line_tokens: list[Token] = []  # of the logical line so far
        self.comments: list[Token] = []

    def text(self, loc: Loc) -> str:
        """The source at a place that was lexed already, on one line."""
        start = self.starts[loc.line - 1] + loc.col - 1
        return " ".join(
            self.source[start : self.starts[loc.end_line - 1] + loc.end_col - 1].split()
        )

    def skip_to_item(self) -> None:
        """Go on at the next line that begins with the keyword of a top-level item, or at the end.

        Nothing before is looked at, so that leaving out megabytes of something else costs little.
        """
        seen = self.starts[self.last.end_line - 1] + self.last.end_col - 1
        item = patterns.ITEM.search(self.source, seen)
        self._jump = item.start() if item else len(self.source)
        for newline in patterns.NEWLINE.finditer(self.source, self.line_start, self._jump):
            self._next_line(newline.end())
        self.brackets.clear()
        self.indents = [(0, 0)]

    def never_closed(self, token: Token) -> Token | None:
        """The bracket that is open at a token and that nothing after closes, as far as is looked.

        Then it is the bracket that is wrong, and not the token.
        """
        if not self.brackets or self.brackets[-1] is token:
            return None
        depth = 0
        start = self.starts[token.line - 1] + token.col - 1
        for bracket in patterns.BRACKETS.finditer(self.source, start, start + MAX_LINE):
            if bracket.lastgroup == "item":
                break
            depth += {"open": 1, "close": -1}.get(bracket.lastgroup or "", 0)
            if depth < 0:
                return None
        return self.brackets[-1]

    def tokens(self) -> Iterator[Token]:
        """Every token, END last; DiagnosticError where there is no use in going on."""
        pos = 0
        fresh = True  # at the start of a logical line
        match = patterns.TOKEN.match
        source = self.source
        while True:
            if self._jump is not None:
                pos, fresh, self._jump = self._jump, True, None
            if fresh:
                self.damaged = False
                self.line_tokens.clear()
                self._check_line(pos)
                yield from self._indentation(pos)
                fresh = False
                if self._jump is not None:
                    continue
            matched = match(source, pos)
            assert matched is not None  # `unknown` and `newline` take any character
            kind = matched.lastgroup
            start, end = matched.span(kind)  # type: ignore[arg-type]
            if kind == "NAME" or kind == "mark":  # noqa: PLR1714 - the hot path
                yield self._word(matched[kind], start, kind)
            elif kind in ("INT", "FLOAT"):
                yield self._token(kind, matched[kind], start)
            elif kind == "newline":
                self._next_line(end)
                fresh = not self.brackets or self._ends_brackets(end)
                if fresh and self.last.kind not in _EDGES:
                    yield self._edge("NEWLINE")
            elif kind == "STRING":
                end, token = self._string(matched[kind], start, end)
                yield token
            elif kind == "join":
                self._next_line(end)
            elif kind == "end":
                break
            elif kind == "comment":
                self.comments.append(self._place(matched[kind], start))
            else:
                end = self._strange(start, end)
            pos = end
        yield from self._finish()

    def _token(self, kind: str, text: str, start: int) -> Token:
        col = start - self.line_start + 1
        self.last = token = Token(kind, text, self.line, col, self.line, col + len(text))
        self.line_tokens.append(token)
        return token

    def _place(self, text: str, start: int) -> Token:
        col = start - self.line_start + 1
        return Token("", text, self.line, col, self.line, col + len(text))

    def _edge(self, kind: str) -> Token:
        """A token of no width after the last one: a block ends where its last statement does."""
        line, col = self.last.end_line, self.last.end_col
        token = Token(kind, "", line, col, line, col)
        if kind == "NEWLINE":
            self.last = token
        return token

    def _word(self, text: str, start: int, kind: str) -> Token:
        if kind == "NAME":
            if text in KEYWORDS:
                return self._token(text, text, start)
            token = self._token("NAME", text, start)
            return token if text.isascii() else self._foreign(token)
        token = self._token(text, text, start)
        if text in "([{":
            self.brackets.append(token)
            if len(self.brackets) > MAX_NESTING:
                raise self._fatal("DSL0012", "brackets are nested too deeply", token)
        elif text in _CLOSES:
            self._close(token)
        return token

    def _foreign(self, token: Token) -> Token:
        """A name beyond ASCII: Python compares names by their compatibility form, and so does this."""
        name = unicodedata.normalize("NFKC", token.text)
        if not name.isidentifier():
            self._error("DSL0004", f"`{token.text}` has a character that no name can have", token)
        return token._replace(text=name)

    def _close(self, token: Token) -> None:
        wanted = _CLOSES[token.text]
        if self.brackets and self.brackets[-1].text == wanted:
            self.brackets.pop()
            return
        if self.brackets:
            opened = self.brackets[-1]
            if any(b.text == wanted for b in self.brackets):
                while self.brackets[-1].text != wanted:
                    self.brackets.pop()
            self.brackets.pop()
            label = Label(self._loc(opened), "the bracket that is open here")
            self._error(
                "DSL0011", f"`{token.text}` does not close `{opened.text}`", token, (label,)
            )
        else:
            self._error("DSL0011", f"`{token.text}` closes a bracket that was never opened", token)

    def _next_line(self, pos: int) -> None:
        self.line += 1
        self.line_start = pos
        self.starts.append(pos)

    def _check_line(self, pos: int) -> None:
        if self.source.find("\n", pos, pos + MAX_LINE) < 0 and len(self.source) - pos > MAX_LINE:
            place = Token("", "", self.line, 1, self.line, 1)
            raise self._fatal(
                "DSL0001",
                f"this line has more than {MAX_LINE} characters",
                place,
                "is this a program?",
            )

    def _ends_brackets(self, pos: int) -> bool:
        """Whether the line that begins at `pos` is a new statement, whatever is still open."""
        self._check_line(pos)
        following = patterns.TOKEN.match(self.source, pos)
        if (
            following is None
            or following.lastgroup != "NAME"
            or following["NAME"] not in CONTINUES_NOTHING
        ):
            return False
        self._unclosed()
        return True

    def _unclosed(self) -> None:
        opened = self.brackets[-1]
        hint = f"write the `{CLOSING[opened.text]}` that belongs to it"
        self._error("DSL0010", f"`{opened.text}` is never closed", opened, hint=hint)
        self.brackets.clear()

    def _indentation(self, pos: int) -> Iterator[Token]:
        indent = patterns.INDENT.match(self.source, pos)
        assert indent is not None
        if indent.end() == len(self.source) or self.source[indent.end()] in "\n#":
            return  # nothing on this line counts
        white = indent[0].rpartition("\f")[2]
        width, narrow = len(white.expandtabs(8)), len(white.expandtabs(1))
        place = Token("", "", self.line, 1, self.line, indent.end() - pos + 1)
        if width > self.indents[-1][0]:
            if narrow <= self.indents[-1][1]:
                self._tabs(place)
            self.indents.append((width, narrow))
            if len(self.indents) > MAX_NESTING:
                raise self._fatal("DSL0012", "blocks are nested too deeply", place)
            yield Token("INDENT", "", self.line, 1, self.line, place.end_col)
            return
        while width < self.indents[-1][0]:
            self.indents.pop()
            yield self._edge("DEDENT")
            if self._jump is not None:
                return
        if width != self.indents[-1][0]:
            self._error(
                "DSL0009",
                "this line is indented less than its block and more than the one around",
                place,
            )
        elif narrow != self.indents[-1][1]:
            self._tabs(place)

    def _tabs(self, place: Token) -> None:
        self._error("DSL0008", "tabs and spaces are mixed in the indentation", place)

    def _string(self, opening: str, start: int, end: int) -> tuple[int, Token]:
        quote = opening.lstrip("rubftRUBFT")
        prefix = opening[: -len(quote)].lower()
        closed = patterns.string_end(self.source, quote, end)
        if closed is None:
            token = self._token("STRING", opening, start)
            self._error("DSL0005", "this string does not end", token, hint=f"close it with {quote}")
            if len(quote) == 3:
                raise DiagnosticError([])
            self.brackets.clear()  # what would close them is in the string
            stop = self.source.find("\n", end)
            return (len(self.source) if stop < 0 else stop), token
        col = start - self.line_start + 1
        line = self.line
        for newline in patterns.NEWLINE.finditer(self.source, start, closed):
            self._next_line(newline.end())
        text = self.source[start:closed]
        end_col = closed - self.line_start + 1
        self.last = token = Token("STRING", text, line, col, self.line, end_col)
        self.line_tokens.append(token)
        if not set(prefix) <= set("ru"):
            self._error(
                "DSL0007",
                f"there are no strings with the prefix `{prefix}`",
                token,
                hint="write a plain string; `print` takes several arguments",
            )
        return closed, token

    def _strange(self, start: int, end: int) -> int:
        text = self.source[start:end]
        place = self._place(text, start)
        if len(text) > 1 or text.isdigit():
            self._error("DSL0006", f"`{text[:40]}` is not a number", place, hint=number_hint(text))
            return end
        self._error("DSL0004", f"unknown character {shown(text)}", place, hint=MEANT.get(text))
        while end < len(self.source) and self.source[end] == text:
            end += 1
        return end

    def _finish(self) -> Iterator[Token]:
        if self.brackets:
            self._unclosed()
        if self.last.kind not in _EDGES:
            yield self._edge("NEWLINE")
        while len(self.indents) > 1:
            self.indents.pop()
            yield self._edge("DEDENT")
        yield self._edge("END")

    def _loc(self, token: Token) -> Loc:
        return Loc(self.file, token.line, token.col, token.end_line, token.end_col)

    def _error(
        self,
        code: str,
        message: str,
        token: Token,
        labels: tuple[Label, ...] = (),
        hint: str | None = None,
    ) -> None:
        self.damaged = True
        self.report(Diagnostic(code, message, self._loc(token), hint or _HINTS.get(code), labels))

    def _fatal(
        self, code: str, message: str, token: Token, hint: str | None = None
    ) -> DiagnosticError:
        return DiagnosticError(
            [Diagnostic(code, message, self._loc(token), hint or _HINTS.get(code))]
        )
