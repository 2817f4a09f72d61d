"""A module's devices: what each holds, and the sequence with which a dispatch begins.

A module of one kernel has one device, whose sequence is the dispatch. One of a program has a device for
each configuration of the array, and one whose sequence configures it and runs theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dslc.runtime.aie_simulator.cores.cascades import declare_cascade
from dslc.runtime.aie_simulator.device import Device
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.explicit import (
    declare_allocation,
    declare_buffer,
    declare_dma,
    declare_flows,
    declare_lock,
    declare_packets,
)
from dslc.runtime.aie_simulator.fifos import Elaboration
from dslc.runtime.aie_simulator.machine import COMPUTE, DEVICES, kind_of
from dslc.runtime.aie_simulator.placing import place_tiles
from dslc.runtime.aie_simulator.reader import Operation, read

CONFIGURE, RUN, LOAD = "aiex.configure", "aiex.run", "aiex.npu.load_pdi"


@dataclass(slots=True)
class Module:
    """The devices of a module by symbol; the `main` one has the `dispatch`, its sequence.

    `globals` are what stands beside the devices: constants and functions that are declared.
    """

    devices: dict[str, Operation] = field(default_factory=dict)
    globals: list[Operation] = field(default_factory=list)
    main: str = ""
    sequence: str = ""

    @property
    def dispatch(self) -> Operation:
        """The sequence of the main device."""
        return sequences(self.devices[self.main])[self.sequence]

    @property
    def configures(self) -> bool:
        """Whether the dispatch configures the array for devices itself."""
        return _configures(self.dispatch)

    def device(self, symbol: str, line: int) -> Operation:
        """A device that may be configured."""
        if symbol not in self.devices:
            raise AieFault("symbol", f"@{symbol} is no device to configure", line=line)
        return self.devices[symbol]


def _configures(sequence: Operation) -> bool:
    return any(o.name == CONFIGURE for o in sequence.body)


def load(text: str, device: str | None = None, sequence: str | None = None) -> Module:
    """The devices of a text; AieFault where they are not one dispatch, or none of those names."""
    module = Module()
    for op in read(text).body:
        if op.name != "aie.device":
            if op.name not in ("func.func", "memref.global"):
                raise AieFault("syntax", f"{op.name} in a module", line=op.line)
            module.globals.append(op)
            continue
        if (kind := op.text("device")) not in DEVICES:
            raise AieFault("tile", f"the device {kind} is not known", line=op.line)
        name = op.text("sym_name", "")
        if name in module.devices:
            raise AieFault("symbol", f"device @{name} is defined twice", line=op.line)
        module.devices[name] = op
    candidates = [
        (name, symbol, own)
        for name, op in module.devices.items()
        for symbol, own in sequences(op).items()
        if device in (None, name) and sequence in (None, symbol)
    ]
    if device is None and len(candidates) > 1:
        # Those of devices that are configured by another's sequence are run by that one.
        candidates = [f for f in candidates if _configures(f[2])] or candidates
    if len(candidates) != 1:
        raise AieFault("syntax", _which([(n, s) for n, s, _ in candidates], device, sequence))
    module.main, module.sequence, _ = candidates[0]
    return module


def _which(found: list[tuple[str, str]], device: str | None, sequence: str | None) -> str:
    if not found:
        named = [f"@{n}" for n in (device, sequence) if n]
        return (
            f"no sequence is {' '.join(named)}" if named else "a module has a sequence to dispatch"
        )
    names = ", ".join(" ".join(f"@{name}" for name in pair if name) for pair in found)
    return f"which sequence is dispatched, of {names}? Name its device or itself"


def sequences(device: Operation) -> dict[str, Operation]:
    """The sequences of a device by symbol."""
    by_symbol: dict[str, Operation] = {}
    for op in device.body:
        if op.name == "aie.runtime_sequence" or _is_older(op):
            name = op.text("sym_name", "")
            if name in by_symbol:
                raise AieFault("symbol", f"sequence @{name} is defined twice", line=op.line)
            by_symbol[name] = op
    return by_symbol


def _is_older(op: Operation) -> bool:
    """Whether this is a sequence as it was written until 2024: a function that commands the array."""
    return op.name == "func.func" and any(o.name.startswith("aiex.") for o in op.body)


def declare(
    operation: Operation, beside: list[Operation] | None = None, *, zeroed: bool = False
) -> Device:
    """What a device holds, checked, as it is when it has been configured."""
    device = Device(DEVICES[operation.text("device")], zeroed=zeroed)
    place_tiles(device, operation.body)
    later: dict[str, list[Operation]] = {}
    for op in [*(beside or ()), *operation.body]:
        match op.name:
            case "aie.tile":
                device.declare_tile(op)
            case "aie.buffer":
                declare_buffer(device, op)
            case "aie.lock":
                declare_lock(device, op)
            case "aie.core":
                _core(device, op)
            case "aie.cascade_flow":
                declare_cascade(device, op)
            case "func.func" | "aie.bd_chain":
                device.name(op.text("sym_name"), op, op.line)
            case "memref.global":
                # A FIFO's host end, or a core's buffer, may have a global of its name beside it.
                device.symbols.setdefault(f"global {op.text('sym_name')}", op)
            case "aie.runtime_sequence" | "aie.end" | "aie.logical_tile" | "aie.trace":
                pass
            case name if name in _LATER:
                later.setdefault(name, []).append(op)
            case _:
                raise AieFault("syntax", f"{op.name} in a device", line=op.line)
    for name in ("aie.mem", "aie.memtile_dma"):
        for op in later.get(name, ()):
            declare_dma(device, op)
    declare_flows(device, later.get("aie.flow", []))
    for op in later.get("aie.packet_flow", ()):
        declare_packets(device, op)
    for op in later.get("aie.shim_dma_allocation", ()):
        declare_allocation(device, op)
    Elaboration(device, later.get("aie.objectfifo", [])).run(later.get("aie.objectfifo.link", []))
    device.check()
    return device


_LATER = (
    "aie.mem",
    "aie.memtile_dma",
    "aie.flow",
    "aie.packet_flow",
    "aie.shim_dma_allocation",
    "aie.objectfifo",
    "aie.objectfifo.link",
)


def _core(device: Device, op: Operation) -> None:
    tile = device.tile(op.operands[0], op.line)
    if kind_of(tile[1]) is not COMPUTE or any(t == tile for t, _ in device.cores):
        raise AieFault("tile", f"tile {tile[0]}, {tile[1]} has no core left", line=op.line)
    device.stacks[tile] = op.integer("stack_size", 1024)
    device.cores.append((tile, op))
