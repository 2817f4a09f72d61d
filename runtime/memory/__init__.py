"""Memory of machines: buffers that launches take as they are, and how much the host moved.

A buffer lies where the machine reads it. What one launch writes is an argument of the next without a
way through the host; weights are written once, from the file's own pages. `traffic` counts what the
host has moved.

    memory = memory_of("aie:npu2")
    w = memory.hold(read_safetensors("model.safetensors")["wq"])
    y = memory.empty((256, 2048), "bf16")
"""

from __future__ import annotations

import importlib

from dslc.runtime.memory.buffer import Buffer, Memory, Traffic

_HOST = ("dslc.runtime.memory.host", "HostMemory")
MEMORIES = {  # families whose machines have a memory of their own
    "cuda": ("dslc.runtime.cuda.buffers", "CudaMemory"),
    "aie": ("dslc.runtime.aie.buffers", "NpuMemory"),
}

__all__ = ["Buffer", "Memory", "Traffic", "memory_of"]


def memory_of(target: str) -> Memory:
    """The memory that a target's launches read: of the GPU, of the NPU, or the host's own.

    DSL0840 where a GPU is wanted and there is none.
    """
    module, name = MEMORIES.get(target.partition(":")[0], _HOST)
    memory: Memory = getattr(importlib.import_module(module), name)()
    return memory
