"""Cores and channels that are reset while a device runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dslc.runtime.aie_simulator.channels import Channel
from dslc.runtime.aie_simulator.control.register_map import ENABLE, RESET
from dslc.runtime.aie_simulator.device import Device
from dslc.runtime.aie_simulator.engine import Engine, Process
from dslc.runtime.aie_simulator.parts import Tile


class Resets:
    """The processes of a device's cores and channels, which can begin anew.

    `cores` make the process of a core from its beginning on; `processes` are all that ever ran.
    """

    def __init__(
        self,
        device: Device,
        engine: Engine,
        cores: Mapping[Tile, Callable[[], Process]],
        processes: list[Process],
    ) -> None:
        self._device, self._engine, self._cores, self._processes = device, engine, cores, processes
        self._fresh: dict[Tile, int] = {}  # the control registers of cores that wait to begin anew

    def _latest(self, name: str) -> Process | None:
        return next((p for p in reversed(self._processes) if p.name == name), None)

    def _replace(self, name: str, process: Process | None) -> None:
        if (before := self._latest(name)) is not None:
            self._engine.stop([before])
        if process is not None:
            self._processes.append(process)
            self._engine.start(process)

    def control(self, tile: Tile) -> int:
        """The control register of a core, which is enabled until it ends."""
        process = self._latest(f"core {tile[0]}, {tile[1]}")
        runs = process is not None and not process.done
        return self._fresh.get(tile, ENABLE if runs else 0)

    def core(self, tile: Tile, value: int) -> None:
        """The control register of a core is written: once it is reset, it begins when it is enabled."""
        name = f"core {tile[0]}, {tile[1]}"
        if value & RESET:
            self._replace(name, None)
        if value & RESET or tile in self._fresh:
            self._fresh[tile] = value
        if self._fresh.get(tile, RESET) & (ENABLE | RESET) == ENABLE:
            del self._fresh[tile]
            for (_, at), end in self._device.ends.items():
                if at == tile:
                    end.begin()
            self._replace(name, self._cores[tile]() if tile in self._cores else None)

    def channel(self, channel: Channel) -> None:
        """A channel forgets its tasks, and waits for new ones."""
        channel.forget(self._engine)
        self._replace(channel.name, Process(channel.name, channel.process(self._engine)))
