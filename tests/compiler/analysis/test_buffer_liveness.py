"""Lives against runs: buffers that are in use at one time of a run never have bytes in common."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations, count
from typing import TypeAlias

import pytest
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.traverse import walk
from dslc.compiler.passes.memory.memory_plan import MemoryPlan, buffer_bytes


@dataclass
class Block:
    """Uses of buffers, and nested blocks: one of a loop, two of a branch; in the text's order."""

    own: list[str]
    parts: list[str | list[Block]] = field(default_factory=list)


class Drawn:
    """A random body: buffers that each block makes, and uses by itself and by blocks in it."""

    def __init__(self, seed: int) -> None:
        self.random, self.numbers = random.Random(seed), count()
        self.sizes: dict[str, int] = {}
        self.block = self.draw(())

    def draw(self, around: tuple[str, ...], depth: int = 0) -> Block:
        own = [f"b{next(self.numbers)}" for _ in range(self.random.randint(0 if depth else 2, 3))]
        self.sizes |= {name: self.random.choice((4, 8, 20, 64)) for name in own}
        block, visible = Block(own), (*around, *own)
        for _ in range(self.random.randint(2, 5)):
            kind = (
                self.random.choice(("use", "use", "use", "loop", "branch")) if depth < 2 else "use"
            )
            if kind == "use":
                block.parts.append(self.random.choice(visible))
            else:
                block.parts.append(
                    [self.draw(visible, depth + 1) for _ in range(1 + (kind == "branch"))]
                )
        return block

    def text(self, block: Block) -> str:
        lines = [f"alloc @{name}: buffer shared f32[{self.sizes[name]}]" for name in block.own]
        for part in block.parts:
            match part:
                case str(name):
                    lines.append(f"store @{name}[0 : +4], %v")
                case [body]:
                    lines.append(
                        f"for k{next(self.numbers)} in range(0, 8, 4) {{\n{self.text(body)}}}"
                    )
                case [then, otherwise]:
                    lines.append(
                        f"if M == 1 {{\n{self.text(then)}}} else {{\n{self.text(otherwise)}}}"
                    )
        return "".join(f"{line}\n" for line in lines)


Uses: TypeAlias = list[int]  # the times of a buffer's uses


def spans(
    block: Block, first: bool, times: Iterator[int], around: dict[str, Uses]
) -> Iterator[tuple[str, Uses]]:
    """Of every buffer that a run makes, its name and the times of its uses.

    Loops have two iterations; of branches all run the first body, or all the second.
    """
    here = {name: list[int]() for name in block.own}
    seen = {**around, **here}
    for part in block.parts:
        match part:
            case str(name):
                seen[name].append(next(times))
            case [body]:
                yield from spans(body, first, times, seen)
                yield from spans(body, first, times, seen)
            case [then, otherwise]:
                yield from spans(then if first else otherwise, first, times, seen)
    yield from ((name, used) for name, used in here.items() if used)


@pytest.mark.parametrize("seed", range(80))
def test_what_is_used_at_one_time_lies_apart(seed: int) -> None:
    drawn = Drawn(seed)
    head = "kernel f[M](@x: in f32[4]) {\n%v = load @x[0 : +4] : f32[4]\n"
    kernel = MemoryPlan()(parse_program(f"{head}{drawn.text(drawn.block)}}}\n"))
    bytes_ = {
        s.memory.name: range(s.memory.offset, s.memory.offset + buffer_bytes(s.memory))
        for s in walk(kernel.body)
        if isinstance(s, ins.Alloc)
    }
    for first in (True, False):
        made = list(spans(drawn.block, first, count(), {}))
        for (a, uses), (b, others) in combinations(made, 2):
            if a != b and uses[0] <= others[-1] and others[0] <= uses[-1]:
                x, y = bytes_[a], bytes_[b]
                assert x.stop <= y.start or y.stop <= x.start, (a, b)
