"""Cascade streams: what a core passes to its neighbour, as vectors of 512 bits."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from dslc.runtime.aie_simulator.device import Device
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.machine import CASCADE_WIDTH, COMPUTE, kind_of
from dslc.runtime.aie_simulator.parts import Cascade, element_type
from dslc.runtime.aie_simulator.reader import Operation

_VECTOR = re.compile(r"vector<(\d+)x(\w+)>")


def declare_cascade(device: Device, op: Operation) -> None:
    """`aie.cascade_flow(%source, %target)`."""
    found = op.match(r"\((%\w+), (%\w+)\)")
    source, target = (device.tile(found[n], op.line) for n in (1, 2))
    ends = (kind_of(t[1]) is COMPUTE for t in (source, target))
    apart = target[0] - source[0], source[1] - target[1]
    if not all(ends) or apart not in ((1, 0), (0, 1)):
        raise AieFault("cascade", f"from tile {source} to tile {target}", line=op.line)
    for other in device.cascades:
        if other.source == source or other.target == target:
            raise AieFault("cascade", f"tile {source} or {target} has one already", line=op.line)
    device.cascades.append(Cascade(source, target))


def vector_kind(text: str, line: int) -> str:
    """The element type of a vector that fills the stream."""
    found = _VECTOR.fullmatch(text.strip())
    if found is None or int(found[1]) * element_type(found[2], line).itemsize != CASCADE_WIDTH:
        raise AieFault("cascade", f"{text} is passed, not {CASCADE_WIDTH * 8} bits", line=line)
    return found[2]


def to_bytes(value: Any, kind: str) -> bytes:
    """The bits of a vector; bf16 is an f32 in a register."""
    return np.asarray(value).astype(element_type(kind, 0)).tobytes()


def from_bytes(bits: bytes, kind: str) -> Any:
    """The vector of bits."""
    found = np.frombuffer(bits, element_type(kind, 0))
    return found.astype(np.float32) if kind == "bf16" else found.copy()
