"""Which tiles live in one array of registers, so that nothing is copied where they meet.

    if (k < K) {                          if (k < K) {
      unsigned loaded[16] = {};             load(&x[0], ...);
      load(&loaded[0], ...);       ->     }
      x[i] = loaded[i];  (a loop)
    }

What a branch hands on is written where the join reads it; what a loop carries stays where it began; and
an element that replaces the one that it was computed from takes its place. These are the copies that
leaving SSA form puts in, coalesced where the two tiles are never needed at one time (Boissinot et al.,
"Revisiting Out-of-SSA Translation for Correctness, Code Quality, and Efficiency", CGO 2009, 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dslc.compiler.ir import Kernel, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import (
    Body,
    Name,
    Use,
    bodies,
    operands,
    results,
    users,
    values_in,
    walk,
)

# What reads the bits of its operand where they lie, maybe later.
READ_BITS = (
    ins.View,
    ins.ConvertLayout,
    ins.Cast,
    ins.Broadcast,
    ins.Reshape,
    ins.Transpose,
    ins.Extract,
    ins.Repeat,
)
_ELEMENT_BY_ELEMENT = (ins.Unary, ins.Binary, ins.Fma, ins.Where)


@dataclass(frozen=True, slots=True)
class SharedArrays:
    """For each tile that has no array of its own the tile whose array it takes.

    `names` has better names for some arrays: what a loop carries says more than what it begins with.
    """

    holders: dict[Value, Value] = field(default_factory=dict)
    names: dict[Value, str] = field(default_factory=dict)

    def root(self, value: Value) -> Value:
        """The tile whose array is declared."""
        while value in self.holders:
            value = self.holders[value]
        return value


def shared_arrays(kernel: Kernel) -> SharedArrays:
    """The tiles of a kernel that may share; not what products write, which units may do late."""
    arrays = SharedArrays()
    _visit(kernel.body, users(kernel.body), arrays)
    return arrays


def _visit(body: Body, readers: Mapping[Name, list[ins.Stmt]], found: SharedArrays) -> None:
    for stmt in body:
        for nested in bodies(stmt):
            _visit(nested, readers, found)
        match stmt:
            case ins.If():
                _join(stmt.then, [(j.result, j.then) for j in stmt.joined], found)
                _join(stmt.otherwise, [(j.result, j.otherwise) for j in stmt.joined], found)
            case ins.For():
                _carry(stmt, body, readers, found)


def _join(body: Body, handed: Sequence[tuple[Name, Use]], found: SharedArrays) -> None:
    """What a branch makes and hands on once is made in the array of the result."""
    defined = {r for s in body if not isinstance(s, ins.For | ins.Dot) for r in results(s)}
    begun = {  # a loop's result is where it began
        c.result: c.init
        for s in body
        if isinstance(s, ins.For)
        for c in s.carried
        if isinstance(c.inner, Value) and found.holders.get(c.inner) is c.init
    }
    given = [x for _, x in handed]
    for result, use in handed:
        if not isinstance(result, Value) or given.count(use) > 1:
            continue
        tile = begun.get(use, use) if isinstance(use, Value) else use
        if isinstance(tile, Value) and tile in defined and _alike(result, tile):
            found.holders[tile] = result


def _carry(
    loop: ins.For,
    around: Body,
    readers: Mapping[Name, list[ins.Stmt]],
    found: SharedArrays,
) -> None:
    """What a loop carries stays in the array that it began in, if nothing else needs that."""
    here = {r for s in around if not isinstance(s, ins.For | ins.Dot) for r in results(s)}
    yielded = [v for c in loop.carried for v in values_in(c.yielded)]
    for c in loop.carried:
        inner, init, new = c.inner, c.init, c.yielded
        if not (isinstance(inner, Value) and isinstance(init, Value) and isinstance(new, Value)):
            continue
        # The loop alone reads what it begins with, and runs once where that was made.
        if init in here and len(readers.get(init, ())) == 1 and _alike(inner, init):
            found.holders[inner] = init
            if inner.name:
                found.names[init] = inner.name
        is_alone = inner not in yielded and yielded.count(new) == 1
        if is_alone and _alike(inner, new) and _replaces(inner, new, loop.body):
            found.holders[new] = inner


def _replaces(old: Value, new: Value, body: Body) -> bool:
    """Whether nothing in the body reads `old` once `new` is written."""
    at = next((i for i, s in enumerate(body) if new in results(s)), None)
    if at is None or not isinstance(body[at], _ELEMENT_BY_ELEMENT):
        return False
    reading = [(i, s) for i, top in enumerate(body) for s in walk((top,)) if old in operands(s)]
    return all(i <= at and not isinstance(s, (*READ_BITS, ins.Dot)) for i, s in reading)


def _alike(a: Value, b: Value) -> bool:
    """Whether two tiles are arrays of one kind."""
    return a.type.dtype == b.type.dtype and a.type.layout == b.type.layout
