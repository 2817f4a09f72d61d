"""One run of a module: its results, and how long that would take."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dslc.runtime.aie_simulator.configuration import Totals
from dslc.runtime.aie_simulator.cores.calls import Functions
from dslc.runtime.aie_simulator.engine import Engine, Process, wait_graph
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.machine import RATES, WORD
from dslc.runtime.aie_simulator.module import load
from dslc.runtime.aie_simulator.parts import Memory, element_type
from dslc.runtime.aie_simulator.reader import faults
from dslc.runtime.aie_simulator.sequence import Argument, HostSequence, arguments_of
from dslc.runtime.aie_simulator.settings import Settings
from dslc.runtime.elements import Array


@dataclass(frozen=True)
class Run:
    """What a module did. Cycles are modelled, never measured; bytes are those from and to the host's
    memory, which the host itself need not touch.

    `busy` cycles and `spans` are by process, `memory` are the most bytes that tiles (column, row) hold,
    `configurations` counts how often the array was configured; `left` is what a lenient run leaves on
    its way.
    """

    cycles: float
    busy: dict[str, float]
    spans: dict[str, list[tuple[float, float]]]
    host_read: int
    host_written: int
    memory: dict[tuple[int, int], int]
    configurations: int = 1
    left: tuple[str, ...] = ()

    @property
    def microseconds(self) -> float:
        """How long it would take, as modelled."""
        return self.cycles / RATES.clock * 1e6


def blank_arguments(
    text: str, device: str | None = None, sequence: str | None = None
) -> dict[str, Array]:
    """Arrays of zeros for the arguments of a module's sequence, by name; a number has the shape ()."""
    with faults():
        dispatch = load(text, device, sequence).dispatch
        return {
            a.name.removeprefix("%"): np.zeros(a.shape, element_type(a.kind, dispatch.line))
            for a in arguments_of(dispatch)
        }


def simulate(
    text: str,
    arrays: Sequence[Array] | None,
    blank: Mapping[int, Array] | None = None,
    *,
    bfp16: bool = False,
    device: str | None = None,
    sequence: str | None = None,
    functions: Functions | None = None,
    waits: bool = False,
    zeroed: bool = False,
    overlay: bool = False,
    lenient: bool = False,
    until: float = math.inf,
) -> Run:
    """Run a module over the arrays of its sequence's arguments, which are written in place.

    An array may be larger than its argument's type: sequences may go beyond what the type says. `blank`
    marks, by an argument's number, elements that hold nothing yet (True): what is read of those before
    it is written is a fault. With `bfp16` products of bf16 round their operands to blocks that
    share an exponent, as AIE2P's matrix unit does when it is told to be fast. Where a module has
    several sequences, `device` and `sequence` name the one that is dispatched; `functions` are those it
    declares only, by name (cores/calls.py). `waits`, `zeroed`, `overlay` and `lenient` are for what
    compilers and the runtime may see to (settings.py). AieFault where the module breaks a rule of the
    machine. Without arrays nothing is computed: what remains are the waits, the traffic and the times.
    TimeoutError where it goes on at `until`, of time.monotonic().
    """
    with faults():
        settings = Settings(
            arrays is not None, bfp16, functions or {}, waits, zeroed, overlay, lenient
        )
        return _simulated(text, arrays, blank or {}, device, sequence, settings, until)


def _simulated(
    text: str,
    arrays: Sequence[Array] | None,
    blank: Mapping[int, Array],
    device: str | None,
    sequence: str | None,
    settings: Settings,
    until: float,
) -> Run:
    module = load(text, device, sequence)
    engine, totals = Engine(), Totals()
    dispatch = module.dispatch
    types = arguments_of(dispatch)
    given = _blanks(types, dispatch.line) if arrays is None else arrays
    memories = _arguments(types, given, blank, dispatch.line)
    host = HostSequence(module, engine, totals, settings)
    process = Process("the host", host.process(memories), server=False)
    engine.start(process)
    engine.run(until)
    if not process.done:
        raise AieFault("deadlock", "; ".join(wait_graph(engine.processes)))
    busy = {**totals.busy, process.name: process.busy}
    spans = {**totals.spans, process.name: process.spans}
    read, written = (totals.moved[way] * WORD for way in ("MM2S", "S2MM"))
    left = tuple(totals.left)
    return Run(engine.now, busy, spans, read, written, totals.memory, totals.configurations, left)


def _blanks(types: Sequence[Argument], line: int) -> list[Array]:
    """Arrays that take no memory."""
    return [np.broadcast_to(np.zeros((), element_type(t.kind, line)), (t.count,)) for t in types]


def _arguments(
    types: Sequence[Argument],
    arrays: Sequence[Array],
    blank: Mapping[int, Array],
    line: int,
) -> list[Memory]:
    if len(types) != len(arrays):
        raise AieFault("argument", f"{len(arrays)} arrays for {len(types)} arguments", line=line)
    found = []
    for number, (own, array) in enumerate(zip(types, arrays, strict=True)):
        dtype: np.dtype[Any] = element_type(own.kind, line)
        if array.size < own.count or array.dtype.itemsize != dtype.itemsize:
            given = f"{array.size} of {array.dtype}"
            text = f"{own.name} is {own.count} of {own.kind}, not {given}"
            raise AieFault("argument", text, line=line)
        if array.strides != (0,) and not array.flags.c_contiguous:
            raise AieFault("argument", f"{own.name} is not contiguous", line=line)
        flat = array if array.strides == (0,) else array.reshape(-1).view(dtype)
        made = Memory(own.name, own.kind, flat, written=True)
        if number in blank:
            made.forget(blank[number].reshape(-1))
        found.append(made)
    return found
