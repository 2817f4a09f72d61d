"""When each instruction runs: engines and DMA queues in order, tied by what they wait for. *Modelled*.

Five rules, each with a test of its own:

- An engine runs its instructions in program order, each for as long as the documentation says.
- A result is there a while after its engine is free: MIN_CYCLES, on the PE the depth of its array.
- Who overwrites operands waits for the end of reading alone, not for the reader's result.
- A queue issues its transfers in order, and the first that must wait holds up those behind it; loads
  and stores have queues of their own.
- The rows of a transfer are dealt to the 16 DMA engines that are free first; an engine works on rows in
  the order in which their transfers were issued. `dma_latency_ns` pass before a waiting engine goes on.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property

from dslc.runtime.nki_simulator.machine import DMA_ENGINES, NeuronCore
from dslc.runtime.nki_simulator.trace import COMPUTE, DMA_QUEUES, Rows, Step


@dataclass(frozen=True)
class Timeline:
    """The steps with begin and end in ns: `ends` when the queue is free, `done` when the result is."""

    steps: list[Step]
    begins: list[float]
    ends: list[float]
    done: list[float]
    dma_busy: float  # ns, over all DMA engines

    @cached_property
    def total(self) -> float:
        """From the first instruction to the last result, in ns."""
        return max(self.done, default=0.0)

    @cached_property
    def busy(self) -> dict[str, float]:
        """How long each engine works, in ns; `DMA` is the mean of the DMA engines."""
        sums = dict.fromkeys(COMPUTE, 0.0)
        for step, begin, end in zip(self.steps, self.begins, self.ends, strict=True):
            if step.queue in sums:
                sums[step.queue] += end - begin
        return sums | {"DMA": self.dma_busy / DMA_ENGINES}

    def active(self, engine: str) -> float:
        """The share of the time in which an engine works."""
        return self.busy[engine] / self.total if self.total else 0.0


def schedule(steps: list[Step], waits: dict[int, set[int]], core: NeuronCore) -> Timeline:
    """Times for the steps, which wait for what they say and for `waits` besides."""
    return _Clock(steps, waits, core).run()


class _Clock:
    """Steps are taken in the order of the times at which they may begin."""

    def __init__(self, steps: list[Step], waits: dict[int, set[int]], core: NeuronCore) -> None:
        count = len(steps)
        self._steps, self._core = steps, core
        self._begins, self._ends, self._done = [0.0] * count, [0.0] * count, [0.0] * count
        self._ready = [0.0] * count
        self._missing = [
            0
        ] * count  # what is not placed yet: those that it waits for, and the one before
        self._results: list[list[int]] = [[] for _ in range(count)]
        self._reads: list[list[int]] = [[] for _ in range(count)]
        self._next: dict[int, int] = {}
        self._engines = [0.0] * DMA_ENGINES
        self._dma_busy = 0.0
        self._ports: dict[str, float] = {}
        last: dict[str, int] = {}
        for i, step in enumerate(steps):
            more = waits.get(i)
            after = step.after if more is None else {*step.after, *more}
            for other in after:
                self._results[other].append(i)
            for other in step.over:
                self._reads[other].append(i)
            self._missing[i] = len(after) + len(step.over) + (step.queue in last)
            if step.queue in last:
                self._next[last[step.queue]] = i
            last[step.queue] = i

    def run(self) -> Timeline:
        """Place every step."""
        heap = [(0.0, i) for i, missing in enumerate(self._missing) if not missing]
        heapq.heapify(heap)
        while heap:
            ready, i = heapq.heappop(heap)
            self._place(i, ready)
            following = self._next.get(i)
            if following is not None:
                self._release(following, self._ends[i], heap)
            for other in self._results[i]:
                self._release(other, self._done[i], heap)
            for other in self._reads[i]:
                self._release(other, self._read_end(i), heap)
        return Timeline(self._steps, self._begins, self._ends, self._done, self._dma_busy)

    def _release(self, i: int, time: float, heap: list[tuple[float, int]]) -> None:
        self._ready[i] = max(self._ready[i], time)
        self._missing[i] -= 1
        if not self._missing[i]:
            heapq.heappush(heap, (self._ready[i], i))

    def _read_end(self, i: int) -> float:
        """A compute engine has read its operands when it is free; a DMA when the last byte is moved."""
        return self._done[i] if self._steps[i].queue in DMA_QUEUES else self._ends[i]

    def _place(self, i: int, ready: float) -> None:
        step = self._steps[i]
        self._begins[i] = begin = ready
        if step.rows is not None:
            issued = begin + self._core.issue_ns
            self._ends[i] = issued
            self._done[i] = self._transfer(step.rows, issued) + self._core.dma_latency_ns
            return
        if step.ports:
            begin = max(begin, *(self._ports.get(port, 0.0) for port in step.ports))
            self._begins[i] = begin
            for port in step.ports:
                self._ports[port] = begin + step.busy
        self._ends[i] = begin + step.busy
        self._done[i] = begin + step.busy + step.latency

    def _transfer(self, rows: Rows, issued: float) -> float:
        """When the last row is moved."""
        used = min(DMA_ENGINES, rows.count)
        free = sorted(range(DMA_ENGINES), key=self._engines.__getitem__)[:used]
        each = self._core.row_ns + rows.bytes * DMA_ENGINES / (self._core.dma * rows.rate)
        whole, left = divmod(rows.count, used)
        last = issued
        for k, engine in enumerate(free):
            taken = (whole + (k < left)) * each
            self._dma_busy += taken
            self._engines[engine] = max(self._engines[engine], issued) + taken
            last = max(last, self._engines[engine])
        return last
