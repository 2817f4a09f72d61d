"""The host: what its sequence pushes to the shims' channels, and what it waits for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dslc.runtime.aie_simulator.channels import Channel, Descriptor, HostTask, check_descriptor
from dslc.runtime.aie_simulator.device import Device, memref_of
from dslc.runtime.aie_simulator.engine import Engine, Steps
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.machine import RATES, SHIM
from dslc.runtime.aie_simulator.parts import Memory, Tile
from dslc.runtime.aie_simulator.reader import Operation, integers

_COPY = (
    r"\((?P<array>%\w+)\s*\[(?P<offsets>[^\]]*)\]\s*\[(?P<sizes>[^\]]*)\]\s*\[(?P<strides>[^\]]*)\]\)"
    r"\s*\{(?P<options>[^}]*)\}\s*:\s*(?P<type>.*)"
)


class HostSequence:
    """The sequence of a module over its arguments."""

    def __init__(self, device: Device, operation: Operation, engine: Engine) -> None:
        self._device, self._operation, self._engine = device, operation, engine
        self._tasks: dict[tuple[Tile, int], HostTask] = {}
        self.arguments: dict[str, Memory] = {}

    def types(self) -> list[tuple[str, int, str]]:
        """Its arguments: names, elements, element types."""
        found = self._operation.match(r"(?:@\w+\s*)?\((.*)\)")
        parts = [p.partition(":") for p in found[1].split(",") if p.strip()]
        return [(name.strip(), *memref_of(kind, self._operation.line)) for name, _, kind in parts]

    def bind(self, arrays: Sequence[Memory]) -> None:
        """The memories of the arguments."""
        self.arguments = {n: m for (n, _, _), m in zip(self.types(), arrays, strict=True)}

    def process(self) -> Steps:
        """One command after another."""
        for operation in self._operation.regions[0]:
            yield float(RATES.issue)
            match operation.name:
                case "aiex.npu.dma_memcpy_nd":
                    self._copy(operation)
                case "aiex.npu.dma_wait":
                    found = operation.match(r"\{\s*symbol = @(\w+)\s*\}")
                    yield from self._wait(self._channel(found[1], operation.line))
                case _:
                    raise AieFault("syntax", f"{operation.name} in a sequence", line=operation.line)

    def _channel(self, name: str, line: int) -> Channel:
        if name not in self._device.host:
            raise AieFault("symbol", f"@{name} has no end in a shim tile", line=line)
        return self._device.host[name]

    def _copy(self, operation: Operation) -> None:
        found, line = operation.match(_COPY), operation.line
        options = _options(found["options"])
        channel = self._channel(options.get("metadata", "").lstrip("@"), line)
        memory = self.arguments.get(found["array"])
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
                f"descriptor {number} of tile {channel.tile[0]}, 0 is still in use", line=line,
            )  # fmt: skip
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
