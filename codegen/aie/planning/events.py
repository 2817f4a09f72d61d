"""When which object of a stream is wanted, and how the tensors lie in the host's memory.

A tensor is padded with zeros to whole tiles, so that no transfer reaches past its ends: what a
kernel reads there is 0, as the language has it, and what it writes there nobody reads.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from dslc.codegen.aie.dtypes import WORD, bytes_of
from dslc.codegen.aie.planning.evaluation import Numbers, Unknown, evaluate
from dslc.codegen.aie.planning.herd import Herd
from dslc.codegen.aie.planning.scopes import Scope, refuse_access
from dslc.codegen.aie.planning.streams import Stream
from dslc.compiler.ir import Kernel, Memory
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Var


@dataclass(frozen=True, slots=True)
class Tensor:
    """A parameter as it lies in the host's memory: its extents there, in elements.

    `origin` is what lies ahead of its first element along each axis. What lies beyond `needed` elements
    from there along the first axis may be anything: widened windows reach there.
    """

    memory: Memory
    shape: tuple[int, ...]
    origin: tuple[int, ...]
    needed: int = 0

    def joined(self, other: Tensor) -> Tensor:
        """Padded as both are."""
        origin = tuple(map(max, self.origin, other.origin))
        ends = zip(self.shape, self.origin, other.shape, other.origin, origin, strict=True)
        shape = tuple(max(n - a, m - b) + o for n, a, m, b, o in ends)
        return Tensor(self.memory, shape, origin, max(self.needed, other.needed))

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between two of an axis."""
        return tuple(math.prod(self.shape[i + 1 :]) for i in range(len(self.shape)))

    @property
    def elements(self) -> int:
        """All of them."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Events:
    """The objects of a stream that one core wants, in order: its turn, and where they begin.

    `keys` are columns by which the objects of several streams are put in order: loops and their
    iterations.
    """

    turns: Numbers
    offsets: Numbers
    keys: tuple[Numbers, ...]


class _Times:
    """The runs of a scope, one entry each: the values of variables, and the turn of the core."""

    def __init__(self) -> None:
        self.values: dict[Var, Numbers] = {}
        self.turns: Numbers = np.zeros(1, np.int64)
        self.keys: list[Numbers] = []

    def enter(self, var: Var, values: Sequence[Numbers]) -> None:
        """Each run becomes as many as it has values for the variable."""
        counts = np.array([len(v) for v in values], np.int64)
        self.values = {v: np.repeat(n, counts) for v, n in self.values.items()}
        self.turns = np.repeat(self.turns, counts)
        self.keys = [np.repeat(k, counts) for k in self.keys]
        self.values[var] = np.concatenate([*values, np.zeros(0, np.int64)])


@dataclass(frozen=True, slots=True)
class Share:
    """The iterations of a loop that a stage of a cascade runs: every `stages`th; None has them all.

    All stages run as many, so that some pass over their last.
    """

    loop: ins.For | None = None
    stage: int | None = None
    stages: int = 1

    def of(self, start: int, stop: int, step: int) -> Numbers:
        """The values of the loop's variable."""
        rounds = -(-max(0, -((start - stop) // step)) // self.stages)
        if self.stage is None:
            return start + np.arange(rounds * self.stages) * step
        return start + (np.arange(rounds) * self.stages + self.stage) * step


def _times(
    scope: Scope, ranges: Sequence[Numbers], steps: Sequence[int], share: Share = Share()
) -> _Times:
    """The runs of a scope of a core; `ranges` are its values of the grid's axes."""
    times = _Times()
    turns = math.prod(steps)
    for one in scope.chain:
        if one.var is None:
            continue
        if one.axis is not None:
            values = ranges[one.axis]
            turns //= len(values)
            number = np.arange(len(values)) * turns
            before = len(times.turns)
            times.enter(one.var, [values] * before)
            times.turns = times.turns + np.tile(number, before)
            continue
        shape = times.turns.shape
        start, stop, step = (np.broadcast_to(evaluate(e, times.values), shape) for e in one.bounds)
        own = share if one.loop is share.loop else Share()
        runs = [own.of(int(a), int(b), int(s)) for a, b, s in zip(start, stop, step, strict=True)]
        times.enter(one.var, runs)
        numbers = [np.arange(len(r)) for r in runs]
        times.keys.append(np.full(times.turns.shape, one.number))
        times.keys.append(np.concatenate([*numbers, np.zeros(0, np.int64)]))
    return times


def scope_runs(kernel: Kernel, scope: Scope, share: Share = Share()) -> int:
    """How often a scope begins in a launch, in all turns of the grid; 1 where that is not known."""
    every = [
        np.arange(*(int(evaluate(e, {})) for e in (a.start, a.stop, a.step))) for a in kernel.grid
    ]
    try:
        return len(_times(scope, every, [len(v) for v in every], share).turns)
    except Unknown:
        return 1


def axis_values(kernel: Kernel, herd: Herd, row: int, column: int) -> list[Numbers]:
    """The values that a core's grid variables take, axis by axis."""
    values = []
    for number, axis in enumerate(kernel.grid):
        factor, digit = herd.factors[number], herd.digit(number, row, column)
        turns = np.arange(herd.steps[number]) * factor + digit
        values.append(evaluate(axis.start, {}) + turns * evaluate(axis.step, {}))
    return values


def _starts(stream: Stream, times: _Times) -> list[Numbers]:
    shape = times.turns.shape
    first = next(iter(stream.parts))
    try:
        return [np.broadcast_to(evaluate(e, times.values), shape) for e in stream.starts]
    except Unknown as unknown:
        raise refuse_access(first.stmt, f"depends on {unknown}") from None


def tensors(
    kernel: Kernel,
    streams: Iterable[Stream],
    herd: Herd,
    least: Mapping[Memory, Tensor] | None = None,
) -> dict[Memory, Tensor]:
    """The tensors padded to what all turns touch, and at least as `least` are; rows are whole words.

    Windows are widened to whole words: more is read than asked for, and written past the end of rows.
    Those that share a FIFO may be wider: they read on into the next row, after the last one into rows
    of nothing.
    """
    every = [
        evaluate(a.start, {}) + np.arange(f * s) * evaluate(a.step, {})
        for a, f, s in zip(kernel.grid, herd.factors, herd.steps, strict=True)
    ]
    own = {p: [int(evaluate(n, {})) for n in p.shape] for p in kernel.tensors}
    extents = {p: list(shape) for p, shape in own.items()}
    origins = {p: [0] * len(shape) for p, shape in own.items()}
    for p, other in (least or {}).items():
        origins[p] = list(other.origin)
        extents[p] = [n - o for n, o in zip(other.shape, other.origin, strict=True)]
    needed = {p: shape[0] if shape else 0 for p, shape in own.items()}
    ends: list[tuple[Memory, list[int], tuple[int, ...]]] = []
    for stream in streams:
        share = Share(herd.cascade, None, herd.stages)
        starts = _starts(stream, _times(stream.scope, every, [len(v) for v in every], share))
        _widen(stream, starts[-1], own[stream.memory][-1])
        for axis, (start, size) in enumerate(zip(starts, stream.window, strict=True)):
            origins[stream.memory][axis] = max(
                origins[stream.memory][axis], -int(start.min(initial=0))
            )
            end = int(start.max(initial=0)) + size
            extents[stream.memory][axis] = max(extents[stream.memory][axis], end)
            if axis == 0:
                needed[stream.memory] = max(needed[stream.memory], end)
        if stream.asked is not None:
            last = [int(start.max(initial=0)) for start in starts]
            last[stream.cut] += stream.window[stream.cut] - stream.asked[stream.cut]
            ends.append((stream.memory, last, stream.sizes))
    for memory, shape in extents.items():
        unit = WORD // math.gcd(WORD, bytes_of(memory.dtype))
        if shape:
            origins[memory][-1] = -(-origins[memory][-1] // unit) * unit
            shape[-1] = -(-shape[-1] // unit) * unit
        for axis, origin in enumerate(origins[memory]):
            shape[axis] += origin
    for memory, last, sizes in ends:
        shape = extents[memory]
        strides = Tensor(memory, tuple(shape), ()).strides
        first = zip(last, origins[memory], sizes, strides, strict=True)
        most = 1 + sum((a + o + n - 1) * s for a, o, n, s in first)
        shape[0] = max(shape[0], -(-most // strides[0]))
    return {m: Tensor(m, tuple(n), tuple(origins[m]), needed[m]) for m, n in extents.items()}


def _widen(stream: Stream, start: Numbers, extent: int) -> None:
    """Make the rows of a window whole words; DSL0590 where a neighbour's elements would be written."""
    unit = WORD // math.gcd(WORD, bytes_of(stream.memory.dtype))
    size = stream.sizes[-1]
    wide = -(-size // unit) * unit
    first = next(iter(stream.parts))
    if (start % unit).any():
        raise refuse_access(
            first.stmt, f"begins within a word of {WORD} bytes, which a DMA moves whole"
        )
    if wide == size:
        return
    if stream.output and (start + size < extent).any():
        raise refuse_access(
            first.stmt,
            f"ends within a word of {WORD} bytes whose other elements are another tile's",
        )
    stream.sizes = (*stream.sizes[:-1], wide)


def events(
    kernel: Kernel,
    stream: Stream,
    herd: Herd,
    tensor: Tensor,
    row: int,
    column: int,
    piece: int = 0,
) -> Events:
    """The objects that one core wants of a stream; of windows in pieces those of one number."""
    ranges = axis_values(kernel, herd, row, column)
    share = Share(herd.cascade, herd.stage(row), herd.stages) if herd.cascade else Share()
    times = _times(stream.scope, ranges, herd.steps, share)
    starts = _starts(stream, times)
    offsets = sum(
        (
            (s + origin) * stride
            for s, origin, stride in zip(starts, tensor.origin, tensor.strides, strict=True)
        ),
        np.zeros(times.turns.shape, np.int64),
    )
    offsets += piece * stream.piece_step(tensor.strides)
    return Events(times.turns, offsets, tuple(times.keys))
