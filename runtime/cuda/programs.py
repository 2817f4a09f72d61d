"""Programs: several kernels, one dispatch.

A program's first call with some dims launches its kernels one after another. From the second on it is
one launch of a CUDA graph, in which kernels that do not wait for each other may run at once. A stream
that is being captured records the kernels themselves.
"""

from __future__ import annotations

import struct
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dslc.compiler.artifact import Artifact, Param
from dslc.runtime.binding import check_requirements
from dslc.runtime.calls import read_calls
from dslc.runtime.cuda.dataflow import Uses, ancestors, direct, place
from dslc.runtime.cuda.description import ALIGNMENT, read_alignments
from dslc.runtime.cuda.device import CudaDevice
from dslc.runtime.cuda.graphs import LaunchGraph
from dslc.runtime.cuda.launchers import KernelLauncher, alignments_of
from dslc.runtime.cuda.plan import Direct, Fire, Prepared, fire_of, is_synchronous, switching
from dslc.runtime.cuda.workspace import Workspaces, queue_of
from dslc.runtime.expression import Number, evaluate, names_of, number
from dslc.runtime.scalars import as_dtype

_MOST_GRAPHS = 8  # of one choice of dims, for as many streams and sets of addresses
_MOST_CHOICES = 32  # of dims that have graphs


@dataclass(frozen=True, slots=True)
class Step:
    """A call of a program's kernel.

    `tensors` names a parameter, buffer or view of the program for each tensor of the kernel; `dims` and
    `scalars` are expressions over the program's, `when` is 0 where nothing is called. `base` are the
    parameters and buffers that views are of.
    """

    kernel: KernelLauncher
    tensors: Mapping[str, str]
    dims: Mapping[str, str]
    scalars: Mapping[str, str]
    when: str
    base: Mapping[str, str]

    @property
    def relevant(self) -> frozenset[str]:
        """The program's names whose values this call's launch depends on."""
        texts = [self.when, *self.dims.values()]
        texts += [
            t for n, t in self.scalars.items() if not t.isidentifier() or n in self.kernel.scalars
        ]
        return frozenset(name for text in texts for name in names_of(text))

    @property
    def uses(self) -> Uses:
        """The tensors of the program that it reads and writes."""
        modes = {p.name: p.mode for p in self.kernel.artifact.signature.params}
        given = [(name, self.base.get(t, t)) for name, t in self.tensors.items()]
        return Uses(
            frozenset(t for name, t in given if modes[name] != "out"),
            frozenset(t for name, t in given if modes[name] != "in"),
        )

    def numbers(self, values: Mapping[str, Number]) -> dict[str, Number]:
        """The kernel's scalars, but for those that the program's caller alone knows."""
        dtypes = {p.name: p.dtype for p in self.kernel.artifact.signature.params}
        return {
            name: as_dtype(number(text, values), dtypes[name])
            for name, text in self.scalars.items()
            if names_of(text) <= values.keys()
        }


class ProgramLauncher:
    """The calls of a program; its buffers are kept for each stream, as workspaces are."""

    def __init__(self, artifact: Artifact) -> None:
        program = read_calls(artifact)
        kernels = [KernelLauncher(k) for k in program.kernels]
        self._buffers, self._views = program.between.buffers, program.between.views
        base = {v.name: v.of for v in self._views}
        self._steps = [
            Step(kernels[c.kernel], c.tensors, c.dims, c.scalars, c.when, base)
            for c in program.calls
        ]
        self.alignments = alignments_of(artifact, ALIGNMENT, read_alignments(artifact))
        self.order = tuple(p.name for p in artifact.signature.params)
        offsets = (n for v in self._views for n in names_of(v.offset))
        self.scalars = frozenset((*offsets, *(n for s in self._steps for n in s.relevant)))
        self._pack = struct.Struct("<" + "".join(map(_code, artifact.signature.params))).pack
        self._held: dict[int, Workspaces] = {}
        self._with_graphs: deque[ReadyProgram] = deque()

    def fire(self, device: CudaDevice, values: Mapping[str, Number]) -> Fire:
        """The launches for these dims and scalars."""
        sizes = {name: evaluate(text, values) for name, text in self._buffers.items()}
        memory = self._held.setdefault(device.ordinal, Workspaces(device))
        called = [s for s in self._steps if evaluate(s.when, values)]
        calls = [self._call(step, device, sizes, values) for step in called]
        numbers = {name: at for at, name in enumerate((*self.order, *sizes))}
        views = [(numbers[v.of], evaluate(v.offset, values)) for v in self._views]
        ready = ReadyProgram(
            device,
            memory,
            [c for c in calls if not c.prepared.empty],
            sizes,
            views,
            self._pack,
            self._with_graphs,
        )
        return ready.fire if device.alone else switching(device, ready.fire)

    def direct(self, device: CudaDevice, values: Mapping[str, Number]) -> Direct | None:
        """None: there are graphs to be chosen from."""
        return None

    def release(self) -> None:
        """Give workspaces and buffers back."""
        for held in self._held.values():
            held.free()
        for step in self._steps:
            step.kernel.release()

    def _call(
        self,
        step: Step,
        device: CudaDevice,
        buffers: Mapping[str, int],
        values: Mapping[str, Number],
    ) -> ReadyCall:
        names = (*self.order, *buffers, *(v.name for v in self._views))
        places = {name: at for at, name in enumerate(names)}
        scalars = step.numbers(values)
        numbers = {n: x for n, x in scalars.items() if step.scalars[n] not in places}
        local = {**scalars, **{n: evaluate(t, values) for n, t in step.dims.items()}}
        check_requirements(step.kernel.artifact.signature, local)
        picks: list[int] = []
        constants: list[Number] = []
        for name in step.kernel.order:
            if name in numbers:
                picks.append(-1 - len(constants))
                constants.append(numbers[name])
            else:
                picks.append(places[step.tensors.get(name) or step.scalars[name]])
        prepared = Prepared(step.kernel.function_on(device), local)
        return ReadyCall(prepared, step.uses, picks, constants)


@dataclass(frozen=True, slots=True)
class ReadyCall:
    """A call with known dims: `picks` are the numbers of its arguments among the program's.

    Parameters come first, then buffers, then views; -1, -2, ... are the call's own `constants`.
    """

    prepared: Prepared
    uses: Uses
    picks: Sequence[int]
    constants: Sequence[Number]

    def values(self, given: Sequence[Number], spaces: Sequence[int]) -> list[Number]:
        """The launch's arguments, from the program's and the addresses of the call's workspaces."""
        chosen = [given[i] if i >= 0 else self.constants[-1 - i] for i in self.picks]
        return [*chosen, *(spaces[i] for i in self.prepared.used)]


class ReadyProgram:
    """A program with known dims, and the graphs that were made of it."""

    def __init__(
        self,
        device: CudaDevice,
        memory: Workspaces,
        calls: Sequence[ReadyCall],
        buffers: Mapping[str, int],
        views: Sequence[tuple[int, int]],
        pack: Any,
        with_graphs: deque[ReadyProgram],
    ) -> None:
        self._device, self._memory, self._calls, self._pack = device, memory, calls, pack
        uses = [c.uses for c in calls]
        ancestry = ancestors(uses)
        self._after = direct(ancestry)
        offsets, total = place(buffers, uses, ancestry)
        self._offsets = [offsets[name] for name in buffers]
        self._views = views  # the number of what each is of, and how many bytes after it
        # Two calls of one kernel may run at once: each has workspaces of its own.
        self._sizes = [total, *(size for c in calls for size in c.prepared.sizes)]
        self._fires = [fire_of(c.prepared) for c in calls]
        self._one_by_one = len(calls) < 2 or is_synchronous() or not device.has_graphs
        self._was_called = False
        self._graphs: dict[tuple[int, bytes], LaunchGraph] = {}  # the least recently made first
        self._with_graphs = with_graphs
        self._lock = threading.Lock()

    def fire(self, stream: int, *given: Number) -> None:
        """Launch on a stream with the program's arguments in order."""
        key = (queue_of(stream), self._pack(*given))
        with self._lock:  # a graph's arguments must not change before it is launched
            graph = self._graphs.get(key)
            if graph is not None and not self._device.is_capturing(stream):
                graph.launch(stream)
                return
        self._fire_anew(stream, key, given)

    def _fire_anew(self, stream: int, key: tuple[int, bytes], given: Sequence[Number]) -> None:
        values = self._values(stream, given)
        capturing = self._device.is_capturing(stream)
        if self._one_by_one or capturing or not self._was_called:
            for fire, arguments in zip(self._fires, values, strict=True):
                fire(stream, *arguments)
            self._was_called = self._was_called or not capturing
            return
        with self._lock:
            graph = self._graph(values)
            self._graphs[key] = graph
            graph.launch(stream)

    def _values(self, stream: int, given: Sequence[Number]) -> list[list[Number]]:
        start, *spaces = self._memory.addresses(stream, self._sizes) if any(self._sizes) else (0,)
        everything = [*given, *(start + offset for offset in self._offsets)]
        everything += [everything[of] + offset for of, offset in self._views]
        values = []
        for call in self._calls:
            count = len(call.prepared.sizes)
            values.append(call.values(everything, spaces[:count]))
            spaces = spaces[count:]
        return values

    def _graph(self, values: Sequence[Sequence[Number]]) -> LaunchGraph:
        """A graph with these arguments: a new one, or the oldest with other arguments than it had."""
        graphs = self._graphs  # another program of many dims may drop them meanwhile
        if len(graphs) >= _MOST_GRAPHS:
            graph = graphs.pop(next(iter(graphs)))
            graph.update(values)
            return graph
        if not graphs:
            self._with_graphs.append(self)
            if len(self._with_graphs) > _MOST_CHOICES:
                self._with_graphs.popleft().drop()
        return LaunchGraph(self._device, [c.prepared for c in self._calls], self._after, values)

    def drop(self) -> None:
        """Give the graphs' memory back."""
        self._graphs = {}


def _code(param: Param) -> str:
    """How an argument stands in the key of a graph, as a code of `struct`: an address, or a number."""
    if param.dtype == "bool" and param.dims is None:
        return "?"
    if param.dims is not None or param.dtype.startswith("u"):
        return "Q"
    return "q" if param.dtype.startswith("i") else "d"
