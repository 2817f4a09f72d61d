"""The array as it is configured now: its processes, and what must hold before it is configured anew."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from dslc.runtime.aie_simulator.channels import Channel
from dslc.runtime.aie_simulator.control.registers import Registers
from dslc.runtime.aie_simulator.control.resets import Resets
from dslc.runtime.aie_simulator.cores.library import Library, compiler
from dslc.runtime.aie_simulator.cores.programs import core_process
from dslc.runtime.aie_simulator.device import Device
from dslc.runtime.aie_simulator.engine import Engine, Process
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.explicit import declare_overlay, fill, wrapped
from dslc.runtime.aie_simulator.machine import COMPUTE, INSTRUCTION, RATES, WORD
from dslc.runtime.aie_simulator.module import declare, sequences
from dslc.runtime.aie_simulator.parts import HostMemory, Memory, Tile, element_type
from dslc.runtime.aie_simulator.reader import Operation, elements_of
from dslc.runtime.aie_simulator.settings import Settings
from dslc.runtime.aie_simulator.streams import Port

_TERMINATORS = ("scf.yield", "affine.yield")
_MANY = 1 << 20  # elements that a sequence moves: compiling the cores' loops pays from there


@dataclass(slots=True)
class Totals:
    """What all configurations of a dispatch did: cycles by process, words by direction, bytes held, and
    what was `left` on the way.
    """

    busy: dict[str, float] = field(default_factory=dict)
    spans: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    moved: dict[str, int] = field(default_factory=lambda: {"MM2S": 0, "S2MM": 0})
    memory: dict[Tile, int] = field(default_factory=dict)
    configurations: int = 0
    left: list[str] = field(default_factory=list)


class Configuration:
    """A device on the array: its cores and channels run from now on."""

    def __init__(
        self,
        operation: Operation,
        engine: Engine,
        shared: HostMemory,
        totals: Totals,
        settings: Settings,
        beside: Sequence[Operation] = (),
    ) -> None:
        self.device = declare(operation, list(beside), zeroed=settings.zeroed)
        self._totals, self._lenient = totals, settings.lenient
        values = settings.values
        native = values and not settings.bfp16 and compiler() and _elements(operation) >= _MANY
        library = Library() if native else None
        if settings.overlay:
            declare_overlay(self.device)
        self.processes = [
            core_process(engine, self.device, tile, op, settings, library)
            for tile, op in self.device.cores
        ]
        if library is not None:
            library.build()
        for channel in self.channels:
            channel.values = values
            channel.host = shared if channel.tile[1] == 0 else None
            if settings.lenient and channel.port is None:
                channel.port = Port(channel.name)  # nobody sends: what waits here waits for ever
        for end in self.device.ends.values():
            end.checked = values
        self.processes += [Process(c.name, c.process(engine)) for c in self.channels]
        cores = {
            tile: functools.partial(core_process, engine, self.device, tile, op, settings)
            for tile, op in self.device.cores
        }
        resets = Resets(self.device, engine, cores, self.processes)
        self.registers = Registers(self.device, engine, resets)
        for port in self.device.controls.values():
            if port.port is not None:
                steps = port.process(
                    engine, self.registers.read, self.registers.write, values=values
                )
                self.processes.append(Process(port.name, steps))
        _name_owners(self.device)
        for process in list(self.processes):
            engine.start(process)
        totals.configurations += 1

    @property
    def channels(self) -> list[Channel]:
        """All DMA channels."""
        return [c for own in self.device.channels.values() for c in own]

    @property
    def cycles(self) -> float:
        """What configuring takes: the programs of cores come by one stream, word by word."""
        total = 0
        for _, core in self.device.cores:
            size = INSTRUCTION * sum(
                1 for o in core.walk() if o.name not in _TERMINATORS or o.operands
            )
            total += min(size, COMPUTE.program)
        return total / WORD * RATES.program

    def constant(self, op: Operation) -> Memory:
        """`memref.get_global`: a constant of the module."""
        declared = self.device.symbols.get(f"global {op.text('name')}")
        initial = (
            declared.attributes.get("initial_value") if isinstance(declared, Operation) else None
        )
        if initial is None:
            raise AieFault("symbol", f"@{op.text('name')} is no constant", line=op.line)
        count, kind = elements_of(op.type, op.line)
        memory = Memory(op.text("name"), kind, np.zeros(count, element_type(kind, op.line)))
        # Words above 2^31 are the same bits as negative ones.
        fill(memory, wrapped(initial), op.line)
        return memory

    def check_quiet(self, line: int) -> None:
        """No transfer is under way."""
        for channel in self.device.host.values():
            if channel.tasks:
                raise AieFault(
                    "configuration",
                    f"{channel.name} has {len(channel.tasks)} tasks left",
                    line=line,
                )

    def end(self, engine: Engine) -> None:
        """Take the device off the array; nothing may be left on the way."""
        for text in _left(self.device):
            if not self._lenient:
                raise AieFault("leftover", text)
            self._totals.left.append(text)
        engine.stop(self.processes)
        totals = self._totals
        for process in self.processes:
            totals.busy[process.name] = totals.busy.get(process.name, 0.0) + process.busy
            totals.spans.setdefault(process.name, []).extend(process.spans)
        for channel in self.channels:
            if channel.tile[1] == 0:
                totals.moved[channel.direction] += channel.moved
        for tile in self.device.memories:
            totals.memory[tile] = max(totals.memory.get(tile, 0), self.device.used(tile))


def _elements(operation: Operation) -> int:
    """The elements that the sequences of a device move, each once."""
    total = 0
    for sequence in sequences(operation).values():
        for op in sequence.body:
            if op.name == "aiex.npu.dma_memcpy_nd":
                total += math.prod(n for n in op.attributes["sizes"] if isinstance(n, int))
    return total


def _name_owners(device: Device) -> None:
    """Who could release each lock: the wait graph tells of them."""
    owners: dict[int, set[str]] = {}
    for own in device.channels.values():
        for channel in own:
            for descriptor in channel.chain:
                if descriptor.release is not None:
                    owners.setdefault(id(descriptor.release[0]), set()).add(channel.name)
    for (_, tile), end in device.ends.items():
        owners.setdefault(id(end.given), set()).add(f"core {tile[0]}, {tile[1]}")
    for locks in device.locks.values():
        for lock in locks:
            known = owners.get(id(lock), {f"core {lock.tile[0]}, {lock.tile[1]}"})
            lock.signal.owners = tuple(sorted(known))


def _left(device: Device) -> Iterator[str]:
    """What is left on the way when the sequence has ended.

    Cores that read nothing go on to the next launch's results by themselves: they are left alone.
    """
    reads = any(c.direction == "MM2S" for c in device.host.values())
    for own in device.channels.values() if reads else ():
        for channel in own:
            if channel.port is not None and channel.port.queued:
                (stream, *_) = [s.name for s in device.streams if channel.port in s.ports]
                words = channel.port.queued
                yield f"{words} words of the stream {stream} stay before {channel.name}"
    for (name, tile), end in device.ends.items():
        if not end.produces and end.taken.value + end.held:
            objects = end.taken.value + end.held
            yield f"core {tile[0]}, {tile[1]} has {objects} objects of @{name} left"
    for cascade in device.cascades:
        if cascade.queue:
            yield f"{len(cascade.queue)} vectors stay in {cascade.name}"
    for channel in device.host.values():
        if channel.tasks:
            yield f"{channel.name} has {len(channel.tasks)} tasks left"
