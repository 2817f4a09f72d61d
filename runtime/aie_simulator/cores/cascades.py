"""Cascade streams: what a core passes to its neighbour, as vectors of 512 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from dslc.compiler.mlir import Type
from dslc.runtime.aie_simulator.device import Device
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.machine import CASCADE_WIDTH, COMPUTE, kind_of
from dslc.runtime.aie_simulator.parts import Cascade, element_type
from dslc.runtime.aie_simulator.reader import Operation


def declare_cascade(device: Device, op: Operation) -> None:
    """`aie.cascade_flow(%source, %target)`."""
    source, target = (device.tile(name, op.line) for name in op.operands)
    ends = (kind_of(t[1]) is COMPUTE for t in (source, target))
    apart = target[0] - source[0], source[1] - target[1]
    if not all(ends) or apart not in ((1, 0), (0, 1)):
        raise AieFault("cascade", f"from tile {source} to tile {target}", line=op.line)
    for other in device.cascades:
        if other.source == source or other.target == target:
            raise AieFault("cascade", f"tile {source} or {target} has one already", line=op.line)
    device.cascades.append(Cascade(source, target))


def vector_kind(kind: Type, line: int) -> str:
    """The element type of a vector that fills the stream."""
    fits = kind.kind == "vector" and (
        kind.count * element_type(kind.element, line).itemsize == CASCADE_WIDTH
    )
    if not fits:
        raise AieFault("cascade", f"{kind} is passed, not {CASCADE_WIDTH * 8} bits", line=line)
    return kind.element


def to_bytes(value: Any, kind: str) -> bytes:
    """The bits of a vector; bf16 is an f32 in a register."""
    return np.asarray(value).astype(element_type(kind, 0)).tobytes()


def from_bytes(bits: bytes, kind: str) -> Any:
    """The vector of bits."""
    vector = np.frombuffer(bits, element_type(kind, 0))
    return vector.astype(np.float32) if kind == "bf16" else vector.copy()
