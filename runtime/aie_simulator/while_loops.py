"""`scf.while` of a core as a loop of Python, and the names that values have there."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from typing import Protocol

from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.reader import Operation
from dslc.runtime.aie_simulator.slots import Slots

OPERAND = r"%[\w$.#]+"


class Translation(Protocol):
    """What translates the operations of a core."""

    slots: Slots
    values: bool

    def line(self, text: str) -> None:
        """One line of Python."""

    def block(self, head: str) -> AbstractContextManager[None]:
        """A block of lines under a head."""
        ...

    def spend(self) -> None:
        """The cycles of the operations since the last time."""

    def body(self, region: list[Operation], yields: tuple[str, ...] = ()) -> None:
        """The operations of a region."""

    def resolve(self, name: str) -> str:
        """The Python name of an SSA value."""
        ...


def python(name: str) -> str:
    """A Python name for an SSA name."""
    return "v_" + re.sub(r"\W", "_", name[1:].replace("#", "_r_"))


def while_loop(t: Translation, op: Operation) -> None:
    """What is tested depends on data: run once where there is none."""
    found = op.match(r"\((?P<args>.*?)\) : \(.*?\) -> .*")
    before, body = op.regions
    head = body[0].match(r"\((.*)\):") if body and body[0].name == "^bb0" else None
    if not before or before[-1].name != "scf.condition" or head is None:
        raise AieFault("syntax", "scf.while tests no condition, or hands nothing on", line=op.line)
    pairs = re.findall(r"(%[\w$.]+) = (%[\w$.#]+)", found["args"])
    for inner, given in pairs:
        t.line(f"{python(inner)} = {t.resolve(given)}")
    inners, handed = tuple(python(inner) for inner, _ in pairs), re.findall(OPERAND, head[1])
    t.spend()
    with t.block("while True:" if t.values else "for _ in range(1):"):
        t.body(before[:-1])
        test = before[-1].match(rf"\(({OPERAND})\)\s*(.*)")
        for names in (handed, op.results):
            for name, given in zip(names, re.findall(OPERAND, test[2]), strict=True):
                t.line(f"{python(name)} = {t.resolve(given)}")
        t.slots.scalar += 2
        t.spend()
        if t.values:
            t.line(f"if not {t.resolve(test[1])}:")
            t.line("    break")
        t.body(body[1:], inners)
