"""Kernels for AArch64 run on another machine, by the user mode of QEMU.

One process of QEMU serves any number of calls. Memory ends where an array ends, registers that are no
arguments hold nothing of use, and those that a function has to keep are looked at.

    emulator = Emulator(program, cpu="neoverse-n1")
    emulator.load(library).call("scale__base", [x, y, 64], written=[1], slices=[(0, 4)])
"""

from dslc.runtime.aarch64_emulator.errors import EmulationError
from dslc.runtime.aarch64_emulator.guest import qemu_path
from dslc.runtime.aarch64_emulator.running import Emulator, Loaded

__all__ = ["EmulationError", "Emulator", "Loaded", "qemu_path"]
