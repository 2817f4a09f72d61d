"""What a run is told beyond its module and arrays."""

from __future__ import annotations

from dataclasses import dataclass, field

from dslc.runtime.aie_simulator.cores.calls import Functions


@dataclass(frozen=True, slots=True)
class Settings:
    """`values`: whether numbers are computed; `bfp16`: bf16 products in blocks that share an exponent.

    `functions` are those that a module declares only. With `waits` the host waits for a place in a full
    queue, with `zeroed` memories of tiles begin with zeros, with `overlay` every tile of a column takes
    control packets from its shim: all three as mlir-aie's compiler or its runtime may see to it. What
    is left in streams and queues at the end is no fault of a `lenient` run, which lists it.
    """

    values: bool = True
    bfp16: bool = False
    functions: Functions = field(default_factory=dict)
    waits: bool = False
    zeroed: bool = False
    overlay: bool = False
    lenient: bool = False
