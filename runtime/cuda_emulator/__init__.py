"""Emitted CUDA C, run on the host by its own text: a check of generators that needs no GPU.

The text is translated to C++ word by word, compiled by the host's compiler and run in a process of its
own: threads are fibers in random order, memory is guarded, copies land late, inline PTX is executed.

    emulate(text, "gemm", [a, b, c, 64, 64, 64], grid=4, threads=128, shared_bytes=32768, seed=1)
"""

from dslc.runtime.cuda_emulator.building import compiler
from dslc.runtime.cuda_emulator.errors import EmulationError
from dslc.runtime.cuda_emulator.running import BoxMap, emulate

__all__ = ["BoxMap", "EmulationError", "compiler", "emulate"]
