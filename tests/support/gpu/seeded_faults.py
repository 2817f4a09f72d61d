"""Emitted texts with one fault each: a barrier, a wait or a commit deleted, an index changed."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

_DELETED = {
    "barrier": re.compile(r"__syncthreads\(\);"),
    "wait": re.compile(r"\bcopy_wait<\d+>\(\);"),
    "commit": re.compile(r"\bcopy_commit\(\);"),
}
_ACCESS = re.compile(
    r"\b(?:load_global|store|copy_async|ldmatrix|mma|set_bits|get_bits)_?\w*|\]\s*="
)
_NUMBER = re.compile(r"(?<![\w.<])(\d+)(?![\w.>])")


@dataclass(frozen=True)
class Fault:
    """A kind of fault at a place of the text, and the text that has it."""

    kind: str
    line: int
    was: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind} of line {self.line}: {self.was}"


def faults(text: str) -> Iterator[Fault]:
    """Every deletion in the kernel's body; the device functions before it stay."""
    start = text.index('extern "C" __global__')
    for kind, pattern in _DELETED.items():
        for match in pattern.finditer(text, start):
            yield _changed(text, kind, match.start(), match.end(), ";")


def index_faults(text: str, count: int, seed: int = 0) -> list[Fault]:
    """Some constants of lines that access registers or memory, each one greater.

    Some of these change nothing: 0 * 16 / 32 is 1 * 16 / 32.
    """
    start = text.index("{", text.index('extern "C" __global__'))
    found = []
    at = start
    for line in text[start:].splitlines(keepends=True):
        declares = re.match(r"\s*(?:const )?(?:unsigned|float|int|bool) \w+\[", line)
        if _ACCESS.search(line) and "for (" not in line and not declares:
            for match in _NUMBER.finditer(line):
                where = at + match.start()
                number = str(int(match[1]) + 1)
                found.append(_changed(text, "index", where, where + len(match[1]), number))
        at += len(line)
    return random.Random(seed).sample(found, min(count, len(found)))


def _changed(text: str, kind: str, start: int, end: int, new: str) -> Fault:
    number = text[:start].count("\n") + 1
    return Fault(
        kind, number, text.splitlines()[number - 1].strip(), text[:start] + new + text[end:]
    )
