"""Where NaNs and infinities come from: the instruction that made the first of those that are stored.

Each instruction with a result of floats is followed by a look at it. An element that is not a number
although none of what it was computed from is one has its origin there; others take it over. What never
reaches memory, as the lanes past a tensor's end, is no finding.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, Label, Loc
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.interpreter.scope import TURN, Frame, Scope, Site, Step, Trap
from dslc.compiler.interpreter.windows import compile_access
from dslc.compiler.ir import Memory, Value
from dslc.compiler.ir import instructions as ins

_ELEMENTWISE = (ins.Unary, ins.Binary, ins.Fma, ins.Where, ins.Cast)
_STORES = (ins.Store, ins.Scatter, ins.AtomicRmw)


@dataclass(frozen=True, slots=True)
class Origin:
    """What made an element: the place, and the operation with its operands."""

    loc: Loc | None
    text: str


@dataclass(slots=True)
class Trace:
    """What a turn knows of its bad elements: of tiles by their arrays, of buffers by their memory.

    The numbers in an array of `tiles` are those of origins, 0 where an element is good.
    """

    origins: list[Origin | None]
    tiles: dict[int, tuple[Array, Array]]
    buffers: dict[Memory, int]


def bad(values: Array, trap: Trap) -> Array:
    """Which elements are not numbers."""
    if trap == "nan":
        return np.asarray(np.isnan(np.asarray(values, np.float64)))
    return ~np.isfinite(np.asarray(values, np.float64))


def trapped(scope: Scope, i: ins.Instruction, step: Step, trap: Trap) -> Step:
    """The step of an instruction with the look at what it made or stores."""
    slot = scope.trace_slot()
    if isinstance(i, _STORES):
        return _stored(scope, i, step, slot, trap)
    out = getattr(i, "out", None)
    if not isinstance(out, Value) or not out.type.dtype.is_float:
        return step
    operands = [v for v in _operands(i) if v.type.dtype.is_float]
    places = [scope.slot(v) for v in operands]
    target = scope.slot(out)
    reads = i.region.memory if isinstance(i, ins.Load | ins.Gather) else None

    def traced(f: Frame) -> None:
        inputs = [f[p] for p in places]
        step(f)
        made = np.asarray(f[target])
        wrong = bad(made, trap)
        if not wrong.any():
            return
        trace: Trace = f[slot] or _start(f, slot)
        known = [_numbers(trace, x, trap) for x in inputs]
        if reads is not None:
            number = trace.buffers.get(reads) or _note(trace, i.loc, f"it stood in {reads.name}")
            numbers = np.where(wrong, number, 0)
        elif isinstance(i, _ELEMENTWISE):
            numbers = np.zeros(made.shape, np.int64)
            for one in known:
                numbers = np.maximum(numbers, np.broadcast_to(one, made.shape))
            fresh = wrong & (numbers == 0)
            if fresh.any():
                text = _text(i, inputs, fresh)
                numbers = np.where(fresh, _note(trace, i.loc, text), numbers)
            numbers = np.where(wrong, numbers, 0)
        else:
            before = max((int(k.max(initial=0)) for k in known), default=0)
            number = before or _note(trace, i.loc, f"{_name(i)} made it of numbers")
            numbers = np.where(wrong, number, 0)
        trace.tiles[id(f[target])] = (f[target], numbers)

    return traced


def _stored(scope: Scope, i: Any, step: Step, slot: int, trap: Trap) -> Step:
    """Before a tile goes into memory: a finding where a bad element would stay after the turn."""
    memory: Memory = i.region.memory
    if not memory.dtype.is_float or not i.x.type.dtype.is_float:
        return step
    windows = compile_access(scope, i, Site(0, "the write", i.loc))
    x, place = scope.slot(i.x), scope.slot(memory)
    is_private = memory in scope.private

    def checked(f: Frame) -> None:
        tile = np.asarray(f[x])
        wrong = bad(tile, trap)
        if wrong.any():
            window = windows(f, f[place].shape)
            part = window.part(wrong)
            if not window.empty and part.any():
                trace: Trace = f[slot] or _start(f, slot)
                numbers = window.part(_numbers(trace, f[x], trap))
                number = int(np.asarray(numbers)[part].max(initial=0))
                if is_private:
                    trace.buffers[memory] = number
                else:
                    at = ", ".join(map(str, window.element(part)))
                    value = window.part(tile)[part].reshape(-1)[0]
                    raise _finding(f"{memory.name}[{at}]", value, trace.origins[number], i.loc, f)
        step(f)

    return checked


def _finding(
    element: str, value: Any, origin: Origin | None, loc: Loc | None, f: Frame
) -> DiagnosticError:
    what = "NaN" if np.isnan(value) else "infinite"
    message = f"{element} becomes {what} in {f[TURN].title}"
    if origin is None or origin.loc is None:
        return DiagnosticError([Diagnostic("DSL0614", message, loc)])
    labels = (Label(loc, "it is stored here"),) if loc is not None else ()
    text = f"{message}: {origin.text}"
    return DiagnosticError([Diagnostic("DSL0614", text, origin.loc, None, labels)])


def _start(f: Frame, slot: int) -> Trace:
    f[slot] = Trace([None], {}, {})
    trace: Trace = f[slot]
    return trace


def _note(trace: Trace, loc: Loc | None, text: str) -> int:
    trace.origins.append(Origin(loc, text))
    return len(trace.origins) - 1


def _numbers(trace: Trace, tile: Any, trap: Trap) -> Array:
    """The origins of a tile's elements."""
    known = trace.tiles.get(id(tile))
    if known is not None and known[0] is tile:
        return known[1]
    return np.zeros(np.shape(tile), np.int64)


def _operands(i: ins.Instruction) -> list[Value]:
    """The tiles that an instruction reads."""
    tiles: list[Value] = []
    for field in dataclasses.fields(i):
        value = getattr(i, field.name)
        if field.name != "out":
            parts = value if isinstance(value, tuple) else (value,)
            tiles += [v for v in parts if isinstance(v, Value)]
    return tiles


def _name(i: ins.Instruction) -> str:
    op = getattr(i, "op", None)
    return str(op) if op else type(i).__name__.lower()


def _text(i: ins.Instruction, inputs: list[Any], fresh: Array) -> str:
    """An operation with the operands of its first bad element: `log(-1.0)`."""
    first = np.unravel_index(int(np.argmax(fresh)), fresh.shape) if fresh.ndim else ()
    at = tuple(map(int, first))
    values = [f"{float(np.broadcast_to(x, fresh.shape)[at]):.6g}" for x in inputs]
    index = f", element [{', '.join(map(str, at))}] of the tile" if at else ""
    return f"{_name(i)}({', '.join(values)}){index}"
