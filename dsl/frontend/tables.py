"""The parser's tables: made from grammar.lark by lark, kept in grammar.json beside it.

Building the LALR(1) automaton costs a fifth of a second, reading it back a few milliseconds, so the
tables are stored with the grammar's hash. Where the hash disagrees (someone is at work on the
grammar) they are built afresh in memory. `python -m dslc.frontend.tables` writes the file anew.
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent
_LAYOUT = ("NEWLINE", "INDENT", "DEDENT")  # terminals that no node is interested in
END = "END"


@dataclass(frozen=True, slots=True)
class Rule:
    """A production: what the parser does when it has seen `length` symbols of it.

    `keep` lists the symbols whose values go on: their places counted from the end, so that -1 is
    the last symbol; `spread` says for each whether it is a list to be spliced.
    `action` is the builder's method that takes them; None makes a list of them or, where `single`,
    hands on the one value as it is.
    """

    origin: str
    length: int
    action: str | None
    keep: tuple[int, ...]
    spread: tuple[bool, ...]
    single: bool


@dataclass(frozen=True, slots=True)
class Tables:
    """The automaton: for each state what a terminal does, and where a nonterminal leads.

    An action n >= 0 shifts to state n, an action n < 0 reduces by `rules[-n - 1]`. State 0 is the
    start; the input is accepted when `module` would be pushed on it.
    """

    rules: tuple[Rule, ...]
    actions: tuple[Mapping[str, int], ...]
    gotos: tuple[Mapping[str, int], ...]


@functools.cache
def tables() -> Tables:
    """The tables of grammar.lark, from grammar.json where that is in step with it."""
    grammar = (_FOLDER / "grammar.lark").read_text("utf-8")
    try:
        stored = json.loads((_FOLDER / "grammar.json").read_text("utf-8"))
    except (OSError, ValueError):
        stored = {}
    return _decode(stored if stored.get("grammar") == _hash(grammar) else encode(grammar))


def encode(grammar: str) -> dict[str, Any]:
    """The content of grammar.json: the tables of a lark grammar as plain lists.

    Equal rows are stored once. ValueError where the grammar is not LALR(1).
    """
    import lark

    rules, states = _analyse(grammar)
    symbols = sorted({s for row in states for s in row})
    number = {s: i for i, s in enumerate(symbols)}
    rows: dict[tuple[int, ...], int] = {}
    of_state = []
    for row in states:
        flat = tuple(n for s in sorted(row) for n in (number[s], row[s]))
        of_state.append(rows.setdefault(flat, len(rows)))
    return {
        "grammar": _hash(grammar),
        "lark": lark.__version__,
        "symbols": symbols,
        "rules": rules,
        "rows": [list(r) for r in rows],
        "states": of_state,
    }


def write() -> None:
    """Write grammar.json anew."""
    grammar = (_FOLDER / "grammar.lark").read_text("utf-8")
    text = json.dumps(encode(grammar), separators=(",", ":"))
    (_FOLDER / "grammar.json").write_text(text + "\n", "utf-8")


def _decode(stored: Mapping[str, Any]) -> Tables:
    rules = tuple(Rule(o, n, a, tuple(k), tuple(p), s) for o, n, a, k, p, s in stored["rules"])
    symbols: list[str] = stored["symbols"]
    nonterminals = {r.origin for r in rules}
    actions, gotos = [], []
    for row in stored["rows"]:
        pairs = [(symbols[row[i]], row[i + 1]) for i in range(0, len(row), 2)]
        actions.append({s: n for s, n in pairs if s not in nonterminals})
        gotos.append({s: n for s, n in pairs if s in nonterminals})
    states: list[int] = stored["states"]
    return Tables(rules, tuple(actions[i] for i in states), tuple(gotos[i] for i in states))


def _hash(grammar: str) -> str:
    return hashlib.sha256(grammar.encode()).hexdigest()


def _analyse(grammar: str) -> tuple[list[list[Any]], list[dict[str, int]]]:
    """Rules and states as lark finds them, terminals by their text, the start state first."""
    import lark

    class Unused(lark.lexer.Lexer):
        """Lark reads the grammar only: the tokens come from dslc.frontend.lexer."""

        def __init__(self, _: object) -> None:
            pass

        def lex(self, *_: object) -> Iterator[lark.Token]:
            raise NotImplementedError

    with _no_conflicts():
        made = lark.Lark(
            grammar,
            parser="lalr",
            lexer=Unused,
            start="module",
            debug=True,
            maybe_placeholders=False,
        )
    text = {t.name: str(t.pattern.value) for t in made.terminals} | {"$END": END}
    table = made.parser.parser._parse_table
    rules = sorted(made.rules, key=str)  # lark's own order changes from run to run
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


class _no_conflicts(logging.Handler):  # noqa: N801 - used as a statement
    """Make an error of the shift/reduce conflicts that lark resolves silently."""

    def __enter__(self) -> None:
        self.found: list[str] = []
        self.before = lark_logger().level
        lark_logger().addHandler(self)
        lark_logger().setLevel(logging.DEBUG)

    def __exit__(self, kind: object, *_: object) -> None:
        lark_logger().removeHandler(self)
        lark_logger().setLevel(self.before)
        if self.found and kind is None:
            raise ValueError("; ".join(self.found))

    def emit(self, record: logging.LogRecord) -> None:
        """Note a conflict."""
        if "conflict" in record.getMessage().lower():
            self.found.append(record.getMessage())


def lark_logger() -> logging.Logger:
    """The logger through which lark speaks of conflicts."""
    from lark.utils import logger

    return logger


if __name__ == "__main__":
    write()
