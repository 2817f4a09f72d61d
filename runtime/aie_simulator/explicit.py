"""Modules at the level of locks, buffer descriptors and flows."""

from __future__ import annotations

from collections.abc import Sequence

from dslc.runtime.aie_simulator.device import Device
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.reader import Operation


def declare_explicit(device: Device, operations: Sequence[Operation]) -> None:
    """Locks, flows, allocations and DMA programs."""
    for op in operations:
        raise AieFault("syntax", f"{op.name} in a device", line=op.line)
