"""A process of QEMU that makes calls: AArch64 functions, and calls of its kernel.

One guest serves any number of calls, so that starting QEMU (30 ms) and translating a kernel are paid
once. Its memory is a file that the host maps, too: arguments and results are seen without a copy.
"""

from __future__ import annotations

import atexit
import contextlib
import mmap
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence

from dslc.runtime.aarch64_emulator import control
from dslc.runtime.aarch64_emulator.errors import EmulationError, Fault

_START_SECONDS = 30.0
_NAMES = ("qemu-aarch64", "qemu-aarch64-static")


def qemu_path() -> str | None:
    """The program that runs AArch64 here: $DSLC_QEMU, or QEMU's user mode in PATH."""
    names = [os.environ.get("DSLC_QEMU"), *_NAMES]
    return next((p for n in names if n and (p := shutil.which(n))), None)


class Guest:
    """A running guest of `program` (guest.s, linked) on a CPU that QEMU knows, such as `max`.

    `memory` is the file descriptor of what both map; its first page is the control page.
    """

    def __init__(self, program: bytes, cpu: str = "max") -> None:
        qemu = qemu_path()
        if qemu is None:
            raise EmulationError(
                "running AArch64 here needs QEMU's user mode: apt install qemu-user"
            )
        self.cpu = cpu
        self.memory = os.memfd_create("dslc-aarch64", os.MFD_CLOEXEC)
        os.ftruncate(self.memory, control.PAGE)
        self._map = mmap.mmap(self.memory, control.PAGE)
        self._page = control.Page.from_buffer(self._map)
        self._page.parent = os.getpid()
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._process = self._start(qemu, program)
        atexit.register(self.close)
        if not control.exchange(self._page, self._alive, _START_SECONDS):
            raise EmulationError(f"QEMU does not start with -cpu {cpu}: {self._said()}")

    def _start(self, qemu: str, program: bytes) -> subprocess.Popen[bytes]:
        code = os.memfd_create("dslc-aarch64-guest", 0)
        try:
            os.write(code, program)
            os.lseek(self.memory, 0, os.SEEK_SET)
            return subprocess.Popen(
                [qemu, "-cpu", self.cpu, f"/proc/self/fd/{code}"],
                stdin=self.memory,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=(code,),
            )
        finally:
            os.close(code)

    @property
    def capabilities(self) -> tuple[int, int]:
        """The words AT_HWCAP and AT_HWCAP2 of its CPU."""
        low, high = self._page.capabilities
        return low, high

    def call(self, function: int, arguments: Sequence[int], timeout: float = 60.0) -> int:
        """What the function at an address gives, as a signed number of 64 bits.

        Before it, registers that are no arguments hold nothing of use. A Fault where a signal ends it;
        an EmulationError where it does not end in time, or changes registers that it has to keep.
        """
        result = self._request(function, 0, arguments, timeout)
        page = self._page
        if page.signal:
            raise Fault(signal.Signals(page.signal).name, page.address, page.pc)
        if page.clobbered:
            names = ", ".join(_registers(page.clobbered))
            raise EmulationError(f"the kernel changes registers that it has to keep: {names}")
        return result

    def system(self, number: int, arguments: Sequence[int]) -> int:
        """The result of a call of the guest's kernel, negative for an error."""
        return self._request(0, number, arguments, _START_SECONDS)

    def _request(self, function: int, number: int, arguments: Sequence[int], timeout: float) -> int:
        page = self._page
        with self._lock:
            page.function, page.number = function, number
            for i, value in enumerate(arguments):
                page.arguments[i] = value & 0xFFFFFFFFFFFFFFFF
            try:
                answered = control.exchange(page, self._alive, timeout)
            except TimeoutError:
                self.close()
                raise EmulationError(f"the kernel did not end within {timeout:g} s") from None
            if not answered:
                raise EmulationError(f"the guest has ended: {self._said()}")
            return int(page.result)

    def _alive(self) -> bool:
        return self._process.poll() is None

    def _said(self) -> str:
        stderr = self._process.stderr
        said = stderr.read().decode(errors="replace").strip() if stderr else ""
        return said or f"its exit status is {self._process.poll()}"

    @property
    def alive(self) -> bool:
        """Whether it can be called: by the process that started it, and not by a fork of that."""
        return os.getpid() == self._owner and self._alive()

    def close(self) -> None:
        """End the process; its memory stays until nothing maps it."""
        atexit.unregister(self.close)
        if os.getpid() != self._owner:
            return
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()


def _registers(mask: int) -> list[str]:
    names = {31: "sp", **{n: f"x{n}" for n in range(31)}}
    return [names.get(n, f"d{n - 32}") for n in range(64) if mask >> n & 1]
