"""Loops, branches and blocks of a core as Python."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from typing import Protocol

from dslc.compiler.mlir import Block
from dslc.runtime.aie_simulator.cores.slots import Slots
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.reader import Operation


class Translation(Protocol):
    """What translates the operations of a core."""

    slots: Slots
    values: bool
    known: set[str]

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

    def knows(self, names: list[str]) -> bool:
        """Whether values are known where nothing is computed."""
        ...


def python(name: str) -> str:
    """A Python name for an SSA name."""
    return "v_" + re.sub(r"\W", _escaped, name[1:])


def _escaped(found: re.Match[str]) -> str:
    return {"#": "_r_", "-": "_m", ".": "_d"}.get(found[0], "_")


def assign(t: Translation, names: list[str], given: list[str]) -> None:
    """Names take values, all at once."""
    if names:
        t.line(f"{', '.join(map(python, names))} = {', '.join(t.resolve(g) for g in given)}")


def for_loop(t: Translation, op: Operation) -> None:
    """`scf.for`: with a bound that depends on data it is run once where nothing is computed."""
    (entry,) = op.regions[0]
    (index, _), *carried = entry.arguments
    inners = [name for name, _ in carried]
    assign(t, inners, op.operands[3:])
    t.known.add(index)
    turns = ", ".join(t.resolve(n) for n in op.operands[:3])
    t.slots.scalar += 2
    t.spend()
    known = t.knows(op.operands[:3])
    with t.block(f"for {python(index)} in range({turns if known else '1'}):"):
        t.body(entry.operations, tuple(map(python, inners)))
    assign(t, list(op.results), inners)


def affine_loop(t: Translation, op: Operation) -> None:
    """`affine.for` of constant bounds."""
    (entry,) = op.regions[0]
    (index, _), *carried = entry.arguments
    inners = [name for name, _ in carried]
    assign(t, inners, op.operands)
    t.known.add(index)
    turns = ", ".join(str(op.integer(n)) for n in ("lower", "upper", "step"))
    t.slots.scalar += 2
    t.spend()
    with t.block(f"for {python(index)} in range({turns}):"):
        t.body(entry.operations, tuple(map(python, inners)))
    assign(t, list(op.results), inners)


def branch(t: Translation, op: Operation) -> None:
    """`scf.if`."""
    results = tuple(python(r) for r in op.results)
    t.spend()
    known = t.knows(op.operands)
    with t.block(f"if {t.resolve(op.operands[0]) if known else 'True'}:"):
        t.body(op.body, results)
    if op.regions[1:] and op.regions[1] and known:
        with t.block("else:"):
            t.body(op.regions[1][0].operations, results)


def switch(t: Translation, op: Operation) -> None:
    """`scf.index_switch`."""
    results = tuple(python(r) for r in op.results)
    t.spend()
    default, *cases = op.regions
    if not t.knows(op.operands):
        t.body(default[0].operations, results)
        return
    head = "if"
    for value, region in zip(op.integers("cases"), cases, strict=True):
        with t.block(f"{head} {t.resolve(op.operands[0])} == {value}:"):
            t.body(region[0].operations, results)
        head = "elif"
    with t.block("else:" if cases else "if True:"):
        t.body(default[0].operations, results)


def while_loop(t: Translation, op: Operation) -> None:
    """`scf.while`: what is tested depends on data, so it is run once where there is none."""
    (before,), (after,) = op.regions
    if not before.operations or before.operations[-1].name != "scf.condition":
        raise AieFault("syntax", "scf.while tests no condition", line=op.line)
    inners = [name for name, _ in before.arguments]
    assign(t, inners, op.operands)
    t.spend()
    with t.block("while True:" if t.values else "for _ in range(1):"):
        t.body(before.operations[:-1])
        test, *given = before.operations[-1].operands
        assign(t, [name for name, _ in after.arguments], given)
        assign(t, list(op.results), given)
        t.slots.scalar += 2
        t.spend()
        if t.values:
            t.line(f"if not {t.resolve(test)}:")
            t.line("    break")
        t.body(after.operations, tuple(map(python, inners)))


def blocks(t: Translation, region: list[Block]) -> None:
    """Blocks that branch to one another, as one loop over the number of the next block."""
    labels = {block.label: number for number, block in enumerate(region)}
    t.line("block = 0")
    with t.block("while block >= 0:"):
        for number, block in enumerate(region):
            with t.block(f"{'el' if number else ''}if block == {number}:"):
                *body, last = block.operations or [Operation("aie.end", 0)]
                t.body(body)
                t.spend()
                _jump(t, last, region, labels)


def _jump(t: Translation, op: Operation, region: list[Block], labels: dict[str, int]) -> None:
    match op.name:
        case "cf.br":
            _go(t, op.successors[0], region, labels, op.line)
        case "cf.cond_br":
            known = t.knows(op.operands[:1])
            with t.block(f"if {t.resolve(op.operands[0]) if known else 'True'}:"):
                _go(t, op.successors[0], region, labels, op.line)
            with t.block("else:"):
                _go(t, op.successors[1], region, labels, op.line)
        case "aie.end" | "func.return" | "return":
            t.line("block = -1")
        case _:
            raise AieFault("syntax", f"{op.name} ends a block", line=op.line)


def _go(
    t: Translation,
    successor: tuple[str, list[str]],
    region: list[Block],
    labels: dict[str, int],
    line: int,
) -> None:
    label, given = successor
    if label not in labels:
        raise AieFault("symbol", f"there is no block {label}", line=line)
    assign(t, [name for name, _ in region[labels[label]].arguments], given)
    t.line(f"block = {labels[label]}")
