"""Running one kernel: its grid over tensors and scalars that are already checked."""

from __future__ import annotations

import functools
import math
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import storage_dtype
from dslc.compiler.interpreter.arena import Arenas, Plan
from dslc.compiler.interpreter.clusters import run_clusters
from dslc.compiler.interpreter.hazards import poison
from dslc.compiler.interpreter.hazards.clocks import Clock
from dslc.compiler.interpreter.hazards.observers import element_text
from dslc.compiler.interpreter.hazards.watch import freeze, watch_tensors
from dslc.compiler.interpreter.options import Options
from dslc.compiler.interpreter.scalars import compile_scalars
from dslc.compiler.interpreter.schedule import Key, Wakeups, run_flows, run_steps
from dslc.compiler.interpreter.scope import TURN, Flow, Frame, Name, Scope, Step, Trap
from dslc.compiler.interpreter.steps.control import (
    compile_block,
    compile_flow,
    make_range,
    statements,
)
from dslc.compiler.interpreter.tensors import Tensor
from dslc.compiler.interpreter.turn import Turn, turn_title
from dslc.compiler.interpreter.uses import uses_of
from dslc.compiler.ir import Kernel, Memory
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Var

Numbers: TypeAlias = Callable[[Frame], tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Executable:
    """A kernel turned into closures, good for any number of launches at once.

    It has a flow where turns may wait for each other, else a step. `shapes` are those of workspaces
    and buffers, `bounds` the start, stop and step of each axis of the grid.
    """

    kernel: Kernel
    scope: Scope
    step: Step | None
    flow: Flow | None
    shapes: Mapping[Memory, Numbers]
    bounds: tuple[Numbers, ...]


@functools.lru_cache(maxsize=64)
def prepare(
    kernel: Kernel, check: bool = True, trap: Trap | None = None, records: bool = False
) -> Executable:
    """Turn a kernel's IR into closures, with or without checks; those of recent kernels are kept."""
    body = tuple(statements(kernel.body))
    buffers = dict.fromkeys(s.memory for s in body if isinstance(s, ins.Alloc))
    poisoned = poison.reached(kernel.body) if check else frozenset()
    scope = Scope(
        check,
        uses_of(body),
        poisoned,
        clusters=kernel.cluster is not None,
        trap=trap,
        records=records,
        private=frozenset(buffers),
        threads=kernel.threads or 1,
        warp=max((s.warp for s in body if isinstance(s, ins.MemoryBarrier)), default=0),
    )
    names: tuple[Name, ...] = (*kernel.params, *kernel.dims, *kernel.workspaces)
    for name in names:
        scope.slot(name)
    shapes = {m: compile_scalars(scope, m.shape) for m in (*kernel.workspaces, *buffers)}
    bounds = tuple(compile_scalars(scope, (a.start, a.stop, a.step)) for a in kernel.grid)
    for axis in kernel.grid:
        scope.slot(axis.var)
    if scope.uses.semaphores or scope.clusters:
        return Executable(kernel, scope, None, compile_flow(scope, kernel.body), shapes, bounds)
    return Executable(kernel, scope, compile_block(scope, kernel.body), None, shapes, bounds)


def launch(
    exe: Executable, tensors: Mapping[Memory, Tensor], scalars: Mapping[Var, Any], options: Options
) -> None:
    """Run every turn. `tensors` has the kernel's parameters, `scalars` its dims and scalars."""
    kernel, scope = exe.kernel, exe.scope
    base: Frame = [None] * scope.size
    for var, value in scalars.items():
        base[scope.slots[var]] = value
    workspaces = {m: _zeros(m, exe.shapes[m](base)) for m in kernel.workspaces}
    everything = {**tensors, **workspaces}
    for memory, tensor in everything.items():
        base[scope.slots[memory]] = tensor
    axes = [_axis(bounds(base), kernel) for bounds in exe.bounds]
    grid = Grid(exe, axes)
    before = {id(t): (t, t.observers) for t in everything.values()}
    changed: list[Key] = []
    freeze(scope, everything)
    if scope.check:
        watch_tensors(scope, everything, grid.total, grid.title)
    for memory in scope.uses.semaphores & everything.keys():
        everything[memory].observers += (Wakeups(memory, changed),)
    try:
        with np.errstate(all="ignore"):
            frames = grid.frames(base, options)
            if exe.step is not None:
                run_steps(exe.step, frames, grid.total, options)
            elif exe.flow is not None and kernel.cluster is not None:
                run_clusters(exe.flow, frames, grid.total, kernel.cluster, options)
            elif exe.flow is not None:
                run_flows(exe.flow, frames, grid.total, changed, options)
    finally:
        for tensor, observers in before.values():
            tensor.observers = observers
            tensor.published.clear()
    if scope.check:
        _check_counters(exe, workspaces)


@dataclass(frozen=True, slots=True)
class Grid:
    """The turns of a launch, numbered in row-major order."""

    exe: Executable
    axes: Sequence[range]

    @property
    def total(self) -> int:
        """The number of turns."""
        return math.prod(len(a) for a in self.axes)

    def indices(self, number: int) -> tuple[int, ...]:
        """The values of the grid's variables in a turn."""
        digits: list[int] = []
        for axis in reversed(self.axes):
            number, at = divmod(number, len(axis))
            digits.append(axis[at])
        return tuple(reversed(digits))

    def title(self, number: int) -> str:
        """How diagnostics name a turn."""
        return turn_title(self._names(), self.indices(number))

    def frames(self, base: Frame, options: Options) -> Iterator[Frame]:
        """A frame for each turn, in the order in which they are to start."""
        exe, names = self.exe, self._names()
        slots = [exe.scope.slots[a.var] for a in exe.kernel.grid]
        buffers = (m for m in exe.shapes if m not in exe.kernel.workspaces)
        plan = Plan.of(((m, exe.shapes[m](base)) for m in buffers), exe.scope.check)
        size = exe.kernel.cluster or 1
        if self.total % size:
            text = (
                f"{exe.kernel.name} has {self.total} turns, which clusters of {size} do not divide"
            )
            raise error("DSL0612", text, exe.kernel.loc)
        firsts: Sequence[int] = range(0, self.total, size)
        if options.shuffle is not None:
            firsts = list(firsts)
            random.Random(options.shuffle).shuffle(firsts)
        stdout = options.stdout or sys.stdout
        for number in (first + rank for first in firsts for rank in range(size)):
            frame, indices = base.copy(), self.indices(number)
            for slot, value in zip(slots, indices, strict=True):
                frame[slot] = value
            turn = Turn(number, names, indices, stdout, Arenas(plan), Clock(number))
            turn.recording = options.recording
            frame[TURN] = turn
            yield frame

    def _names(self) -> tuple[str, ...]:
        return tuple(a.var.name for a in self.exe.kernel.grid)


def _axis(bounds: tuple[int, ...], kernel: Kernel) -> range:
    start, stop, step = bounds
    return make_range(start, stop, step, kernel.loc)


def _zeros(memory: Memory, shape: tuple[int, ...]) -> Tensor:
    return Tensor(memory, np.zeros(shape, storage_dtype(memory.dtype)))


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
