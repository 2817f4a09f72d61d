"""Kernels run in a guest: libraries loaded on fresh pages, calls over arrays of the host."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dslc.runtime.aarch64_emulator.elf import Image, read_image
from dslc.runtime.aarch64_emulator.errors import EmulationError, Fault
from dslc.runtime.aarch64_emulator.frame import Frame, Word
from dslc.runtime.aarch64_emulator.guest import Guest
from dslc.runtime.aarch64_emulator.memory import EXECUTE, READ, Area, Memory, Side


class Emulator:
    """An AArch64 CPU that QEMU knows; `program` is guest.s as a static program."""

    def __init__(self, program: bytes, cpu: str = "max") -> None:
        self._guest = Guest(program, cpu)
        self._memory = Memory(self._guest)
        self.cpu = cpu

    @property
    def alive(self) -> bool:
        """False once a kernel did not end in time, or the emulator was closed."""
        return self._guest.alive

    @property
    def capabilities(self) -> tuple[int, int]:
        """The words AT_HWCAP and AT_HWCAP2 of the CPU."""
        return self._guest.capabilities

    def load(self, library: bytes) -> Loaded:
        """A library on pages that held no other code, so that nothing translated before is taken."""
        image = read_image(library)
        with self._memory.lock:
            area = self._memory.map(len(image.content), READ | EXECUTE, image.content)
        return Loaded(self._guest, self._memory, image, area)

    def close(self) -> None:
        """End the guest."""
        self._guest.close()


class Loaded:
    """A library in a guest's memory."""

    def __init__(self, guest: Guest, memory: Memory, image: Image, area: Area) -> None:
        self._guest, self._memory, self._image, self._area = guest, memory, image, area

    def call(
        self,
        symbol: str,
        words: Sequence[Word],
        written: Collection[int],
        slices: Sequence[tuple[int, int]],
        scratch: int = 0,
        names: Sequence[str] = (),
        side: Side = "end",
        timeout: float = 60.0,
    ) -> int:
        """Call a kernel for each slice of its turns, one after another: the first result but 0, or 0.

        `words` are its arguments, `names` how errors call them, `written` the numbers of those arrays
        that it writes. `scratch` bytes are at hand for a call. An array has nothing readable behind its
        end, with `side="start"` before its beginning. EmulationError for what the machine forbids.
        """
        if symbol not in self._image.functions:
            raise EmulationError(f"the library has no function {symbol}")
        function = self._area.address + self._image.functions[symbol]
        with self._memory.lock:
            return self._run(function, words, written, slices, scratch, names, side, timeout)

    def _run(
        self,
        function: int,
        words: Sequence[Word],
        written: Collection[int],
        slices: Sequence[tuple[int, int]],
        scratch: int,
        names: Sequence[str],
        side: Side,
        timeout: float,
    ) -> int:
        frame = Frame(self._memory, words, written, scratch, side)
        try:
            status = 0
            for begin, end in slices:
                arguments = (frame.table, begin, end, frame.scratch)
                code = self._guest.call(function, arguments, timeout) & 0xFFFFFFFF
                status = status or code
            frame.finish(names)
        except Fault as fault:
            raise EmulationError(self._explained(fault, frame, names)) from None
        finally:
            frame.release()
        return status

    def _explained(self, fault: Fault, frame: Frame, names: Sequence[str]) -> str:
        offset = fault.pc - self._area.address
        content = self._image.content
        if not 0 <= offset <= len(content) - 4:
            return f"the kernel jumps out of its code, to {fault.pc:#x} ({fault.name})"
        place = f"{self._image.nearest(offset)}"
        word = int.from_bytes(content[offset : offset + 4], "little")
        if fault.name == "SIGILL":
            return f"{place}: the CPU {self._guest.cpu} has no instruction {word:#010x} (SIGILL)"
        what = frame.describe(fault.address, names)
        return f"{place}: the instruction {word:#010x} accesses memory {what} ({fault.name})"
