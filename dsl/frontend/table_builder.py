"""grammar.lark -> the tables of its LALR(1) automaton, by lark."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import lark
from dslc.frontend.tokens import END
from lark.utils import logger

_LAYOUT = ("NEWLINE", "INDENT", "DEDENT")  # terminals that no node is interested in


def encode(grammar: str) -> dict[str, Any]:
    """What `dslc.frontend.tables` stores in grammar.json: the tables of a lark grammar as plain lists.

    Equal rows are stored once. ValueError where the grammar is not LALR(1).
    """
    rules, states = _analyse(grammar)
    symbols = sorted({s for row in states for s in row})
    number = {s: i for i, s in enumerate(symbols)}
    rows: dict[tuple[int, ...], int] = {}
    of_state = []
    for row in states:
        flat = tuple(n for s in sorted(row) for n in (number[s], row[s]))
        of_state.append(rows.setdefault(flat, len(rows)))
    return {
        "lark": lark.__version__,
        "symbols": symbols,
        "rules": rules,
        "rows": [list(r) for r in rows],
        "states": of_state,
    }


class _NoLexer(lark.lexer.Lexer):
    """Lark reads the grammar only, and no text: the tokens come from dslc.frontend.lexer."""

    def __init__(self, _: object) -> None:
        pass

    def lex(self, *_: object) -> Iterator[lark.Token]:
        """No tokens."""
        return iter(())


def _analyse(grammar: str) -> tuple[list[list[Any]], list[dict[str, int]]]:
    """Rules and states as lark finds them, terminals by their text, the start state first."""
    with _conflicts_refused():
        parser = lark.Lark(
            grammar,
            parser="lalr",
            lexer=_NoLexer,
            start="module",
            debug=True,
            maybe_placeholders=False,
        )
    text = {t.name: str(t.pattern.value) for t in parser.terminals} | {"$END": END}
    table = parser.parser.parser._parse_table
    rules = sorted(parser.rules, key=str)  # lark's own order changes from run to run
    rule_number = {r: i for i, r in enumerate(rules)}
    number = {table.start_states["module"]: 0}
    accepting = table.end_states["module"]
    states = []
    waiting = [*number]
    for state in waiting:  # grows: states are numbered as they are reached, the same in every run
        row = {}
        for symbol, (action, argument) in sorted(table.states[state].items()):
            if action.name == "Reduce":
                row[text.get(symbol, symbol)] = -rule_number[argument] - 1
            elif argument != accepting:
                if argument not in number:
                    number[argument] = len(number)
                    waiting.append(argument)
                row[text.get(symbol, symbol)] = number[argument]
        states.append(row)
    return [_rule(r) for r in rules], states


def _rule(rule: Any) -> list[Any]:
    origin = str(rule.origin.name)
    symbols = rule.expansion
    keep = [
        i - len(symbols)
        for i, symbol in enumerate(symbols)
        if not symbol.is_term
        or (symbol.name not in _LAYOUT and (rule.options.keep_all_tokens or not symbol.filter_out))
    ]
    spread = [symbols[i].name.startswith("_") and not symbols[i].is_term for i in keep]
    single = bool(rule.options.expand1) and len(keep) == 1 and rule.alias is None
    action = None if single or origin.startswith("_") else str(rule.alias or origin)
    return [origin, len(symbols), action, keep, spread, single]


class _Conflicts(logging.Handler):
    """Keeps what lark says of the conflicts that it resolves by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message on a conflict."""
        if "conflict" in record.getMessage().lower():
            self.found.append(record.getMessage())


@contextlib.contextmanager
def _conflicts_refused() -> Iterator[None]:
    """Make a ValueError of shift/reduce conflicts, which lark only logs."""
    conflicts, level = _Conflicts(), logger.level
    logger.addHandler(conflicts)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(conflicts)
        logger.setLevel(level)
    if conflicts.found:
        raise ValueError("; ".join(conflicts.found))
