"""The parser's tables: made from grammar.lark by lark, kept in grammar.json beside it.

Building the LALR(1) automaton costs a fifth of a second, reading it back a few milliseconds, so the
tables are stored with the grammar's hash. Where the hash disagrees (someone is at work on the
grammar) they are built afresh in memory. `python -m dslc.frontend.tables` writes the
file; it is run after each change of the grammar.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Rule:
    """A production: what the parser does when it has seen `length` symbols of it.

    `keep` lists the symbols whose values go on by their places counted from the end, so that -1 is
    the last; `spread` says of each whether it is a list to be spliced. `action` is the builder's
    method that takes the values; None makes a list of them or, where `single`, hands on the one
    value as it is.
    """

    origin: str
    length: int
    action: str | None
    keep: tuple[int, ...]
    spread: tuple[bool, ...]
    single: bool


@dataclass(frozen=True, slots=True)
class Tables:
    """The LALR(1) automaton: for each state what a terminal does, and where a nonterminal leads.

    An action n >= 0 shifts to state n, an action n < 0 reduces by `rules[-n - 1]`. State 0 is the
    start; the input is accepted when `module` would be pushed on it. `climbs` fills while texts are
    parsed: it says where a symbol's state ends up before a terminal, which most have for climbing from
    a name to an expression, and on the state below it.
    """

    rules: tuple[Rule, ...]
    actions: tuple[Mapping[str, int], ...]
    gotos: tuple[Mapping[str, int], ...]
    climbs: dict[tuple[int, int, str], int] = field(default_factory=dict)


@functools.cache
def tables() -> Tables:
    """The tables of grammar.lark, from grammar.json where that is in step with it."""
    grammar = (FOLDER / "grammar.lark").read_text("utf-8")
    try:
        stored = json.loads((FOLDER / "grammar.json").read_text("utf-8"))
    except (OSError, ValueError):
        stored = {}
    if stored.get("grammar") != _hash(grammar):
        stored = made(grammar)
    return _decode(stored)


def made(grammar: str) -> dict[str, Any]:
    """The content of grammar.json. ValueError where the grammar is not LALR(1)."""
    from dslc.frontend.table_builder import encode  # lark is needed for this alone

    return {"grammar": _hash(grammar), **encode(grammar)}


def _hash(grammar: str) -> str:
    return hashlib.sha256(grammar.encode()).hexdigest()


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


if __name__ == "__main__":
    text = json.dumps(made((FOLDER / "grammar.lark").read_text("utf-8")), separators=(",", ":"))
    (FOLDER / "grammar.json").write_text(text + "\n", "utf-8")
