"""MLIR text as it grows: lines, SSA names, constants ahead of everything, loops."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from dslc.codegen.aie.compute.indices import Index
from dslc.codegen.quoting import ascii_name

_OF_TILE, _NUMBERED = re.compile(r"_\d+_\d+$"), re.compile(r"_\d+$")


@dataclass(frozen=True, slots=True)
class Carry:
    """What a loop carries: its value inside, and after the loop; `yielded` is set in the body."""

    inner: str
    type: str


@dataclass(slots=True)
class Loop:
    """A loop under way: its counter, and what it carries."""

    counter: str
    carried: tuple[Carry, ...] = ()
    results: tuple[str, ...] = ()
    yielded: list[str] = field(default_factory=list)


class Builder:
    """The body of a core. Constants come first, each once; loops count from 0 in steps of 1."""

    def __init__(self, indent: int) -> None:
        self.extents: dict[str, int] = {}
        self._indent = indent
        self._lines: list[str] = []
        self._constants: dict[tuple[str, str], str] = {}
        self._names: dict[str, int] = {}
        self._taken: set[str] = set()
        self._sums: list[dict[Index, str]] = [{}]
        self._depth = indent
        self.operations = 0

    def text(self) -> str:
        """The constants and the lines."""
        margin = "  " * self._indent
        head = [
            f"{margin}{name} = arith.constant {value} : {kind}"
            for (value, kind), name in self._constants.items()
        ]
        return "".join(line + "\n" for line in (*head, *self._lines))

    def name(self, hint: str) -> str:
        """A fresh SSA name, which does not end as those of buffers do, by a tile's column and row."""
        stem = ascii_name(hint) or "v"
        stem = f"v_{stem}" if stem[0].isdigit() else stem
        stem = f"{stem}_v" if _OF_TILE.search(stem) else stem
        between = "_v" if _NUMBERED.search(stem) else "_"
        name, count = stem, self._names.get(stem, 0)
        while name in self._taken:
            count += 1
            name = f"{stem}{between}{count}"
        self._names[stem] = count
        self._taken.add(name)
        return f"%{name}"

    def line(self, text: str) -> None:
        """One line."""
        self._lines.append("  " * self._depth + text)

    def op(self, text: str, hint: str = "v") -> str:
        """An operation with one result."""
        name = self.name(hint)
        self.operations += 1
        self.line(f"{name} = {text}")
        return name

    def effect(self, text: str) -> None:
        """An operation without results."""
        self.operations += 1
        self.line(text)

    # Constants and index arithmetic

    def constant(self, value: float, kind: str) -> str:
        """A number of a type, or in every lane of a vector."""
        scalar = re.sub(r"vector<(?:\d+x)*(\w+)>", r"\1", kind)
        text = literal(value, scalar)
        if kind == "i1":  # a typed literal: `true` alone has no type after it
            text = str(int(value))
        return self.raw_constant(f"dense<{text}>" if scalar != kind else text, kind)

    def raw_constant(self, text: str, kind: str) -> str:
        """A constant by its text."""
        key = (text, kind)
        if key not in self._constants:
            stem = f"c{text}" if kind == "index" and text.isdigit() else "cst"
            self._constants[key] = self.name(stem)
        return self._constants[key]

    def index(self, form: Index) -> str:
        """The value of a sum, computed once in a scope."""
        if not form.terms:
            return self.constant(form.constant, "index")
        if len(form.terms) == 1 and form.terms[0][1] == 1 and not form.constant:
            return form.terms[0][0]
        for known in reversed(self._sums):
            if form in known:
                return known[form]
        if form.constant:
            total = self._binary("addi", self.index(Index(form.terms)), form.constant)
        elif len(form.terms) == 1:
            (name, factor) = form.terms[0]
            total = self._binary("muli", name, factor)
        else:
            *head, last = form.terms
            left, right = self.index(Index(tuple(head))), self.index(Index((last,)))
            total = self.op(f"arith.addi {left}, {right} : index", "at")
        self._sums[-1][form] = total
        return total

    def _binary(self, op: str, x: str, value: int) -> str:
        return self.op(f"arith.{op} {x}, {self.constant(value, 'index')} : index", "at")

    # Structure

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Lines indented by one more, whose values are not seen outside."""
        self._depth += 1
        self._sums.append({})
        yield
        self._sums.pop()
        self._depth -= 1

    @contextmanager
    def loop(
        self, stop: int | str, carried: Sequence[tuple[str, str]] = (), hint: str = "i"
    ) -> Iterator[Loop]:
        """A loop from 0 to `stop` by 1, over carried (value, type); a single iteration is no loop."""
        if stop == 1:
            loop = Loop("", tuple(Carry(v, t) for v, t in carried))
            yield loop
            loop.results = tuple(loop.yielded)
            return
        bound = self.constant(stop, "index") if isinstance(stop, int) else stop
        zero, one = self.constant(0, "index"), self.constant(1, "index")
        name = self.name(hint)
        if isinstance(stop, int):
            self.extents[name] = stop
        inners = tuple(Carry(self.name(f"{hint}_acc"), t) for _, t in carried)
        head = f"scf.for {name} = {zero} to {bound} step {one}"
        result = ""
        if carried:
            result = self.name(f"{hint}_out")
            pairs = zip(inners, carried, strict=True)
            given = ", ".join(f"{c.inner} = {v}" for c, (v, _) in pairs)
            types = ", ".join(t for _, t in carried)
            count = f":{len(carried)}" if len(carried) > 1 else ""
            head = f"{result}{count} = {head} iter_args({given}) -> ({types})"
        self.operations += 2
        self.line(head + " {")
        loop = Loop(name, inners)
        with self.scope():
            yield loop
            if carried:
                types = ", ".join(t for _, t in carried)
                self.line(f"scf.yield {', '.join(loop.yielded)} : {types}")
        self.line("}")
        many = len(carried) > 1
        loop.results = tuple(f"{result}#{i}" if many else result for i in range(len(carried)))

    def at(self, loop: Loop, factor: int = 1) -> Index:
        """The counter of a loop times a factor."""
        return Index(((loop.counter, factor),)) if loop.counter else Index()


_INFINITIES = {"f32": "0x7F800000", "bf16": "0x7F80"}
_NEGATIVE = {"f32": "0xFF800000", "bf16": "0xFF80"}
_NANS = {"f32": "0x7FC00000", "bf16": "0x7FC0"}


def _signless(value: int, kind: str) -> int:
    """As MLIR reads a number of so many bits: those of the upper half are negative."""
    bits = int(kind[1:]) if kind[1:].isdigit() else 64
    return value - (1 << bits) if value >= 1 << (bits - 1) else value


def literal(value: float, kind: str) -> str:
    """A number as MLIR writes it: floats in full, so that they come back as they were."""
    if kind == "i1":
        return "true" if value else "false"
    if kind not in _INFINITIES:
        return str(_signless(int(value), kind))
    if math.isnan(value):
        return _NANS[kind]
    if math.isinf(value):
        return _INFINITIES[kind] if value > 0 else _NEGATIVE[kind]
    (single,) = struct.unpack("<f", struct.pack("<f", value))
    text = f"{single:.9g}"
    mantissa, _, exponent = text.partition("e")
    mantissa = mantissa if "." in mantissa else f"{mantissa}.0"
    return f"{mantissa}e{exponent}" if exponent else mantissa


def vector(lanes: int, kind: str) -> str:
    """The type of so many lanes; one lane is a scalar."""
    return f"vector<{lanes}x{kind}>" if lanes > 1 else kind
