"""Random programs of one turn that read and write parts of two tensors over and over.

Slices begin at sums of loops' variables, at scalars and at elements of a tensor, so that some pairs
meet in every element, some in a few and some in none. Indices stay within the tensors.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from support.features import Feature

_EXTENT = 2048
_STATEMENTS = (
    *("move",) * 6, *("loop",) * 3, "scalar", "gather", "scatter", "add", "branch",
)  # fmt: skip
_HEAD = "kernel k(x: inout f32[2048], z: inout f32[2048], ids: i32[64], n: i32):\n"


@dataclass
class _Writer:
    rng: random.Random
    lines: list[str] = field(default_factory=list)
    loops: list[tuple[str, int]] = field(default_factory=list)  # with the greatest value
    names: int = 0

    def start(self, length: int) -> str:
        """Where a slice of a length begins."""
        room, parts = _EXTENT - length, []
        for name, most in self.loops:
            if not most:
                continue
            factor = self.rng.choice((0, 1, 1, 64, length))
            if factor and factor * most <= room:
                parts.append(f"{name} * {factor}")
                room -= factor * most
        if room >= 40 and self.rng.random() < 0.15:
            parts.append(f"s{self.names}")
            self.line(f"s{self.names} = ids[{self.rng.randrange(64)}]")
            self.names += 1
            room -= 40
        fixed = (0, 0, 1, 4, 64, length, 2 * length)
        parts.append(str(self.rng.choice([f for f in fixed if f <= room])))
        return " + ".join(parts)

    def slice(self, length: int) -> str:
        tensor = self.rng.choice("xxz")
        if 2 * length <= _EXTENT and not self.loops and self.rng.random() < 0.2:
            first = self.rng.choice((0, 1))
            return f"{tensor}[{first} : {first + 2 * length - 1} : 2]"
        start = self.start(length)
        return f"{tensor}[{start} : {start} + {length}]"

    def line(self, text: str) -> None:
        self.lines.append("    " * (len(self.loops) + 1) + text)

    def statement(self, depth: int) -> None:
        length = self.rng.choice((32, 64, 256, 512, 1024))
        match self.rng.choice(_STATEMENTS):
            case "loop" | "branch" if depth == 3:
                self.line(f"{self.slice(length)} = {self.slice(length)} * 0.5")
            case "loop":
                name, most = f"i{self.names}", self.rng.choice((1, 2, 3))
                self.names += 1
                self.line(f"for {name} in range({most + 1}):")
                self.loops.append((name, most))
                for _ in range(self.rng.randrange(1, 4)):
                    self.statement(depth + 1)
                self.loops.pop()
            case "branch":
                self.line(f"if x[{self.rng.randrange(8)}] > {self.rng.choice('02')}.0:")
                self.loops.append(("", 0))
                self.statement(depth + 1)
                self.loops.pop()
            case "scalar":
                at = self.start(1)
                self.line(f"{self.slice(length)} = {self.slice(length)} + x[{at}]")
            case "gather":
                step = self.rng.choice((1, 3, 5))
                ids = f"(arange({length}) * {step} + {self.start(1)}) % 2048"
                self.line(f"{self.slice(length)} = gather(x[:], {ids}, 0)")
            case "scatter":
                ids = f"(arange({length}) * 5 + {self.start(1)}) % 2048"
                self.line(f"scatter(x[:], {ids}, {self.slice(length)}, 0)")
            case "add":
                self.line(f"{self.slice(length)} += {self.slice(length)}")
            case _:
                self.line(f"{self.slice(length)} = {self.slice(length)} * 0.5 + 1.0")


def random_order(seed: int) -> Feature:
    """The program of a seed."""
    writer = _Writer(random.Random(seed))
    for _ in range(writer.rng.randrange(2, 5)):
        writer.statement(0)
    return Feature(_HEAD + "\n".join(writer.lines) + "\n", {"M": 4, "N": 4, "K": 4})
