"""The DMA engines: copies between and within HBM and SBUF, and transposes on the way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np
from dslc.runtime.nki_simulator.elements import convert
from dslc.runtime.nki_simulator.engines.indirect import IndirectTensor, gather, scatter
from dslc.runtime.nki_simulator.engines.operators import OPERATORS
from dslc.runtime.nki_simulator.machine import DMA_ENGINES, PARTITIONS
from dslc.runtime.nki_simulator.neuroncore import Core, Engine, instruction
from dslc.runtime.nki_simulator.tensors import HBM, PSUM, SBUF, Tensor, contiguous_run
from dslc.runtime.nki_simulator.trace import Rows


class DgeMode(Enum):
    """`nisa.dge_mode`: who generates the descriptors."""

    unknown = 0
    none = 1
    swdge = 2
    hwdge = 3


class OobMode(Enum):
    """`nisa.oob_mode`."""

    error = 0
    skip = 1


def _side(core: Core, value: Any, what: str) -> Tensor:
    if not isinstance(value, Tensor):
        core.fail("signature", f"{what} is a tensor, not {type(value).__name__}")
    if what == "dst" and value.storage.given:
        core.fail("output", f"dst {value} is an argument of the kernel: it is read alone")
    if value.buffer == PSUM:
        core.fail("memory", f"{what} {value}: DMA does not reach PSUM")
    return value


def _run_bytes(tensor: Tensor) -> int:
    """The bytes of a contiguous row; a partition's are one, another's others."""
    if not tensor.storage.on_chip:
        return contiguous_run(tensor) * tensor.itemsize
    run = 1
    for n, step in zip(reversed(tensor.shape[1:]), reversed(tensor.steps[1:]), strict=True):
        if n != 1 and step != run:
            break
        run *= n
    return run * tensor.itemsize


def _transfer(core: Core, out: Tensor, source: Tensor, rows: Rows) -> None:
    """Note a transfer and the bytes that pass between HBM and the chip."""
    crosses = out.buffer != source.buffer
    queue = "move" if not crosses else "load" if source.buffer == HBM else "store"
    if source.buffer == HBM:
        core.trace.hbm_read += source.size * source.itemsize
    if out.buffer == HBM:
        core.trace.hbm_written += out.size * out.itemsize
    numbers = tuple(t.rows for t in (source, out) if isinstance(t, IndirectTensor))
    core.issue(queue, 0.0, 0.0, (source, *numbers), (out,), rows)


@instruction
def dma_copy(
    core: Core,
    dst: Any,
    src: Any,
    priority: int | None = None,
    oob_mode: OobMode = OobMode.error,
    dge_mode: DgeMode = DgeMode.unknown,
    engine: Engine = Engine.unknown,
) -> None:
    """dst = src between and within HBM and SBUF: as many elements, in row-major order."""
    out, source = _side(core, dst, "dst"), _side(core, src, "src")
    if out.size != source.size:
        core.fail("shape", f"src {source} has not as many elements as dst {out}")
    if priority is not None:
        core.require(core.version >= 4, "version", "priority needs NeuronCore-v4")
    if dge_mode is DgeMode.hwdge:
        core.require(core.version >= 3, "version", "hwdge needs NeuronCore-v3")
        core.require(source.dtype == out.dtype, "dtype", f"hwdge casts nothing: {source} to {out}")
    if engine is not Engine.unknown:
        core.require(
            engine in (Engine.sync, Engine.scalar), "engine", f"{engine} makes no descriptors"
        )
        core.require(
            dge_mode is DgeMode.hwdge, "engine", f"{engine} makes descriptors with hwdge alone"
        )
    skip = oob_mode is OobMode.skip
    if isinstance(source, IndirectTensor) or isinstance(out, IndirectTensor):
        core.require(out.dtype == source.dtype, "dtype", f"{source} is not of the type of {out}")
        core.require(out.shape == source.shape, "shape", f"{source} is not of the shape of {out}")
    if not core.values:
        pass
    elif isinstance(source, IndirectTensor):
        gather(source, out, skip)
    elif isinstance(out, IndirectTensor):
        scatter(core.read(source), out, skip)
    else:
        values = core.read(source)
        core.write(out, convert(values, source.dtype, out.dtype).reshape(out.shape))
    row = min(_run_bytes(source), _run_bytes(out))
    total = max(source.size * source.itemsize, out.size * out.itemsize)
    _transfer(core, out, source, Rows(max(1, total // max(row, 1)), row))


_AXES = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}


@instruction
def dma_transpose(
    core: Core,
    dst: Any,
    src: Any,
    axes: tuple[int, ...] | None = None,
    priority: int | None = None,
    dge_mode: DgeMode = DgeMode.unknown,
    oob_mode: OobMode = OobMode.error,
) -> None:
    """dst in SBUF = src with first and last axis exchanged; a last axis of up to 128.

    2-byte types, from NeuronCore-v3 on 4-byte ones, too. By descriptors of the hardware (hwdge, and
    where the source begins at a register) 2 bytes and 1, 2, 4, 8 or 16 rows.
    """
    out, source = _side(core, dst, "dst"), _side(core, src, "src")
    core.require(out.buffer == SBUF, "memory", f"dst {out} is not in SBUF")
    core.require(source.ndim in _AXES, "shape", f"src {source} has not 2 to 4 axes")
    order = _AXES[source.ndim]
    core.require(axes is None or tuple(axes) == order, "signature", f"axes are {order}, not {axes}")
    wanted = tuple(source.shape[a] for a in order)
    core.require(out.shape == wanted, "shape", f"dst {out} is not of shape {wanted}")
    core.require(source.dtype == out.dtype, "dtype", f"{out} has not the data type of {source}")
    sizes = (2, 4) if core.version >= 3 else (2,)
    core.require(source.itemsize in sizes, "dtype", f"src {source} is not of 2 (or 4) bytes")
    _descriptors(core, source, dge_mode)
    if priority is not None:
        core.require(core.version >= 4, "version", "priority needs NeuronCore-v4")
    core.require(
        oob_mode is OobMode.error or isinstance(source, IndirectTensor),
        "signature",
        "oob_mode=skip goes with rows by index",
    )
    core.require(
        source.shape[-1] <= PARTITIONS, "window", f"src {source}: the last axis exceeds 128"
    )
    if core.values:
        core.write(out, np.ascontiguousarray(core.read(source).transpose(order)))
    machine = core.machine
    rate = machine.transpose_rate if source.buffer == HBM else machine.sbuf_transpose_rate
    # The engines work together on blocks of 128 x 16 elements: rows cost nothing by themselves.
    share = -(-math.prod(source.shape) * source.itemsize // DMA_ENGINES)
    _transfer(core, out, source, Rows(DMA_ENGINES, share, rate))


def _descriptors(core: Core, source: Tensor, mode: DgeMode) -> None:
    """The conditions of a transpose's descriptors (nki.isa.dma_transpose; 0.6 relaxed the rows)."""
    core.require(mode in (DgeMode.unknown, DgeMode.hwdge), "signature", f"no transpose by {mode}")
    if mode is DgeMode.unknown and not core.awaits_registers:
        return
    core.require(core.version >= 3, "version", "hwdge needs NeuronCore-v3")
    core.require(source.itemsize == 2, "dtype", f"hwdge transposes 2-byte types, not {source}")
    core.require(
        source.shape[0] in (1, 2, 4, 8, 16),
        "window",
        f"hwdge transposes up to 16 rows, not {source}",
    )


@instruction
def dma_compute(
    core: Core,
    dst: Any,
    srcs: Sequence[Any],
    reduce_op: Any,
    scales: Sequence[float] | None = None,
    unique_indices: bool = True,
    oob_mode: OobMode = OobMode.error,
) -> None:
    """dst = the sum of up to 16 tensors, added up in float32 by the DMA engines on their way."""
    out = _side(core, dst, "dst")
    sources = [_side(core, src, f"srcs[{i}]") for i, src in enumerate(srcs)]
    core.require(1 <= len(sources) <= 16, "window", f"{len(sources)} tensors: one to 16 are added")
    core.require(
        reduce_op is OPERATORS["add"], "operator", f"reduce_op={reduce_op!r} is not nl.add"
    )
    core.require(
        all(s == 1.0 for s in scales or ()), "operator", f"scales={scales} are not all 1.0"
    )
    for source in sources:
        core.require(source.size == out.size, "shape", f"{source} has not the elements of {out}")
    if core.values:
        total = sum(core.f32(s).reshape(out.shape) for s in sources)
        core.write(out, total)
    row = min(_run_bytes(t) for t in (out, *sources))
    for source in sources:
        if source.buffer == HBM:
            core.trace.hbm_read += source.size * source.itemsize
    if out.buffer == HBM:
        core.trace.hbm_written += out.size * out.itemsize
    # Every source is a row of its own for the engines; the sum is written once.
    rows = Rows(max(1, len(sources) * out.size * out.itemsize // max(row, 1)), row)
    queue = "store" if out.buffer == HBM else "load"
    core.issue(queue, 0.0, 0.0, tuple(sources), (out,), rows)
