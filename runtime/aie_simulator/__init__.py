"""NPU modules run on the host: the emitted MLIR, unchanged, under every rule of the machine.

`simulate` reads a module of the aie dialect, at the level of object FIFOs or of locks and buffer
descriptors, and runs its cores, DMA channels and host sequence as processes in modelled time: NumPy
gives the numbers, what the machine forbids is a fault that names the rule and the line, and a
standstill is reported with who waits for what. Times are *modelled*.
"""

from dslc.runtime.aie_simulator.errors import RULES, AieFault
from dslc.runtime.aie_simulator.running import Run, blank_arguments, simulate

__all__ = ["RULES", "AieFault", "Run", "blank_arguments", "simulate"]
