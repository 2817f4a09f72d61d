"""Running one kernel: its grid over tensors and scalars that are already checked."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dslc.compiler.dtypes import storage_dtype
from dslc.compiler.interpreter import poison
from dslc.compiler.interpreter.arena import Arenas, arena_sizes
from dslc.compiler.interpreter.clocks import Clock
from dslc.compiler.interpreter.control import (
    compile_block,
    compile_flow,
    make_range,
    statements,
    waits,
)
from dslc.compiler.interpreter.options import Options
from dslc.compiler.interpreter.scalars import compile_scalars
from dslc.compiler.interpreter.schedule import run_flows
from dslc.compiler.interpreter.scope import TURN, Flow, Frame, Name, Scope, Step
from dslc.compiler.interpreter.tensors import Tensor
from dslc.compiler.interpreter.turn import Turn
from dslc.compiler.ir import Kernel, Memory
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Expr, Var


@dataclass(frozen=True, slots=True)
class Executable:
    """A kernel turned into closures; it serves any number of launches."""

    kernel: Kernel
    scope: Scope
    step: Step | None
    flow: Flow | None
    buffers: tuple[Memory, ...]
    written: frozenset[Memory]


def prepare(kernel: Kernel, check: bool = True) -> Executable:
    """Turn a kernel's IR into closures, with or without checks."""
    poisoned = poison.reached(kernel.body) if check else frozenset()
    scope = Scope(check, poisoned)
    body = tuple(statements(kernel.body))
    buffers = tuple(s.memory for s in body if isinstance(s, ins.Alloc))
    written = frozenset(m for s in body for m in _written(s))
    if waits(kernel.body):
        return Executable(kernel, scope, None, compile_flow(scope, kernel.body), buffers, written)
    return Executable(kernel, scope, compile_block(scope, kernel.body), None, buffers, written)


def launch(
    exe: Executable, tensors: Mapping[Memory, Tensor], scalars: Mapping[Var, Any], options: Options
) -> None:
    """Run every turn. `tensors` has the kernel's parameters, `scalars` its dims and scalars."""
    kernel, scope = exe.kernel, exe.scope
    workspaces = {m: _workspace(scope, m, scalars) for m in kernel.workspaces}
    _freeze({**tensors, **workspaces}, exe.written)
    base: Frame = []
    given: list[tuple[Name, Any]] = [*scalars.items(), *tensors.items(), *workspaces.items()]
    for name, value in given:
        _set(base, scope.slot(name), value)
    axes = [_axis(scope, base, (a.start, a.stop, a.step), kernel) for a in kernel.grid]
    vars_ = [scope.slot(a.var) for a in kernel.grid]
    _set(base, scope.size, None)
    sizes = arena_sizes((m, _evaluate(scope, base, m.shape)) for m in exe.buffers)
    names = tuple(a.var.name for a in kernel.grid)
    total = math.prod(len(a) for a in axes)

    def frames() -> Iterator[Frame]:
        for number in _order(total, options.shuffle):
            frame = base.copy()
            indices = _indices(number, axes)
            for slot, value in zip(vars_, indices, strict=True):
                frame[slot] = value
            stdout = options.stdout or sys.stdout
            frame[TURN] = Turn(number, names, indices, stdout, Arenas(sizes), Clock(number))
            yield frame

    with np.errstate(all="ignore"):
        if exe.step is not None:
            _run_straight(exe.step, frames(), total, options)
        else:
            assert exe.flow is not None
            run_flows(exe.flow, frames(), total, options)


def _run_straight(step: Step, frames: Iterator[Frame], total: int, options: Options) -> None:
    for done, frame in enumerate(frames, 1):
        step(frame)
        frame[TURN].end()
        if options.progress is not None:
            options.progress(done, total)


def _order(total: int, seed: int | None) -> Sequence[int]:
    if seed is None:
        return range(total)
    order = list(range(total))
    random.Random(seed).shuffle(order)
    return order


def _indices(number: int, axes: Sequence[range]) -> tuple[int, ...]:
    found: list[int] = []
    for axis in reversed(axes):
        number, at = divmod(number, len(axis))
        found.append(axis[at])
    return tuple(reversed(found))


def _evaluate(scope: Scope, base: Frame, exprs: Sequence[Expr]) -> tuple[int, ...]:
    values = compile_scalars(scope, exprs)
    _set(base, scope.size, None)
    return tuple(int(v) for v in values(base))


def _axis(scope: Scope, base: Frame, bounds: Sequence[Expr], kernel: Kernel) -> range:
    start, stop, step = _evaluate(scope, base, bounds)
    return make_range(start, stop, step, kernel.loc)


def _set(frame: Frame, slot: int, value: Any) -> None:
    frame.extend([None] * (slot + 1 - len(frame)))
    frame[slot] = value


def _workspace(scope: Scope, memory: Memory, scalars: Mapping[Var, Any]) -> Tensor:
    base: Frame = []
    for var, value in scalars.items():
        _set(base, scope.slot(var), value)
    shape = _evaluate(scope, base, memory.shape)
    return Tensor(memory, np.zeros(shape, storage_dtype(memory.dtype)))


def _freeze(tensors: Mapping[Memory, Tensor], written: frozenset[Memory]) -> None:
    """Tiles may share the arrays that nothing writes in this launch."""
    changed = [t for m, t in tensors.items() if m in written]
    for tensor in tensors.values():
        shared = (t is tensor or np.may_share_memory(t.codes, tensor.codes) for t in changed)
        tensor.frozen = not any(shared)


def _written(s: ins.Stmt) -> tuple[Memory, ...]:
    match s:
        case ins.Store() | ins.AtomicAdd() | ins.Scatter() | ins.SemaphoreRelease():
            return (s.region.memory,)
        case ins.CopyAsync(dst=dst):
            return (dst.memory,)
        case _:
            return ()
