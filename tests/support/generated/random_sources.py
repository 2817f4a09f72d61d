"""Random kernels as text, and what they mean in NumPy: the same lines, executed by Python.

source = random_source(seed)
call(target, source, {"x": x, "n": 3, "y": y})
assert (y == meaning(source, x, 3)).all()

More of them than the suite runs, in tests/: `python -m support.generated.random_sources nki:trn2 0 500`
"""

from __future__ import annotations

import random
import re
import sys
from typing import Any

import numpy as np

_TILES = ("a", "b", "c", "d")
_ENDS = ("3", "2", "1", "0, 3, 2", "2, -1, -1", "n")
_HEAD = """
def twice(p, q):
    acc = p * 2
    for j in range(2):
        acc += dot(p, q)
    return acc


kernel k(x: i32[24, 8], n: i32, y: out i32[32, 8]):
    a = x[0:8, :]
    b = x[8:16, :]
    c = x[16:24, :]
    d = zeros(i32, [8, 8])
    t = buffer(i32, [8, 8])
    t[:, :] = a
"""
_END = "".join(f"    y[{8 * i} : {8 * i + 8}, :] = {v}\n" for i, v in enumerate(_TILES))


class _Writer:
    """Statements over four tiles that every program has; integers of 10 bits after each."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.counters: list[str] = []
        self.made = 0

    def line(self, text: str, deeper: int = 0) -> None:
        self.lines.append("    " * (len(self.counters) + deeper + 1) + text)

    def tile(self) -> str:
        return self.random.choice(_TILES)

    def product(self) -> str:
        how = self.random.choice(("", "", "", ', transposed="a"', ', transposed="b"'))
        return f"dot({self.tile()}, {self.tile()}{how})"

    def expression(self, depth: int = 2) -> str:
        if depth == 0 or self.random.random() < 0.2:
            return self.tile()
        x, y, z, w = (self.expression(depth - 1) for _ in range(4))
        row = self.random.randrange(8)
        return self.random.choice(
            (
                f"({x} + {y})", f"({x} - {y})", f"({x} * -3)", f"maximum({x}, {y})",
                f"where({x} > {y}, {z}, {w})", f"transpose({x})", f"minimum({x}, {y})",
                f"({x} + sum({y}, {row % 2}, keepdims=True))", f"dot({x}, {y})",
                f"({x} + {self.tile()}[{row}, :][None, :])", f"x[{self.rows()}, :]",
            )
        )  # fmt: skip

    def rows(self) -> str:
        at = self.random.choice(("0", "1", "2", *(i for i in self.counters if i)))
        return f"8 * {at} : 8 * {at} + 8"

    def name(self, letter: str) -> str:
        self.made += 1
        return f"{letter}{self.made}"

    def statement(self) -> None:
        v, u, kind = self.tile(), self.tile(), self.random.randrange(17)
        if kind < 3:
            self.line(f"{v} = {self.expression()}")
        elif kind == 3:
            self.line(f"{v} {self.random.choice(('+=', '-='))} {self.expression()}")
        elif kind == 4:
            self.line(f"{v} += {self.product()}")
        elif kind == 5:
            part = self.name("p")
            self.line(f"{part} = {self.product()}")
            self.line(f"{v} += {part}")
            if self.random.random() < 0.5:
                self.line(f"{u} += {part}")
        elif kind == 6:
            self.line(f"{v} = {self.product()}")
            self.line(f"{u} += {v}")
        elif kind == 7 and u != v:
            self.line(f"{v}, {u} = {u}, {self.expression(1)}")
        elif kind == 8 and len(self.counters) < 2:
            counter = self.name("i")
            self.line(f"for {counter} in range({self.random.choice(_ENDS)}):")
            self.counters.append(counter)
            self.statements(1, 3)
            self.counters.pop()
        elif kind == 8:
            first, *others = self.random.sample(_TILES, 3)
            self.line(f"{first}, {', '.join(others)} = {', '.join(others)}, {first}")
        elif kind == 9:
            self.branches(v, u)
        elif kind == 10:
            self.line(f"{v} = twice({u}, {self.expression(1)})")
        elif kind == 11 and len(self.counters) < 2:
            count = self.name("w")
            self.line(f"{count} = 0")
            self.line(f"while {count} < 2 and sum({u}) {self.random.choice('<>')} 9:")
            self.counters.append(count)
            self.statements(1, 3)
            self.line(f"{count} += 1")
            self.counters.pop()
        elif kind == 12:
            self.line(f"if {self.test(u)}:")
            self.counters.append("")
            self.branches(v, self.tile())
            if self.random.random() < 0.5:
                self.statements(1, 2)
            self.line(f"t[0:4, :] = {self.expression(1)}[4:8, :]")
            self.counters.pop()
            if self.random.random() < 0.5:
                self.line(f"elif {self.test(v)}:")
                self.line(f"{v}, {u} = {u}, {v}" if u != v else f"{v} = t[:, :]", 1)
        elif kind == 13:
            turned = "reshape(reshape({}, [4, 16]), [8, 8])"
            self.line(f"{v} = {turned.format(self.expression(1))}")
            self.line(f"{v} += {self.product()}")
        elif kind == 14:
            rows = self.rows()
            self.line(f"{v} = x[{rows}, :]")
            self.line(f"{v} += {self.product()}")
            self.line(f"{u} = x[{rows}, :] + {v}")
        elif kind == 15:
            self.line(f"{v} = cumsum({self.expression(1)}, {self.random.randrange(2)})")
        else:
            self.line(f"t[:, :] = {self.expression(1)}")
            self.line(f"{v} = t[:, :] + {u}")
        self.line(f"{v} &= 1023")

    def test(self, u: str) -> str:
        counted = [i for i in self.counters if i]
        return self.random.choice([f"sum({u}) > 0", "n > 2", *(f"{i} % 2 == 0" for i in counted)])

    def branches(self, v: str, u: str) -> None:
        self.line(f"if {self.test(u)}:")
        self.line(f"{v} = {self.expression()}", 1)
        self.line("else:")
        self.line(f"{u} += {self.product()}", 1)

    def statements(self, least: int, most: int) -> None:
        for _ in range(self.random.randint(least, most)):
            self.statement()


def random_source(seed: int) -> str:
    """A kernel of some lines: loops, branches, products that are summed, read again, handed on."""
    writer = _Writer(seed)
    writer.statements(4, 8)
    return _HEAD + "".join(f"{line}\n" for line in writer.lines) + _END


def meaning(source: str, x: Any, n: int) -> Any:
    """The output of such a kernel: its text as Python over arrays, each of them a value."""
    text = re.sub(r"kernel k\(.*\):", "def k(x, n, y):", source)
    text = re.sub(r"^(\s*)(\w+) ([-+&])= (.*)$", r"\1\2 = \2 \3 (\4)", text, flags=re.MULTILINE)
    text = re.sub(r"\b([xt]\[[^\]]*\])(?! = )", r"\1.copy()", text)

    def dot(a: Any, b: Any, transposed: str = "") -> Any:
        return (a.T if transposed == "a" else a) @ (b.T if transposed == "b" else b)

    def total(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
        return x.sum(axis, dtype=np.int32, keepdims=keepdims)

    def running(x: Any, axis: int) -> Any:
        return x.cumsum(axis, dtype=np.int32)

    names: dict[str, Any] = {
        "dot": dot, "sum": total, "maximum": np.maximum, "minimum": np.minimum, "i32": np.int32,
        "where": np.where, "transpose": np.transpose, "reshape": np.reshape, "cumsum": running,
        "zeros": lambda t, s: np.zeros(s, t), "buffer": lambda t, s: np.zeros(s, t),
    }  # fmt: skip
    exec(text, names)
    y = np.zeros((32, 8), np.int32)
    with np.errstate(over="ignore"):
        names["k"](x, n, y)
    return y


def differs(target: str, seed: int) -> bool:
    """Whether a machine gives something else than NumPy."""
    from support.machines import call

    source = random_source(seed)
    x = np.random.default_rng(seed).integers(-4, 5, (24, 8), np.int32)
    y = np.zeros((32, 8), np.int32)
    call(target, source, {"x": x, "n": 3, "y": y})
    return bool((y != meaning(source, x, 3)).any())


if __name__ == "__main__":
    machine, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for number in range(first, last):
        try:
            if differs(machine, number):
                print(f"{number}: another result than NumPy's", random_source(number), sep="\n")
        except Exception as problem:
            print(f"{number}: {type(problem).__name__}: {problem}")
