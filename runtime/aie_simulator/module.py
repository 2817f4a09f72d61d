"""A module's devices: what each holds, and the sequence with which a dispatch begins.

A module of one kernel has one device, whose sequence is the dispatch. One of a program has a device for
each configuration of the array, and one whose sequence configures it and runs theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dslc.runtime.aie_simulator.cascades import declare_cascade
from dslc.runtime.aie_simulator.device import Device, memref_of
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.explicit import declare_explicit
from dslc.runtime.aie_simulator.fifos import Elaboration, declare_fifo
from dslc.runtime.aie_simulator.machine import COMPUTE, DEVICES, kind_of
from dslc.runtime.aie_simulator.reader import Operation, read

CONFIGURE, RUN = "aiex.configure", "aiex.run"


@dataclass(slots=True)
class Module:
    """The devices of a module by symbol; the `main` one has the dispatch."""

    devices: dict[str, Operation] = field(default_factory=dict)
    main: str = ""

    @property
    def dispatch(self) -> Operation:
        """The sequence of the main device."""
        (found,) = sequences(self.devices[self.main]).values()
        return found

    @property
    def configures(self) -> bool:
        """Whether the dispatch configures the array for other devices."""
        return any(o.name == CONFIGURE for o in self.dispatch.regions[0])

    def device(self, symbol: str, line: int) -> Operation:
        """A device that may be configured."""
        if symbol not in self.devices or symbol == self.main:
            raise AieFault("symbol", f"@{symbol} is no device to configure", line=line)
        return self.devices[symbol]


def load(text: str) -> Module:
    """The devices of a text; AieFault where they are not one dispatch."""
    module = Module()
    for op in read(text).regions[0]:
        if op.name != "aie.device":
            raise AieFault("syntax", f"{op.name} in a module", line=op.line)
        found = op.match(r"\(([^)]*)\)\s*(?:@(\w+))?")
        if found[1] not in DEVICES:
            raise AieFault("tile", f"the device {found[1]} is not known", line=op.line)
        name = found[2] or ""
        if name in module.devices:
            raise AieFault("symbol", f"device @{name} is defined twice", line=op.line)
        module.devices[name] = op
    for name, op in module.devices.items():
        own = sequences(op)
        if len(module.devices) == 1 or any(
            o.name == CONFIGURE for s in own.values() for o in s.regions[0]
        ):
            if module.main or len(own) != 1:
                raise AieFault("syntax", "a module has one sequence to dispatch", line=op.line)
            module.main = name
            if len(module.devices) == 1:
                return module
    if not module.main:
        raise AieFault("syntax", "a module has one sequence to dispatch")
    return module


def sequences(device: Operation) -> dict[str, Operation]:
    """The sequences of a device by symbol."""
    found: dict[str, Operation] = {}
    for op in device.regions[0]:
        if op.name == "aie.runtime_sequence":
            name = op.match(r"(?:@(\w+))?\s*\(.*\)")[1] or ""
            if name in found:
                raise AieFault("symbol", f"sequence @{name} is defined twice", line=op.line)
            found[name] = op
    return found


def declare(operation: Operation) -> Device:
    """What a device holds, checked, as it is when it has been configured."""
    device, links = Device(), []
    explicit: list[Operation] = []
    for op in operation.regions[0]:
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
                pass
            case _:
                explicit.append(op)
    declare_explicit(device, explicit)
    Elaboration(device).run(links)
    device.check()
    return device


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
