"""Which carried values of a loop are accumulators: `acc = acc + f(k)`, or with min or max.

An accumulator is handed through additions, products that accumulate, nested loops and branches, and
nothing else of the loop reads it on the way: then any grouping of the turns gives the same sum.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from dslc.compiler.dtypes import DType
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Binary, Const, Read, Select, Var
from dslc.compiler.ir.instructions import Carried, Stmt
from dslc.compiler.ir.traverse import (
    Name,
    Use,
    definitions,
    handed,
    use_counts,
)
from dslc.compiler.ir.values import Value

ADD = "add"
_EXTREMES = ("min", "max")


def accumulators(loop: ins.For) -> list[str | None]:
    """Per carried value the operation that accumulates it, None where it is no accumulator."""
    known = definitions((loop,))
    counts = use_counts((loop,))
    return [_operation(c, known, counts) for c in loop.carried]


def _operation(c: Carried, known: Mapping[Name, Stmt], counts: Counter[Name]) -> str | None:
    chain = _Chain(known)
    if not chain.leads(c.yielded, c.inner) or len(chain.operations) > 1:
        return None
    # Every mention of a link of the chain is one that the chain itself makes.
    if any(counts[name] != mentions for name, mentions in chain.mentions.items()):
        return None
    return next(iter(chain.operations), ADD)


class _Chain:
    """Follows a value back to where the iteration began, by operations of one kind."""

    def __init__(self, known: Mapping[Name, Stmt]) -> None:
        self.known = known
        self.operations: set[str] = set()
        self.mentions: Counter[Name] = Counter()
        self.astray: set[tuple[Name, Name]] = set()  # names that do not lead to that start

    def leads(self, use: Use, start: Name) -> bool:
        """Whether the use is the start with something accumulated onto it."""
        if isinstance(use, Value | Var):
            return self._name(use, start)
        match use:
            case Binary(op, x, y):
                return self._either(op, x, y, start)
            case Select(_, x, y):
                return self.leads(x, start) and self.leads(y, start)
            case Read(value):
                return self._name(value, start)
        return False

    def _name(self, name: Name, start: Name) -> bool:
        if (name, start) in self.astray:
            return False
        self.mentions[name] += 1
        if name == start:
            return True
        if self.mentions[name] > 1:
            return True  # the other arm of a branch has come this way
        if self._made(name, start):
            return True
        self.astray.add((name, start))
        return False

    def _made(self, name: Name, start: Name) -> bool:
        """Whether what makes the name accumulates onto the start."""
        match self.known.get(name):
            case ins.Binary(op=op, x=x, y=y):
                return self._either(op, x, y, start)
            case ins.Dot(acc=acc) if acc is not None:
                return self._accumulates(ADD) and self.leads(acc, start)
            case ins.Fma(z=z):
                return self._accumulates(ADD) and self.leads(z, start)
            case ins.Where(x=x, y=y):
                return self.leads(x, start) and self.leads(y, start)
            case ins.Let(value=value):
                return self.leads(value, start)
            case ins.If() as branch:
                (j,) = (j for j in branch.joined if j.result == name)
                return self.leads(j.then, start) and self.leads(j.otherwise, start)
            case ins.For() | ins.While() as loop:
                return self._loop(loop, name, start)
        return False

    def _loop(self, loop: ins.For | ins.While, name: Name, start: Name) -> bool:
        for c in handed(loop):
            if isinstance(c, Carried) and c.result == name:
                return self.leads(c.yielded, c.inner) and self.leads(c.init, start)
        return False  # a loop's variable or what another loop carries

    def _either(self, op: str, x: Use, y: Use, start: Name) -> bool:
        """One side leads on; what was found on a way that led nowhere is forgotten."""
        if op not in ("sub", ADD, *_EXTREMES):
            return False
        for side in (x,) if op == "sub" else (x, y):
            before = set(self.operations), Counter(self.mentions)
            if self._accumulates(ADD if op == "sub" else op) and self.leads(side, start):
                return True
            self.operations, self.mentions = before
        return False

    def _accumulates(self, op: str) -> bool:
        self.operations.add(op)
        return True


def neutral_of(op: str, dtype: DType) -> Const:
    """What changes nothing that it is accumulated with."""
    if op == "add":
        return Const(0.0 if dtype.is_float else 0, dtype)
    if dtype.is_float:
        return Const(math.inf if op == "min" else -math.inf, dtype)
    low, high = dtype.integer_range
    return Const(high if op == "min" else low, dtype)
