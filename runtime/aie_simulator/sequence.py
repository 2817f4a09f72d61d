"""The host: what its sequences push to the shims' channels, what they wait for and configure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dslc.runtime.aie_simulator.channels import Channel, Descriptor, HostTask, check_descriptor
from dslc.runtime.aie_simulator.configuration import Configuration, Totals
from dslc.runtime.aie_simulator.device import Device, memref_of
from dslc.runtime.aie_simulator.engine import Engine, Steps
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.machine import RATES, SHIM
from dslc.runtime.aie_simulator.module import CONFIGURE, RUN, Module, sequences
from dslc.runtime.aie_simulator.parts import HostMemory, Memory, Tile
from dslc.runtime.aie_simulator.reader import Operation, integers

_COPY = (
    r"\((?P<array>%\w+)\s*\[(?P<offsets>[^\]]*)\]\s*\[(?P<sizes>[^\]]*)\]\s*\[(?P<strides>[^\]]*)\]\)"
    r"\s*\{(?P<options>[^}]*)\}\s*:\s*(?P<type>.*)"
)
_RUN = r"@(?P<name>\w+)\s*\((?P<given>[^)]*)\)\s*:\s*\((?P<types>.*)\)"
Types = list[tuple[str, int, str]]


def types_of(sequence: Operation) -> Types:
    """The arguments of a sequence: names, elements, element types."""
    found = sequence.match(r"(?:@\w+\s*)?\((.*)\)")
    parts = [p.partition(":") for p in found[1].split(",") if p.strip()]
    return [(name.strip(), *memref_of(kind, sequence.line)) for name, _, kind in parts]


class HostSequence:
    """The dispatch of a module."""

    def __init__(
        self,
        module: Module,
        engine: Engine,
        totals: Totals,
        *,
        values: bool,
        bfp16: bool = False,
    ) -> None:
        self._module, self._engine, self._totals = module, engine, totals
        self._values, self._bfp16 = values, bfp16
        self._shared = HostMemory(RATES.host)

    def process(self, memories: Sequence[Memory]) -> Steps:
        """One command after another."""
        dispatch = self._module.dispatch
        arguments = _bound(dispatch, memories)
        if not self._module.configures:
            now = self._configured(self._module.devices[self._module.main])
            yield from Transfers(now.device, self._engine, self._values).process(
                dispatch, arguments
            )
            yield from self._end(now)
            return
        for operation in dispatch.regions[0]:
            if operation.name != CONFIGURE:
                raise AieFault(
                    "syntax", f"{operation.name} beside configurations", line=operation.line
                )
            yield from self._configure(operation, arguments)

    def _configured(self, operation: Operation) -> Configuration:
        return Configuration(
            operation,
            self._engine,
            self._shared,
            self._totals,
            values=self._values,
            bfp16=self._bfp16,
        )

    def _configure(self, operation: Operation, arguments: Mapping[str, Memory]) -> Steps:
        symbol = operation.match(r"@(\w+)")[1]
        device = self._module.device(symbol, operation.line)
        known = sequences(device)
        now = self._configured(device)
        yield now.cycles
        for run in operation.regions[0]:
            if run.name != RUN:
                raise AieFault("syntax", f"{run.name} in a configuration", line=run.line)
            found = run.match(_RUN)
            if found["name"] not in known:
                raise AieFault(
                    "symbol", f"@{symbol} has no sequence @{found['name']}", line=run.line
                )
            names = [n.strip() for n in found["given"].split(",") if n.strip()]
            if strange := [n for n in names if n not in arguments]:
                raise AieFault("symbol", f"{strange[0]} is no argument", line=run.line)
            own = _bound(known[found["name"]], [arguments[n] for n in names], run.line)
            transfers = Transfers(now.device, self._engine, self._values)
            yield from transfers.process(known[found["name"]], own)
            now.check_quiet(run.line)
        yield from self._end(now)

    def _end(self, now: Configuration) -> Steps:
        yield self._engine.idle
        now.end(self._engine)


def _bound(
    sequence: Operation, memories: Sequence[Memory], line: int | None = None
) -> dict[str, Memory]:
    """The arguments of a sequence by name; AieFault where they are not of its types."""
    types = types_of(sequence)
    line = sequence.line if line is None else line
    if len(types) != len(memories):
        raise AieFault("argument", f"{len(memories)} arguments for {len(types)}", line=line)
    for (name, count, kind), memory in zip(types, memories, strict=True):
        if (memory.count, memory.kind) != (count, kind):
            text = f"{name} is {count} of {kind}, {memory.name} {memory.count} of {memory.kind}"
            raise AieFault("argument", text, line=line)
    return {name: memory for (name, _, _), memory in zip(types, memories, strict=True)}


class Transfers:
    """A sequence of a configured device: tasks that are pushed, and waits for them."""

    def __init__(self, device: Device, engine: Engine, values: bool) -> None:
        self._device, self._engine, self._values = device, engine, values
        self._tasks: dict[tuple[Tile, int], HostTask] = {}

    def process(self, sequence: Operation, arguments: Mapping[str, Memory]) -> Steps:
        """One command after another."""
        for operation in sequence.regions[0]:
            yield float(RATES.issue)
            match operation.name:
                case "aiex.npu.dma_memcpy_nd":
                    self._copy(operation, arguments)
                case "aiex.npu.dma_wait":
                    found = operation.match(r"\{\s*symbol = @(\w+)\s*\}")
                    yield from self._wait(self._channel(found[1], operation.line))
                case _:
                    raise AieFault("syntax", f"{operation.name} in a sequence", line=operation.line)

    def _channel(self, name: str, line: int) -> Channel:
        if name not in self._device.host:
            raise AieFault("symbol", f"@{name} has no end in a shim tile", line=line)
        return self._device.host[name]

    def _copy(self, operation: Operation, arguments: Mapping[str, Memory]) -> None:
        found, line = operation.match(_COPY), operation.line
        options = _options(found["options"])
        channel = self._channel(options.get("metadata", "").lstrip("@"), line)
        memory = arguments.get(found["array"])
        if memory is None:
            raise AieFault("symbol", f"{found['array']} is no argument", line=line)
        sizes, strides = integers(found["sizes"]), integers(found["strides"])
        offsets = integers(found["offsets"])
        loops = tuple(zip(sizes, strides, strict=True))
        start = sum(o * s for o, s in zip(offsets, strides, strict=True))
        descriptor = Descriptor(memory, start, math.prod(sizes), loops, line=line)
        number = int(options.get("id", "0").split(":")[0])
        if not 0 <= number < SHIM.descriptors:
            raise AieFault("descriptors", f"a shim tile has no descriptor {number}", line=line)
        check_descriptor(descriptor, 0, task=True)
        key = (channel.tile, number)
        if key in self._tasks and not self._tasks[key].ended:
            raise AieFault(
                "descriptor-reuse",
                f"descriptor {number} of tile {channel.tile[0]}, 0 is still in use",
                line=line,
            )
        task = HostTask(descriptor, number, options.get("issue_token") == "true")
        self._tasks[key] = task
        channel.push(self._engine, task, line)

    def _wait(self, channel: Channel) -> Steps:
        while not channel.tokens:
            channel.told.what = f"a token of {channel.name} ({len(channel.tasks)} tasks left)"
            yield channel.told
        channel.tokens -= 1


def _options(text: str) -> Mapping[str, str]:
    pairs = (part.partition("=") for part in text.split(","))
    return {name.strip(): value.strip() for name, _, value in pairs}
