"""What goes wrong when a kernel runs in the emulator."""

from __future__ import annotations


class EmulationError(RuntimeError):
    """The kernel did what the machine forbids, or the emulator itself does not run."""


class Fault(EmulationError):
    """A signal ended the kernel: its `name` (SIGILL), the `address` it is about, and the `pc`."""

    def __init__(self, name: str, address: int, pc: int) -> None:
        super().__init__(f"{name} at pc {pc:#x}, address {address:#x}")
        self.name = name
        self.address = address
        self.pc = pc
