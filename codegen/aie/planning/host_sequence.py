"""What the host does: which transfers it pushes to the shims' channels, and when it waits.

A channel's queue holds few tasks, and the hardware drops a push to a full one. So the turns of the
herd are cut into phases in which each channel has few tasks: a phase is pushed while the one before
it runs, after the one before that has ended. One descriptor serves every other phase. Where a turn
takes too many tasks, phases end within turns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from dslc.codegen.aie.dtypes import bytes_of
from dslc.codegen.aie.planning.address_patterns import Transfer, transfers, window_dims
from dslc.codegen.aie.planning.evaluation import Numbers
from dslc.codegen.aie.planning.events import Tensor
from dslc.codegen.aie.planning.memory_tile_panels import wanted
from dslc.codegen.aie.planning.plan import Fifo, Plan, Task
from dslc.codegen.aie.planning.scopes import refuse_access
from dslc.codegen.aie.planning.streams import Stream
from dslc.compiler.diagnostics import error

Flags: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
_HOST = 0
_NONE, _LATE = -1, np.iinfo(np.int64).max  # no loop, and after all loops


@dataclass(slots=True)
class _Channel:
    """The objects of one FIFO of the host in order: their turns, streams (by number) and offsets."""

    fifo: Fifo
    turns: Numbers
    keys: Numbers
    streams: Numbers
    offsets: Numbers


def schedule(plan: Plan) -> None:
    """Fill in the phases of a plan; DSL0551 where a turn takes more tasks than a queue holds."""
    channels = [_channel(plan, f) for f in plan.fifos if f.ends(_HOST)]
    turns = plan.herd.turns
    for length in _lengths(turns):
        parts = [range(at, min(at + length, turns)) for at in range(0, turns, length)]
        limit = plan.array.queue if len(parts) == 1 else plan.array.queue // 2
        phases = _phases(plan, channels, parts, limit)
        if phases is not None:
            plan.phases = phases
            return
    phases = _cut_within_turns(plan, channels)
    if phases is None:
        raise _too_many(plan, channels)
    plan.phases = phases


def _cut_within_turns(plan: Plan, channels: list[_Channel]) -> list[list[Task]] | None:
    """Phases of parts of turns: each as long as the channels' queues allow.

    All objects of a phase come before those of the next in the cores' programs, results when all that
    they are made of has come: so a phase can end before the next but one is pushed.
    """
    times = _times(channels)
    end, at, length = 1 + max(int(t.max(initial=-1)) for t in times), 0, 1
    limit = plan.array.queue // 2
    phases: list[list[Task]] = []
    while at < end:
        half = len(phases) % 2
        best, tried = None, 0
        length = max(1, length)
        while tried != length:
            tried = length
            chosen = [(t >= at) & (t < at + length) for t in times]
            cut = _phase(plan, channels, chosen, limit, half, parts=2)
            if cut is not None:
                best = cut, length
                length = min(2 * length, end - at)
            elif best is None and length > 1:
                length //= 2
        if best is None:
            return None
        phase, length = best
        phases.append(phase)
        at += length
    return phases


def _times(channels: list[_Channel]) -> list[Numbers]:
    """When each object is taken, or given, in the order of the cores' programs: the same for all."""
    depth = max(c.keys.shape[1] for c in channels)
    padded = []
    for channel in channels:
        last = _LATE if channel.fifo.streams[0].output else -1
        keys = np.where(channel.keys == _NONE, last, channel.keys)
        missing = np.full((len(keys), depth - keys.shape[1]), last)
        places = np.full(len(keys), _LATE) if last == _LATE else keys[:, -1]
        padded.append(np.concatenate([keys[:, :-1], missing, places[:, None]], 1))
    _, ranks = np.unique(np.concatenate(padded), axis=0, return_inverse=True)
    return np.split(ranks.reshape(-1), np.cumsum([len(p) for p in padded])[:-1])


def _lengths(turns: int) -> Iterator[int]:
    """The turns that a phase may have, most first."""
    yield from (n for n in range(turns, 0, -1) if turns % n == 0)


def _channel(plan: Plan, fifo: Fifo) -> _Channel:
    turns, numbers, offsets, keys = [], [], [], []
    # At one time a core acquires the objects of outer scopes first.
    outermost = sorted(fifo.streams, key=lambda s: (len(s.scope.chain), s.number))
    passes = [(s, number) for s in outermost for number in range(fifo.passes(s))]
    for place, (stream, number) in enumerate(passes):
        moved = [wanted(plan, fifo, stream, part, number) for part in range(len(fifo.parts))]
        if any(len(f.turns) != len(moved[0].turns) for f in moved):
            first = next(iter(stream.parts))
            raise refuse_access(
                first.stmt, "is in a loop whose length the turns of a column differ in"
            )
        turns.append(np.stack([f.turns for f in moved], 1))
        offsets.append(np.stack([f.offsets for f in moved], 1))
        numbers.append(np.full(turns[-1].shape, _first_alike(fifo, stream)))
        after = (np.full(len(moved[0].turns), _LATE),) if stream.late else ()
        keys.append((moved[0].turns, *moved[0].keys, *after, place))
    columns = _columns(keys)
    order = np.lexsort(columns.T[::-1])
    every = [np.concatenate(part)[order].reshape(-1) for part in (turns, numbers, offsets)]
    program = np.repeat(columns[order], len(fifo.parts), 0)
    return _Channel(fifo, every[0], program, *every[1:])


def _first_alike(fifo: Fifo, stream: Stream) -> int:
    """The number of the first stream whose windows of the same tensor are as large."""
    alike = (s.memory is stream.memory and s.sizes == stream.sizes for s in fifo.streams)
    return next(n for n, same in enumerate(alike) if same)


def _columns(keys: list[tuple[Any, ...]]) -> Numbers:
    """By what the objects of streams are put in the order in which a core takes them.

    That is turn by turn, scope by scope. A stream's columns are the turn, then the number and turn of
    each loop around it, and last its place among the streams. Where it is in fewer loops it comes ahead
    of them.
    """
    depth = max(len(k) for k in keys)
    columns = []
    for number in range(depth - 1):
        parts = [k[number] if number < len(k) - 1 else np.full(len(k[0]), _NONE) for k in keys]
        columns.append(np.concatenate(parts))
    columns.append(np.concatenate([np.full(len(k[0]), k[-1]) for k in keys]))
    return np.stack(columns, 1)


def _phases(
    plan: Plan, channels: list[_Channel], parts: list[range], limit: int
) -> list[list[Task]] | None:
    """The tasks of each phase, None where a channel or a shim's descriptors do not suffice."""
    phases = []
    for number, turns in enumerate(parts):
        chosen = [(c.turns >= turns.start) & (c.turns < turns.stop) for c in channels]
        phase = _phase(plan, channels, chosen, limit, number % 2, parts=min(2, len(parts)))
        if phase is None:
            return None
        phases.append(phase)
    return phases


def _phase(
    plan: Plan,
    channels: list[_Channel],
    chosen: list[Flags],
    limit: int,
    half: int,
    *,
    parts: int,
) -> list[Task] | None:
    """The tasks that move the chosen objects; None where they are too many for queues and descriptors.

    A phase has one of `parts` parts of the descriptors.
    """
    used: dict[int, int] = defaultdict(int)
    phase: list[Task] = []
    most = plan.array.shim.descriptors // parts
    for channel, objects in zip(channels, chosen, strict=True):
        tasks = list(islice(_tasks(plan, channel, objects), limit + 1))
        shim = channel.fifo.ends(_HOST)
        assert shim is not None
        if len(tasks) > limit or used[shim[0]] + len(tasks) > most:
            return None
        for at, (tensor, transfer) in enumerate(tasks):
            descriptor = used[shim[0]] + half * most
            used[shim[0]] += 1
            phase.append(Task(channel.fifo, tensor, transfer, descriptor, at == len(tasks) - 1))
    return phase


def _tasks(plan: Plan, channel: _Channel, chosen: Flags) -> Iterator[tuple[Tensor, Transfer]]:
    """The transfers of some objects of one channel."""
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
    counts = {c.fifo: len(list(islice(_tasks(plan, c, c.turns == 0), most))) for c in channels}
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
