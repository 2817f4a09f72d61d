"""Emitted kernels for AMD Instinct, run on the host by their ISA text: no GPU, no ROCm.

The text that clang prints for gfx942 or gfx950 is translated: C functions, compiled by the host's
compiler, do what its instructions do. A machine runs them: waves of 64 lanes in lockstep, LDS, MFMA,
memory whose effects land at their waits, workgroups in an order that a seed draws. What the machine
forbids is reported with the line of the text.

    emulate(text, "gemm", [a, b, c, 64], grid=(4, 1), block=256, seed=1)
"""

from dslc.runtime.hip_emulator.building import compiler
from dslc.runtime.hip_emulator.errors import EmulationError
from dslc.runtime.hip_emulator.memory import Buffer
from dslc.runtime.hip_emulator.running import Executed, Module, emulate

__all__ = ["Buffer", "EmulationError", "Executed", "Module", "compiler", "emulate"]
