"""`.tile` text -> syntax tree."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterator
from typing import Any

from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, Loc, error
from dslc.frontend import tree
from dslc.frontend.builder import TreeBuilder
from dslc.frontend.lexer import Lexer
from dslc.frontend.rules import check_module
from dslc.frontend.source import check_size
from dslc.frontend.syntax_errors import Mistake, diagnose
from dslc.frontend.tables import tables
from dslc.frontend.tokens import END, MAX_NESTING, Token

MAX_ERRORS = 20

# Only these make a tree higher; the other productions hand their parts on.
_NODES = frozenset({
    "for_", "while_", "if_", "elif_", "conditional", "binary", "unary", "compare", "attribute", "call",
    "subscript", "subscript_one", "sequence",
})  # fmt: skip
_ITEM_STARTS = frozenset({"from", "const", "def", "kernel", "program"})


@functools.lru_cache(
    maxsize=64
)  # a file is compiled for several machines, an import for several files
def parse_tile(source: str, file: str) -> tree.Module:
    """The tree of a `.tile` source; `file` is its name in places. It is made once.

    DiagnosticError with every syntax error that was found (20 at most).
    """
    check_size(len(source), file)
    return _Parser(source, file).parse()


def parse_expression(text: str, file: str = "<expression>", *, at: Loc | None = None) -> tree.Expr:
    """The tree of one expression; `at` places every error there, where the text is no source."""
    check_size(len(text), file)
    try:
        return _Parser(text.strip(), file).parse_expression()
    except DiagnosticError as failure:
        if at is None:
            raise
        diagnostics = [dataclasses.replace(d, loc=at, labels=()) for d in failure.diagnostics]
        raise DiagnosticError(diagnostics) from None


class _LimitError(Exception):
    """There were MAX_ERRORS errors."""


class _Parser:
    """A push-down automaton run over the tokens (Aho et al., Compilers, algorithm 4.44).

    Beside each state lie its symbol's value, the token with which that begins and the height of its
    node. After an error the parser leaves out the statement or, outside of bodies, the item, and goes
    on with the next.
    """

    def __init__(self, source: str, file: str) -> None:
        self.file = file
        self.found: list[Diagnostic] = []
        self.lexer = Lexer(source, file, self.report)
        self.builder = TreeBuilder(file, self.report, self.lexer.text)
        self.tables = tables()
        self.methods = [
            getattr(self.builder, r.action) if r.action else None for r in self.tables.rules
        ]
        self.states = [0]
        self.values: list[Any] = []
        self.starts: list[Token] = []
        self.heights: list[int] = []
        self.last = Token("", "", 1, 1, 1, 1)  # the last token that was shifted

    def report(self, diagnostic: Diagnostic) -> None:
        """Keep a diagnostic; _LimitError at the limit."""
        self.found.append(diagnostic)
        if len(self.found) >= MAX_ERRORS:
            raise _LimitError

    def parse(self) -> tree.Module:
        """The whole source; DiagnosticError where there was any error."""
        return self._parse(self.lexer.tokens())

    def _parse(self, tokens: Iterator[Token]) -> tree.Module:
        module = None
        try:
            module = self._run(tokens)
            if not self.found:
                check_module(module, self.report)
        except _LimitError:
            pass
        except DiagnosticError as fatal:
            self.found.extend(fatal.diagnostics)
        if module is None or self.found:
            self.found.sort(key=lambda d: (d.loc.line, d.loc.col) if d.loc else (0, 0))
            raise DiagnosticError(self.found)
        return module

    def parse_expression(self) -> tree.Expr:
        """The one expression of the text: it is read as the value of a constant."""
        begin = [Token(kind, kind, 1, 1, 1, 1) for kind in ("const", "NAME", "=")]
        self._parse(itertools.chain(begin, self.lexer.tokens()))
        item, *others = self.values[-1].items
        if others:
            raise error("DSL0101", "one expression is wanted, not several lines", others[0].loc)
        assert isinstance(item, tree.Const)
        return item.value

    def _run(self, tokens: Iterator[Token]) -> tree.Module:
        actions, states = self.tables.actions, self.states
        token = next(tokens)
        while True:
            action = actions[states[-1]].get(token.kind)
            if action is None:
                # What is complete is reduced before an error is looked at: after a block the error
                # is outside of it.
                action = self._only_reduction(states[-1])
            if action is None:
                token = self._recover(token, tokens)
            elif action >= 0:
                states.append(action)
                self.values.append(token)
                self.starts.append(token)
                self.heights.append(0)
                self.last = token
                token = next(tokens)
            elif (top := self._climbed(token.kind)) != states[-1]:
                states[-1] = top
            else:
                self._reduce(-action - 1, token)
                if token.kind == END and len(states) == 1:
                    module = self.values[-1]
                    assert isinstance(module, tree.Module)
                    return module

    def _climbed(self, kind: str) -> int:
        """The state at the top after all reductions of one symbol to another before a token.

        Most are such: an expression climbs its precedences. The value stays, so only states change.
        """
        below, top = self.states[-2:] if len(self.states) > 1 else (0, 0)
        place = below, top, kind
        state = self.tables.climbs.get(place)
        if state is None:
            state = top
            while (action := self.tables.actions[state].get(kind, 0)) < 0:
                rule = self.tables.rules[-action - 1]
                if not rule.single or rule.length != 1:
                    break
                state = self.tables.gotos[below][rule.origin]
            self.tables.climbs[place] = state
        return state

    def _reduce(self, number: int, token: Token) -> None:
        rule = self.tables.rules[number]
        states, values, starts, heights = self.states, self.values, self.starts, self.heights
        length = rule.length
        parts: list[Any] = []
        for place, spread in zip(rule.keep, rule.spread, strict=True):
            if spread:
                parts.extend(values[place])
            else:
                parts.append(values[place])
        start, height = token, 0
        if length:
            start, height = starts[-length], max(heights[-length:])
            del states[-length:], values[-length:], starts[-length:], heights[-length:]
        method = self.methods[number]
        if method is None:
            value = parts[0] if rule.single else parts
        else:
            last = self.last
            loc = Loc(self.file, start.line, start.col, last.end_line, last.end_col)
            value = method(loc, *parts)
            if rule.action in _NODES:
                height = self._checked(height + 1, loc)
        values.append(value)
        starts.append(start)
        heights.append(height)
        if rule.origin != "module":
            states.append(self.tables.gotos[states[-1]][rule.origin])

    def _checked(self, height: int, loc: Loc) -> int:
        """The height of a node, which everything after this walks recursively."""
        if height <= MAX_NESTING:
            return height
        hint = f"the limit is {MAX_NESTING}: give a part of it a name first"
        self.report(Diagnostic("DSL0012", "this is nested too deeply", loc, hint))
        return -(1 << 60)  # said once

    def _recover(self, token: Token, tokens: Iterator[Token]) -> Token:
        """Report the error at `token`, leave the broken part out; the token to go on with."""
        expected = {k for k in self.tables.actions[self.states[-1]] if self._accepts(k)}
        if not self.lexer.damaged:
            line = tuple(self.lexer.line_tokens)
            opened = self.lexer.never_closed(token)
            self.report(diagnose(Mistake(self.file, token, self.last, line, expected, opened)))
            if opened:
                self.lexer.brackets.clear()
        while not self._is_anchor():
            for stack in (self.states, self.values, self.starts, self.heights):
                stack.pop()
        goto = self.tables.gotos[self.states[-1]]
        if "statement" not in goto:
            if token.col != 1 or token.kind not in _ITEM_STARTS:
                self.lexer.skip_to_item()
                while token.kind != END and not (token.col == 1 and token.kind in _ITEM_STARTS):
                    token = next(tokens)
            return token
        if token.kind != "DEDENT" and not ("INDENT" in expected and self.last.kind == "NEWLINE"):
            token = _skip_statement(token, tokens)
        self.states.append(goto["statement"])
        self.values.append(tree.Pass(loc=Loc(self.file, token.line, token.col)))
        self.starts.append(token)
        self.heights.append(0)
        return token

    def _only_reduction(self, state: int) -> int | None:
        """The action of a state that can do nothing but reduce by one rule."""
        actions = set(self.tables.actions[state].values())
        return actions.pop() if len(actions) == 1 and min(actions) < 0 else None

    def _is_anchor(self) -> bool:
        """Whether a statement or an item may begin at the top of the stack."""
        goto = self.tables.gotos[self.states[-1]]
        return "statement" in goto or "item" in goto

    def _accepts(self, kind: str) -> bool:
        """Whether a token would really be shifted: the lookaheads of LALR(1) promise too much."""
        states = list(self.states)
        while (action := self.tables.actions[states[-1]].get(kind)) is not None:
            if action >= 0:
                return True
            rule = self.tables.rules[-action - 1]
            if rule.length:
                del states[-rule.length :]
            if rule.origin == "module":
                return True
            states.append(self.tables.gotos[states[-1]][rule.origin])
        return False


def _skip_statement(token: Token, tokens: Iterator[Token]) -> Token:
    """The token after the rest of a line and the block that belongs to it."""
    if token.kind != "INDENT":
        while token.kind not in ("NEWLINE", END):
            token = next(tokens)
        if token.kind == END:
            return token
        token = next(tokens)
    depth = 0
    while token.kind != END and (token.kind == "INDENT" or depth):
        depth += {"INDENT": 1, "DEDENT": -1}.get(token.kind, 0)
        token = next(tokens)
    return token
