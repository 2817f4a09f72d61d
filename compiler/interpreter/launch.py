"""Running one kernel: its grid over tensors and scalars that are already checked."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import storage_dtype
from dslc.compiler.interpreter import poison
from dslc.compiler.interpreter.arena import Arenas, Plan
from dslc.compiler.interpreter.clocks import Clock
from dslc.compiler.interpreter.control import compile_block, compile_flow, make_range, statements
from dslc.compiler.interpreter.observers import element_text
from dslc.compiler.interpreter.options import Options
from dslc.compiler.interpreter.scalars import compile_scalars
from dslc.compiler.interpreter.schedule import Key, Wakeups, run_flows
from dslc.compiler.interpreter.scope import TURN, Flow, Frame, Scope, Step
from dslc.compiler.interpreter.tensors import Tensor
from dslc.compiler.interpreter.turn import Turn, turn_title
from dslc.compiler.interpreter.uses import uses_of
from dslc.compiler.interpreter.watch import watch_global
from dslc.compiler.ir import GridAxis, Kernel, Memory
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Expr, Var


@dataclass(frozen=True, slots=True)
class Executable:
    """A kernel turned into closures: `flow` where turns may wait for each other, else `step`.

    It serves any number of launches.
    """

    kernel: Kernel
    scope: Scope
    step: Step | None
    flow: Flow | None
    buffers: tuple[Memory, ...]


def prepare(kernel: Kernel, check: bool = True) -> Executable:
    """Turn a kernel's IR into closures, with or without checks."""
    body = tuple(statements(kernel.body))
    poisoned = poison.reached(kernel.body) if check else frozenset()
    scope = Scope(check, uses_of(body), poisoned)
    buffers = tuple(dict.fromkeys(s.memory for s in body if isinstance(s, ins.Alloc)))
    if scope.uses.semaphores:
        return Executable(kernel, scope, None, compile_flow(scope, kernel.body), buffers)
    return Executable(kernel, scope, compile_block(scope, kernel.body), None, buffers)


def launch(
    exe: Executable, tensors: Mapping[Memory, Tensor], scalars: Mapping[Var, Any], options: Options
) -> None:
    """Run every turn. `tensors` has the kernel's parameters, `scalars` its dims and scalars."""
    kernel, scope = exe.kernel, exe.scope
    base: Frame = []
    for var, value in scalars.items():
        _set(base, scope.slot(var), value)
    workspaces = {m: _workspace(scope, base, m) for m in kernel.workspaces}
    everything = {**tensors, **workspaces}
    for memory, tensor in everything.items():
        _set(base, scope.slot(memory), tensor)
    axes = [_axis(scope, base, a, kernel) for a in kernel.grid]
    plan = Plan.of(((m, _evaluate(scope, base, m.shape)) for m in exe.buffers), scope.check)
    grid = _Grid(scope, kernel, axes)
    before = {id(t): t.observers for t in everything.values()}
    changed: list[Key] = []
    try:
        _watch(exe, everything, grid, changed)
        with np.errstate(all="ignore"):
            frames = grid.frames(base, plan, options)
            if exe.step is not None:
                _run_straight(exe.step, frames, grid.total, options)
            elif exe.flow is not None:
                run_flows(exe.flow, frames, grid.total, changed, options)
    finally:
        for tensor in everything.values():
            tensor.observers = before[id(tensor)]
            tensor.published.clear()
    if scope.check:
        _check_counters(exe, workspaces)


@dataclass(frozen=True, slots=True)
class _Grid:
    """The turns of a launch, numbered in row-major order."""

    scope: Scope
    kernel: Kernel
    axes: Sequence[range]

    @property
    def total(self) -> int:
        return math.prod(len(a) for a in self.axes)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(a.var.name for a in self.kernel.grid)

    def indices(self, number: int) -> tuple[int, ...]:
        found: list[int] = []
        for axis in reversed(self.axes):
            number, at = divmod(number, len(axis))
            found.append(axis[at])
        return tuple(reversed(found))

    def title(self, number: int) -> str:
        return turn_title(self.names, self.indices(number))

    def frames(self, base: Frame, plan: Plan, options: Options) -> Iterator[Frame]:
        """A frame for each turn, in the order in which they are to start."""
        slots = [self.scope.slot(a.var) for a in self.kernel.grid]
        _set(base, self.scope.size, None)
        order: Sequence[int] = range(self.total)
        if options.shuffle is not None:
            order = list(order)
            random.Random(options.shuffle).shuffle(order)
        stdout, names = options.stdout or sys.stdout, self.names
        for number in order:
            frame, indices = base.copy(), self.indices(number)
            for slot, value in zip(slots, indices, strict=True):
                frame[slot] = value
            frame[TURN] = Turn(number, names, indices, stdout, Arenas(plan), Clock(number))
            yield frame


def _run_straight(step: Step, frames: Iterator[Frame], total: int, options: Options) -> None:
    for done, frame in enumerate(frames, 1):
        step(frame)
        frame[TURN].end()
        if options.progress is not None:
            options.progress(done, total)


def _watch(
    exe: Executable, tensors: Mapping[Memory, Tensor], grid: _Grid, changed: list[Key]
) -> None:
    """Attach the launch's checks; tiles may share the arrays that nothing writes."""
    uses, scope = exe.scope.uses, exe.scope
    title = grid.title if grid.total > 1 else None
    written = [t for m, t in tensors.items() if m in uses.written]
    for memory, tensor in tensors.items():
        shared = (t is tensor or np.may_share_memory(t.codes, tensor.codes) for t in written)
        tensor.frozen = not any(shared)
        if scope.check:
            more = watch_global(uses, memory, tensor.shape, scope.sites, title)
            tensor.observers = (*more, *tensor.observers)
        if memory in uses.semaphores:
            tensor.observers += (Wakeups(memory, changed),)


def _check_counters(exe: Executable, workspaces: Mapping[Memory, Tensor]) -> None:
    """DSL0610 for a counter that the next launch would not find at zero."""
    for memory, tensor in workspaces.items():
        left = np.asarray(tensor.codes != 0)
        if memory in exe.scope.uses.counted and memory.dtype.is_integer and left.any():
            at = np.unravel_index(int(np.argmax(left)), left.shape)
            raise error(
                "DSL0610",
                f"element {element_text(tuple(map(int, at)))} of the counter {memory.name} is "
                f"{tensor.codes[at]} after kernel {exe.kernel.name}",
                memory.loc or exe.kernel.loc,
                hint="the next launch needs it to be 0: the last turn that counts must reset it",
            )


def _workspace(scope: Scope, base: Frame, memory: Memory) -> Tensor:
    shape = _evaluate(scope, base, memory.shape)
    return Tensor(memory, np.zeros(shape, storage_dtype(memory.dtype)))


def _evaluate(scope: Scope, base: Frame, exprs: Sequence[Expr]) -> tuple[int, ...]:
    values = compile_scalars(scope, exprs)
    _set(base, scope.size, None)
    return tuple(int(v) for v in values(base))


def _axis(scope: Scope, base: Frame, axis: GridAxis, kernel: Kernel) -> range:
    start, stop, step = _evaluate(scope, base, (axis.start, axis.stop, axis.step))
    return make_range(start, stop, step, kernel.loc)


def _set(frame: Frame, slot: int, value: Any) -> None:
    frame.extend([None] * (slot + 1 - len(frame)))
    frame[slot] = value
