"""A text for every production of grammar.lark, so that other readers of the language lack none.

    sentences()     ["kernel x (x : x | None) : pass", ...]

A production stands in the shortest text that has it. What is right by the grammar can be wrong by
meaning (a kernel's parameter of a dtype `x`): readers of text alone do not mind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import lark
from dslc.frontend import table_builder

_GRAMMAR = Path(table_builder.__file__).with_name("grammar.lark")
_WORDS = {"NAME": "x", "INT": "1", "FLOAT": "1.5", "STRING": '"text"'}


@cache
def _grammar() -> tuple[dict[str, list[list[str]]], dict[str, str]]:
    """The expansions of each rule, and the text of each terminal."""
    parser = lark.Lark(
        _GRAMMAR.read_text(encoding="utf-8"),
        parser="lalr",
        lexer=table_builder._NoLexer,
        start="module",
        maybe_placeholders=False,
    )
    rules: dict[str, list[list[str]]] = {}
    for rule in sorted(parser.rules, key=str):
        rules.setdefault(str(rule.origin.name), []).append([str(s.name) for s in rule.expansion])
    return rules, {t.name: str(t.pattern.value) for t in parser.terminals} | _WORDS


@cache
def _shortest() -> dict[str, list[str]]:
    """The fewest terminals that each rule can be."""
    rules, _ = _grammar()
    best: dict[str, list[str]] = {}
    changed = True
    while changed:
        changed = False
        for origin, expansions in rules.items():
            for symbols in expansions:
                if all(s in best or s not in rules for s in symbols):
                    text = [w for s in symbols for w in best.get(s, [s])]
                    if origin not in best or len(text) < len(best[origin]):
                        best[origin], changed = text, True
    return best


def _around() -> dict[str, tuple[list[str], list[str]]]:
    """The terminals before and after a rule in a short text of the start symbol."""
    rules, _ = _grammar()
    best = _shortest()
    around: dict[str, tuple[list[str], list[str]]] = {"module": ([], [])}
    waiting = ["module"]
    for origin in waiting:
        before, after = around[origin]
        for symbols in rules[origin]:
            for i, symbol in enumerate(symbols):
                if symbol in rules and symbol not in around:
                    left = [w for s in symbols[:i] for w in best.get(s, [s])]
                    right = [w for s in symbols[i + 1 :] for w in best.get(s, [s])]
                    around[symbol] = [*before, *left], [*right, *after]
                    waiting.append(symbol)
    return around


def _text(terminals: Iterable[str]) -> str:
    _, words = _grammar()
    lines, depth = [""], 0
    for terminal in terminals:
        if terminal == "NEWLINE":
            lines.append("")
        elif terminal in ("INDENT", "DEDENT"):
            depth += 1 if terminal == "INDENT" else -1
        else:
            lines[-1] += (" " if lines[-1] else "    " * depth) + words[terminal]
    return "\n".join(lines)


def sentences() -> Iterator[str]:
    """A text for every production that a text can have."""
    rules, _ = _grammar()
    best, around = _shortest(), _around()
    for origin, expansions in rules.items():
        if origin in around:
            before, after = around[origin]
            for symbols in expansions:
                inner = [w for s in symbols for w in best.get(s, [s])]
                yield _text([*before, *inner, *after])
