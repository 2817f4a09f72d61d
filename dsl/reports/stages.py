"""The IR after each pass, as differences from that before: most passes change a few lines."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Any

from dslc.compiler.ir import TileProgram
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.passes.pass_manager import Stage

_LARGE = 3000  # lines beyond which a difference is that of the whole text


def stage_texts(stages: Iterable[Stage]) -> list[dict[str, Any]]:
    """Each stage: `name`, `ms`, and `edits`, from which the text follows from the one before.

    An edit is a number of lines that stay, or a pair of how many lines go and which come.
    """
    before: list[str] = []
    printed: TileProgram | None = None
    found = []
    for stage in stages:
        same = stage.program is printed
        after = before if same else print_program(stage.program).splitlines()
        printed = stage.program
        edits = edits_of(before, after)
        found.append({"name": stage.name, "ms": round(stage.seconds * 1e3, 2), "edits": edits})
        before = after
    return found


def edits_of(before: list[str], after: list[str]) -> list[Any]:
    """What makes `after` of `before`."""
    if before == after:
        return [len(before)]
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    edits: list[Any] = [head] if head else []
    if len(old) + len(new) > _LARGE or not old or not new:
        edits.append([len(old), new])
    else:
        for word, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            edits.append(b - a if word == "equal" else [b - a, new[c:d]])
    return [*edits, tail] if tail else edits


def _common(a: list[str], b: list[str]) -> int:
    """How many lines both begin with."""
    for i, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return i
    return min(len(a), len(b))
