"""One run of a module: its results, and how long that would take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dslc.runtime.aie_simulator.cascades import declare_cascade
from dslc.runtime.aie_simulator.cores import core_process
from dslc.runtime.aie_simulator.device import Device, memref_of
from dslc.runtime.aie_simulator.engine import Engine, Process, wait_graph
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.explicit import declare_explicit
from dslc.runtime.aie_simulator.fifos import Elaboration, declare_fifo
from dslc.runtime.aie_simulator.machine import COMPUTE, DEVICES, RATES, WORD, kind_of
from dslc.runtime.aie_simulator.parts import HostMemory, Memory, element_type
from dslc.runtime.aie_simulator.reader import Operation, read
from dslc.runtime.aie_simulator.sequence import HostSequence
from dslc.runtime.elements import Array


@dataclass(frozen=True)
class Run:
    """What a module did. Cycles are modelled, never measured; bytes are those from and to the host.

    `busy` cycles and `spans` are by process, `memory` are the bytes that tiles (column, row) hold.
    """

    cycles: float
    busy: dict[str, float]
    spans: dict[str, list[tuple[float, float]]]
    host_read: int
    host_written: int
    memory: dict[tuple[int, int], int]

    @property
    def microseconds(self) -> float:
        """How long it would take, as modelled."""
        return self.cycles / RATES.clock * 1e6


def load(text: str) -> tuple[Device, Operation]:
    """The device of a module, checked, and its sequence."""
    module = read(text)
    devices = [o for o in module.regions[0] if o.name == "aie.device"]
    if len(devices) != 1:
        raise AieFault("syntax", "a module has one device")
    name = devices[0].match(r"\(([^)]*)\).*")[1]
    if name not in DEVICES:
        raise AieFault("tile", f"the device {name} is not known", line=devices[0].line)
    device, links, sequences = Device(), [], []
    explicit: list[Operation] = []
    for op in devices[0].regions[0]:
        match op.name:
            case "aie.tile":
                device.declare_tile(op)
            case "aie.objectfifo":
                declare_fifo(device, op)
            case "aie.objectfifo.link":
                links.append(op)
            case "aie.buffer":
                _buffer(device, op)
            case "aie.core":
                _core(device, op)
            case "aie.cascade_flow":
                declare_cascade(device, op)
            case "aie.runtime_sequence":
                sequences.append(op)
            case _:
                explicit.append(op)
    declare_explicit(device, explicit)
    Elaboration(device).run(links)
    device.check()
    if len(sequences) != 1:
        raise AieFault("syntax", "a device has one sequence", line=devices[0].line)
    return device, sequences[0]


def _buffer(device: Device, op: Operation) -> None:
    found = op.match(r"\((%\w+)\)\s*(?:\{.*?\})?\s*:\s*(.*)")
    count, kind = memref_of(found[2], op.line)
    tile = device.tile(found[1], op.line)
    name = (op.attribute("sym_name") or op.results[0]).strip('"')
    device.define(op, device.memory(tile, name, count, kind, op.line))


def _core(device: Device, op: Operation) -> None:
    tile = device.tile(op.match(r"\((%\w+)\)")[1], op.line)
    if kind_of(tile[1]) is not COMPUTE or any(t == tile for t, _ in device.cores):
        raise AieFault("tile", f"tile {tile[0]}, {tile[1]} has no core left", line=op.line)
    stack = (op.attribute("stack_size") or "").split(":")[0].strip()
    if stack:
        device.stacks[tile] = int(stack)
    device.cores.append((tile, op))


def simulate(text: str, arrays: Sequence[Array] | None, *, bfp16: bool = False) -> Run:
    """Run a module over the arrays of its sequence's arguments, which are written in place.

    With `bfp16` products of bf16 round their operands to blocks that share an exponent, as AIE2P's
    matrix unit does when it is told to be fast.

    AieFault where the module breaks a rule of the machine. Without arrays nothing is computed: what
    remains are the waits, the traffic and the times.
    """
    device, operation = load(text)
    engine = Engine()
    host = HostSequence(device, operation, engine)
    values = arrays is not None
    given = _blanks(host.types(), operation.line) if arrays is None else arrays
    host.bind(_arguments(host.types(), given, operation.line))
    processes = [
        core_process(engine, device, tile, op, values=values, bfp16=bfp16)
        for tile, op in device.cores
    ]
    channels = [c for own in device.channels.values() for c in own]
    shared = HostMemory(RATES.host)
    for channel in channels:
        channel.values = values
        channel.host = shared if channel.tile[1] == 0 else None
    for end in device.ends.values():
        end.checked = values
    processes += [Process(c.name, c.process(engine)) for c in channels]
    processes.append(Process("the host", host.process(), server=False))
    _name_owners(device)
    for process in processes:
        engine.start(process)
    engine.run()
    if not processes[-1].done:
        raise AieFault("deadlock", "; ".join(wait_graph(processes)))
    _check_end(device)
    moved = {
        way: sum(c.moved for c in channels if c.tile[1] == 0 and c.direction == way) * WORD
        for way in ("MM2S", "S2MM")
    }
    return Run(
        engine.now,
        {p.name: p.busy for p in processes},
        {p.name: p.spans for p in processes},
        moved["MM2S"],
        moved["S2MM"],
        {tile: device.used(tile) for tile in device.memories},
    )


def _blanks(types: list[tuple[str, int, str]], line: int) -> list[Array]:
    """Arrays that take no memory."""
    return [np.broadcast_to(np.zeros((), element_type(k, line)), (n,)) for _, n, k in types]


def _arguments(
    types: list[tuple[str, int, str]], arrays: Sequence[Array], line: int
) -> list[Memory]:
    if len(types) != len(arrays):
        raise AieFault("argument", f"{len(arrays)} arrays for {len(types)} arguments", line=line)
    found = []
    for (name, count, kind), array in zip(types, arrays, strict=True):
        dtype: np.dtype[Any] = element_type(kind, line)
        if array.size != count or array.dtype.itemsize != dtype.itemsize:
            raise AieFault("argument", f"{name} is {array.size} of {array.dtype}", line=line)
        if array.strides != (0,) and not array.flags.c_contiguous:
            raise AieFault("argument", f"{name} is not contiguous", line=line)
        flat = array if array.strides == (0,) else array.reshape(-1).view(dtype)
        found.append(Memory(name, kind, flat, written=True))
    return found


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


def _check_end(device: Device) -> None:
    """Nothing is left on the way when the sequence has ended.

    Cores that read nothing go on to the next launch's results by themselves: they are left alone.
    """
    reads = any(c.direction == "MM2S" for c in device.host.values())
    for stream in device.streams if reads else ():
        for consumer, port in stream.ports.items():
            if port.queued:
                raise AieFault(
                    "leftover",
                    f"{port.queued} words of the stream {stream.name} stay before {consumer}",
                )
    for (name, tile), end in device.ends.items():
        if not end.produces and end.taken.value + end.held:
            raise AieFault(
                "leftover",
                f"core {tile[0]}, {tile[1]} has {end.taken.value + end.held} objects of @{name} left",
            )
    for cascade in device.cascades:
        if cascade.queue:
            raise AieFault("leftover", f"{len(cascade.queue)} vectors stay in {cascade.name}")
    for channel in device.host.values():
        if channel.tasks:
            raise AieFault("leftover", f"{channel.name} has {len(channel.tasks)} tasks left")
