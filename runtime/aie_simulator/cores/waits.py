"""What a core's program calls where it waits for others: its FIFOs, locks and cascades."""

from __future__ import annotations

from typing import Any

from dslc.runtime.aie_simulator.cores.cascades import from_bytes, to_bytes
from dslc.runtime.aie_simulator.device import Device, End
from dslc.runtime.aie_simulator.engine import Engine, Steps
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.parts import Cascade, Lock, Tile


class LockHandle:
    """A lock that a core passes to a function."""

    def __init__(self, engine: Engine, lock: Lock) -> None:
        self._engine, self._lock = engine, lock

    def acquire(self, amount: int = 1, *, equal: bool = False) -> Steps:
        """Wait until the value is at least, or exactly, the amount, and subtract it."""
        yield from self._lock.acquire(amount, equal=equal)

    def release(self, amount: int = 1) -> None:
        """Add to the value."""
        self._lock.release(self._engine, amount)


class Runtime:
    """The core of a tile."""

    def __init__(self, engine: Engine, device: Device, tile: Tile) -> None:
        self._engine, self._device, self._tile = engine, device, tile

    def end(self, fifo: str, port: str, line: int) -> End:
        """The core's end of a FIFO."""
        end = self._device.ends.get((fifo, self._tile))
        if end is None or end.produces != (port == "Produce"):
            raise AieFault("fifo", f"@{fifo} does not {port.lower()} here", line=line)
        return end

    def acquire(self, fifo: str, port: str, count: int, line: int) -> Any:
        """Objects, so many held in all."""
        end = self.end(fifo, port, line)
        if count > len(end.objects):
            raise AieFault(
                "fifo", f"{count} objects of @{fifo}, which has {len(end.objects)}", line=line
            )
        more = count - end.held
        if more > 0:
            yield from end.taken.acquire(more)
            if end.produces:
                for number in range(end.held, count):
                    end.objects[(end.at + number) % len(end.objects)].begin()
            end.held = count
        return [end.objects[(end.at + i) % len(end.objects)] for i in range(count)]

    def release(self, fifo: str, port: str, count: int, line: int) -> None:
        """The oldest objects that are held."""
        end = self.end(fifo, port, line)
        if count > end.held:
            raise AieFault(
                "fifo", f"{count} objects of @{fifo} are released, {end.held} are held", line=line
            )
        for number in range(count):
            memory = end.objects[(end.at + number) % len(end.objects)]
            if end.produces and end.checked and memory.unwritten:
                raise AieFault(
                    "partial",
                    f"{memory.unwritten} elements of an object of @{fifo} are not written",
                    line=line,
                )
            if not end.produces:
                memory.begin()
        end.held -= count
        end.at = (end.at + count) % len(end.objects)
        end.given.release(self._engine, count)

    def cascade(self, line: int, *, sends: bool) -> Cascade:
        """The cascade that the core sends to, or takes from."""
        for link in self._device.cascades:
            if (link.source if sends else link.target) == self._tile:
                return link
        raise AieFault("cascade", "no cascade stream begins or ends here", line=line)

    def put(self, value: Any, kind: str, line: int) -> Steps:
        """`aie.put_cascade`."""
        bits = to_bytes(value, kind) if value is not None else b""
        yield from self.cascade(line, sends=True).put(self._engine, bits)

    def get(self, kind: str, line: int) -> Any:
        """`aie.get_cascade`."""
        cascade = self.cascade(line, sends=False)
        yield from cascade.get(self._engine)
        bits = cascade.queue.popleft()
        return from_bytes(bits, kind) if bits else None

    def handle(self, lock: Lock) -> LockHandle:
        """A lock as a function has it."""
        return LockHandle(self._engine, lock)

    def lock(self, lock: Lock, action: str, value: int) -> Steps:
        """`aie.use_lock` of a core."""
        if action == "Release":
            lock.release(self._engine, value)
            return
        yield from lock.acquire(value, equal=action == "Acquire")
