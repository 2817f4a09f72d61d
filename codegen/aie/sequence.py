"""What the host does: which transfers it pushes to the shims' channels, and when it waits.

A channel's queue holds few tasks, and the hardware drops a push to a full one. So the turns of the
herd are cut into phases in which each channel has few tasks: a phase is pushed while the one before
it runs, after the one before that has ended. One descriptor serves every other phase.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from dslc.codegen.aie.dtypes import bytes_of
from dslc.codegen.aie.evaluation import Numbers
from dslc.codegen.aie.events import Tensor, events
from dslc.codegen.aie.patterns import Transfer, transfers, window_dims
from dslc.codegen.aie.plan import Fifo, Plan, Task
from dslc.codegen.aie.scopes import refuse_access
from dslc.codegen.aie.streams import Stream
from dslc.compiler.diagnostics import error
from dslc.compiler.ir import Memory

_HOST = 0


@dataclass(slots=True)
class _Channel:
    """The objects of one FIFO of the host in order: their turns, streams (by number) and offsets."""

    fifo: Fifo
    turns: Numbers
    streams: Numbers
    offsets: Numbers


def schedule(plan: Plan) -> None:
    """Fill in the phases of a plan; DSL0551 where a turn takes more tasks than a queue holds."""
    by_memory = {t.memory: t for t in plan.tensors}
    channels = [_channel(plan, f, by_memory) for f in plan.fifos if f.ends(_HOST)]
    turns = plan.herd.turns
    for length in _lengths(turns):
        parts = [range(at, min(at + length, turns)) for at in range(0, turns, length)]
        limit = plan.array.queue if len(parts) == 1 else plan.array.queue // 2
        found = _phases(plan, channels, parts, limit)
        if found is not None:
            plan.phases = found
            return
    raise _too_many(plan, channels)


def _lengths(turns: int) -> Iterator[int]:
    """The turns that a phase may have, most first."""
    yield from (n for n in range(turns, 0, -1) if turns % n == 0)


def _channel(plan: Plan, fifo: Fifo, by_memory: dict[Memory, Tensor]) -> _Channel:
    turns, numbers, offsets, keys = [], [], [], []
    # At one time a core acquires the objects of outer scopes first.
    outermost = sorted(fifo.streams, key=lambda s: (len(s.scope.chain), s.number))
    for place, stream in enumerate(outermost):
        tensor = by_memory[stream.memory]
        found = [events(plan.kernel, stream, plan.herd, tensor, r, c) for r, c in fifo.parts]
        if any(len(f.turns) != len(found[0].turns) for f in found):
            first = next(iter(stream.parts))
            raise refuse_access(
                first.stmt, "is in a loop whose length the turns of a column differ in"
            )
        turns.append(np.stack([f.turns for f in found], 1))
        offsets.append(np.stack([f.offsets for f in found], 1))
        numbers.append(np.full(turns[-1].shape, _first_alike(fifo, stream)))
        keys.append((found[0].turns, *found[0].keys, place))
    order = _merged(keys)
    every = [np.concatenate(part)[order].reshape(-1) for part in (turns, numbers, offsets)]
    return _Channel(fifo, *every)


def _first_alike(fifo: Fifo, stream: Stream) -> int:
    """The number of the first stream whose windows of the same tensor are as large."""
    alike = (s.memory is stream.memory and s.sizes == stream.sizes for s in fifo.streams)
    return next(n for n, same in enumerate(alike) if same)


def _merged(keys: list[tuple[Any, ...]]) -> Numbers:
    """The order in which a core takes the objects of streams: turn by turn, scope by scope.

    A stream's columns are the turn, then the number and turn of each loop around it, and last its place
    among the streams. Where it is in fewer loops it comes ahead of them.
    """
    depth = max(len(k) for k in keys)
    columns = []
    for number in range(depth - 1):
        parts = [k[number] if number < len(k) - 1 else np.full(len(k[0]), -1) for k in keys]
        columns.append(np.concatenate(parts))
    columns.append(np.concatenate([np.full(len(k[0]), k[-1]) for k in keys]))
    return np.lexsort(columns[::-1])


def _phases(
    plan: Plan, channels: list[_Channel], parts: list[range], limit: int
) -> list[list[Task]] | None:
    """The tasks of each phase, None where a channel or a shim's descriptors do not suffice."""
    phases = []
    for number, turns in enumerate(parts):
        used: dict[int, int] = defaultdict(int)
        phase: list[Task] = []
        half = plan.array.shim.descriptors // (1 if len(parts) == 1 else 2)
        for channel in channels:
            found = list(islice(_tasks(plan, channel, turns), limit + 1))
            shim = channel.fifo.ends(_HOST)
            assert shim is not None
            if len(found) > limit or used[shim[0]] + len(found) > half:
                return None
            for at, (tensor, transfer) in enumerate(found):
                descriptor = used[shim[0]] + (half if number % 2 else 0)
                used[shim[0]] += 1
                last = at == len(found) - 1
                phase.append(Task(channel.fifo, tensor, transfer, descriptor, last))
        phases.append(phase)
    return phases


def _tasks(plan: Plan, channel: _Channel, turns: range) -> Iterator[tuple[Tensor, Transfer]]:
    """The transfers of one channel for some turns."""
    chosen = (channel.turns >= turns.start) & (channel.turns < turns.stop)
    numbers, offsets = channel.streams[chosen], channel.offsets[chosen]
    by_memory = {t.memory: t for t in plan.tensors}
    at = 0
    while at < len(numbers):
        others = np.flatnonzero(numbers[at:] != numbers[at])
        end = at + int(others[0]) if len(others) else len(numbers)
        stream = channel.fifo.streams[int(numbers[at])]
        tensor = by_memory[stream.memory]
        tile = window_dims(stream.sizes, tensor.strides)
        width = bytes_of(tensor.memory.dtype)
        try:
            for one in transfers(offsets[at:end], tile, width, plan.array):
                yield tensor, one
        except ValueError:
            first = next(iter(stream.parts))
            why = "takes more loops, steps or longer strides than a descriptor of the shim has"
            raise refuse_access(first.stmt, why) from None
        at = end


def _count(found: int, most: int) -> str:
    return str(found) if found < most else f"{most} or more"


def _too_many(plan: Plan, channels: list[_Channel]) -> Exception:
    most = plan.array.queue * 4  # that are counted
    counts = {c.fifo: len(list(islice(_tasks(plan, c, range(1)), most))) for c in channels}
    worst = max(counts, key=lambda f: counts[f])
    memory = worst.streams[0].memory
    return error(
        "DSL0551",
        f"tensor {memory.name}: one turn takes {_count(counts[worst], most)} transfers of FIFO "
        f"{worst.name}; a "
        f"channel's queue holds {plan.array.queue} tasks, half of them of the turn before",
        memory.loc,
        hint="choose blocks whose rows lie evenly in the tensor, or larger ones",
    )
