"""Machine code before registers are given: instructions over virtual registers, and blocks of them.

An instruction is a line of assembly with holes. `fmla {0}.4s, {1}.4s, {2}.4s` has three operands, of
which the first is defined and, being an accumulator, read as well. A hole's format says under which
name the register is written: `{0:q}` is q0, `{0}` of a vector register v0, `{1:w}` the lower half of an
x register. A virtual register may be defined several times (accumulators, pointers that are bumped).

Code is a tree of blocks, so that what a loop needs once can still be put before it while its body is
written. `flatten` gives the lines in order.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias


class File(enum.Enum):
    """A register file."""

    X = "x"  # general: x0 to x30
    V = "v"  # vectors of 128 bits: v0 to v31

    __hash__ = object.__hash__  # by identity: an enum's own is Python code, and this is a hot key


@dataclass(eq=False, slots=True)
class Reg:
    """A virtual register, or with `fixed` the machine's register of that number."""

    file: File
    fixed: int | None = None
    remade: Inst | None = None  # an instruction without operands that makes its value again

    def __repr__(self) -> str:
        number = "?" if self.fixed is None else self.fixed
        return f"{self.file.value}{number}"


class Effect(enum.Enum):
    """What an instruction does to memory."""

    NONE = "none"
    LOAD = "load"
    STORE = "store"


@dataclass(eq=False, slots=True)
class Inst:
    """One instruction: `operands` fill the holes; the first `results` of them are defined.

    With `reads_result` those are read before. `alias` names the memory that it touches: what touches
    another is independent of it. A `target` is the label that it may jump to; after an
    `unconditional` one control does not go on.
    """

    template: str
    operands: tuple[Reg, ...] = ()
    results: int = 0
    reads_result: bool = False
    effect: Effect = Effect.NONE
    alias: object = None
    target: Label | None = None
    unconditional: bool = False
    comment: str = ""

    @property
    def defined(self) -> tuple[Reg, ...]:
        """The registers that it writes."""
        return self.operands[: self.results]

    @property
    def used(self) -> tuple[Reg, ...]:
        """The registers that it reads."""
        return self.operands if self.reads_result else self.operands[self.results :]

    @property
    def mnemonic(self) -> str:
        """Its first word."""
        return self.template.split(None, 1)[0]

    @property
    def is_move(self) -> bool:
        """Whether it copies one register to another of its file."""
        return self.template in (MOVE_V, MOVE_X)


MOVE_V = "mov {0}.16b, {1}.16b"
MOVE_X = "mov {0}, {1}"


@dataclass(eq=False, slots=True)
class Label:
    """A place to jump to."""

    name: str = ""


@dataclass(eq=False, slots=True)
class Remark:
    """A line of comment; scheduling does not move instructions across it."""

    text: str


@dataclass(eq=False, slots=True)
class Block:
    """Instructions, labels, remarks and blocks in order."""

    items: list[Item] = field(default_factory=list)


Line: TypeAlias = "Inst | Label | Remark"
Item: TypeAlias = "Inst | Label | Remark | Block"


def flatten(block: Block) -> list[Line]:
    """The lines of a block and the blocks in it, in order."""
    return list(_lines(block))


def _lines(block: Block) -> Iterator[Line]:
    for item in block.items:
        if isinstance(item, Block):
            yield from _lines(item)
        else:
            yield item


_HOLE = re.compile(r"\{(\d+)(?::(\w))?\}")


def written(inst: Inst, numbers: Iterable[int]) -> str:
    """The instruction's text with its operands in the registers of these numbers."""
    names = list(numbers)

    def fill(match: re.Match[str]) -> str:
        reg, number = inst.operands[int(match[1])], names[int(match[1])]
        return f"{match[2] or reg.file.value}{number}"

    return _HOLE.sub(fill, inst.template)
