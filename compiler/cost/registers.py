"""How many registers a thread needs: an estimate, since the assembler alone knows.

Tiles that live at one time are added up. What is made and used up element by element (a cast whose
result is multiplied and goes into a product) never stands in registers as a whole: a part of it counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.traverse import Body, Name, bodies, handed, operands, results, uses_of, walk
from dslc.compiler.ir.traverse import values_in as values_of_use
from dslc.compiler.ir.values import Role, Value

_FIXED = 30  # addresses, loop variables, indices
_STREAMED = 0.3  # of a tile that is used up as it is made
MOST = 255  # registers of a thread
_STREAMS = (
    ins.Unary,
    ins.Binary,
    ins.Fma,
    ins.Where,
    ins.Cast,
    ins.Broadcast,
    ins.Full,
    ins.Repeat,
)
_RENAMES = (ins.View, ins.Reshape, ins.Transpose)


def estimate_registers(kernel: Kernel) -> int:
    """Registers that a thread would like to have: what is beyond 255 spills."""
    return int(_FIXED + _peak(kernel.body, kernel))


def _peak(body: Body, kernel: Kernel) -> float:
    """The most words a thread holds at a statement of a body, nested ones included."""
    last: dict[Value, int] = {}
    for at, stmt in enumerate(body):
        for value in _read_within(stmt):
            last[value] = at
    live: dict[Value, float] = {}
    most = 0.0
    for at, stmt in enumerate(body):
        inside = max((_inside(stmt, b, kernel) for b in bodies(stmt)), default=0.0)
        handed_on = sum(_words(_result(h.result), kernel) for h in handed(stmt))
        for name in results(stmt):
            if isinstance(name, Value):
                live[name] = _held(stmt, name, kernel)
        # What goes into a loop is what comes out of it: one set of registers.
        most = max(most, sum(live.values()) + max(0.0, inside - handed_on))
        live = {v: words for v, words in live.items() if last.get(v, -1) > at}
    return most


def _inside(stmt: ins.Stmt, body: Body, kernel: Kernel) -> float:
    carried = 0.0
    if isinstance(stmt, ins.For | ins.While):
        carried = sum(_words(c.inner, kernel) for c in stmt.carried)
    return carried + _peak(body, kernel)


def _read_within(stmt: ins.Stmt) -> Iterator[Value]:
    yield from operands(stmt)
    for nested in bodies(stmt):
        for inner in walk(nested):
            for use in uses_of(inner):
                yield from values_of_use(use)


def _held(stmt: ins.Stmt, value: Value, kernel: Kernel) -> float:
    words = _words(value, kernel)
    if isinstance(stmt, _RENAMES) or (isinstance(stmt, ins.ConvertLayout) and _is_packed(value)):
        return 0.0
    if isinstance(stmt, ins.Dot) and stmt.acc is not None:
        return 0.0  # it stands where the accumulator stood
    if isinstance(stmt, ins.Load) and stmt.region.memory.role is Role.BUFFER:
        return words * 0.75
    return words * _STREAMED if isinstance(stmt, _STREAMS) else words


def _is_packed(value: Value) -> bool:
    return value.type.dtype.is_low_bit or value.type.dtype.name == "u8"


def _result(name: Name) -> Value | None:
    return name if isinstance(name, Value) else None


def _words(value: Name | None, kernel: Kernel) -> float:
    if not isinstance(value, Value):
        return 0.0
    layout = value.type.layout
    elements = layout.locals if layout else -(-prod(value.type.shape) // (kernel.threads or 128))
    return max(1.0, elements * value.type.dtype.bits / 32)
