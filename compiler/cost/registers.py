"""How many registers a thread needs: an estimate, since the assembler alone knows.

Tiles that live at one time are added up. What is made and used up element by element (a cast whose
result is multiplied and goes into a product) never stands in registers as a whole: a part of it counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.traverse import (
    Body,
    Use,
    bodies,
    inner_names,
    leaving,
    operands,
    results,
    uses_of,
    walk,
)
from dslc.compiler.ir.traverse import values_in as values_of_use
from dslc.compiler.ir.values import Role, Value

FIXED = 30  # addresses, loop variables, indices
_STREAMED = 0.3  # of a tile that is used up as it is made
MOST = 255  # registers of a thread
_FETCHED = 0.75  # of a tile that is fetched from shared memory bit by bit
_STREAMS = (
    ins.Unary, ins.Binary, ins.Fma, ins.Where, ins.Cast, ins.Broadcast, ins.Full, ins.Repeat,
)  # fmt: skip
_RENAMES = (ins.View, ins.Reshape, ins.Transpose)


def estimate_registers(kernel: Kernel) -> int:
    """Registers that a thread would like to have: what is beyond 255 spills."""
    return int(FIXED + _peak(kernel.body, kernel))


def live_words(kernel: Kernel) -> dict[ins.Stmt, float]:
    """The words of tiles that a thread holds while each statement runs."""
    held: dict[ins.Stmt, float] = {}
    _peak(kernel.body, kernel, held=held)
    return held


def _peak(
    body: Body,
    kernel: Kernel,
    entering: Iterable[Value] = (),
    leaving: Iterable[Use] = (),
    held: dict[ins.Stmt, float] | None = None,
    around: float = 0.0,
) -> float:
    """The most words a thread holds at a statement of a body, nested ones included.

    Tiles that enter live until they are read last, those that leave until the end. `held` takes the
    words of each statement, with those `around` the body.
    """
    last: dict[Value, int] = {}
    for at, stmt in enumerate(body):
        for value in _read_within(stmt):
            last[value] = at
    for use in leaving:
        last.update(dict.fromkeys(values_of_use(use), len(body)))
    live = {v: _words(v, kernel) for v in entering}
    most = sum(live.values())
    for at, stmt in enumerate(body):
        # What goes into a loop and comes out of it has one set of registers.
        outside = sum(w for v, w in live.items() if not _goes_in(stmt, v))
        parts = range(len(bodies(stmt)))
        inside = max((_inside(stmt, i, kernel, held, around + outside) for i in parts), default=0.0)
        most = max(most, inside + outside)
        dying = [v for v in operands(stmt) if last.get(v, -1) == at]
        for name in results(stmt):
            if isinstance(name, Value):
                live[name] = _held(stmt, name, [live.pop(v, 0.0) for v in dying], kernel)
                dying = []
        now = sum(live.values())
        most = max(most, now)
        if held is not None:
            held[stmt] = around + now
        live = {v: words for v, words in live.items() if last.get(v, -1) > at}
    return most


def _goes_in(stmt: ins.Stmt, value: Value) -> bool:
    return isinstance(stmt, ins.For | ins.While) and any(c.init is value for c in stmt.carried)


def _inside(
    stmt: ins.Stmt,
    which: int,
    kernel: Kernel,
    held: dict[ins.Stmt, float] | None,
    around: float,
) -> float:
    entering = (n for n in inner_names(stmt) if isinstance(n, Value))
    return _peak(bodies(stmt)[which], kernel, entering, leaving(stmt)[which], held, around)


def _read_within(stmt: ins.Stmt) -> Iterator[Value]:
    yield from operands(stmt)
    for nested in bodies(stmt):
        for inner in walk(nested):
            for use in uses_of(inner):
                yield from values_of_use(use)


def _held(stmt: ins.Stmt, value: Value, freed: list[float], kernel: Kernel) -> float:
    """The words of a new tile; `freed` are those of operands that are read for the last time."""
    words = _words(value, kernel)
    if isinstance(stmt, _RENAMES) or (isinstance(stmt, ins.ConvertLayout) and _is_packed(value)):
        return max(freed, default=0.0)
    if isinstance(stmt, ins.Dot):
        return words
    if isinstance(stmt, ins.Load) and stmt.region.memory.role is Role.BUFFER:
        return words * _FETCHED
    if isinstance(stmt, _STREAMS):
        return max(words * _STREAMED, min(words, max(freed, default=0.0)))
    return words


def _is_packed(value: Value) -> bool:
    return value.type.dtype.is_low_bit or value.type.dtype.name == "u8"


def _words(value: Value, kernel: Kernel) -> float:
    layout = value.type.layout
    elements = layout.locals if layout else -(-prod(value.type.shape) // (kernel.threads or 128))
    return max(1.0, elements * value.type.dtype.bits / 32)
