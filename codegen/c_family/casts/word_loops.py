"""Loops over the words of results that are made of bits: one iteration a stretch of source words."""

from __future__ import annotations

from collections.abc import Callable

from dslc.codegen.c_family.casts.bits import Bits, Positions
from dslc.codegen.c_family.casts.cast_rules import Rule
from dslc.codegen.c_family.casts.extraction import Words
from dslc.codegen.c_family.writer import Writer

# A rule that is told the number of the word that it makes, as C.
IndexedRule = Callable[[Words, Positions, str], str]


def indexed(rule: Rule) -> IndexedRule:
    """A rule that needs not know which word it makes."""
    return lambda words, at, _: rule(words, at)


def emit_words(out: Writer, bits: Bits, name: str, lanes: int, rule: IndexedRule) -> None:
    """The words of a result, in a loop over stretches that differ in the words read only."""
    grouped = bits.at.reshape(-1, lanes, bits.at.shape[1])
    length, step = _period(grouped)
    stretch = grouped[:length]
    read = sorted({int(b) // 32 for b in stretch.reshape(-1)})
    var = out.name("i")
    with out.loop(var, len(grouped) // length):
        names = {}
        for word in read:
            names[word] = out.name("w")
            out.line(f"const unsigned {names[word]} = {bits.name}[{_sum(var, step, word)}];")
        words = Words(out, names)
        for k, at in enumerate(stretch):
            index = _sum(var, length, k)
            result = rule(words, at, index)
            out.line(f"{name}[{index}] = {result};")


def _sum(var: str, factor: int, offset: int) -> str:
    if factor == 0:
        return str(offset)
    product = var if factor == 1 else f"{var} * {factor}"
    return f"{product} + {offset}" if offset else product


def _period(grouped: Positions) -> tuple[int, int]:
    """The least count of results after which the same bits are taken some words further on."""
    count = len(grouped)
    for length in (n for n in range(1, count) if count % n == 0):
        step = int(grouped[length, 0, 0] - grouped[0, 0, 0])
        if step % 32 == 0 and step > 0 and (grouped[length:] - grouped[:-length] == step).all():
            return length, step // 32
    return count, 0
