"""The tensor engine: products and transposes."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
from dslc.runtime.nki_simulator.elements import FLOATS, FP8, WIDE
from dslc.runtime.nki_simulator.machine import BANK_BYTES, MIN_CYCLES, PARTITIONS
from dslc.runtime.nki_simulator.neuroncore import Core, Engine, instruction
from dslc.runtime.nki_simulator.tensors import PSUM, SBUF, Tensor


class PerfMode(Enum):
    """`nisa.matmul_perf_mode`."""

    none = "none"
    double_row = "double_row"


_OUT = {2: ("float32",), 3: ("float32",), 4: ("float32", "bfloat16")}


@instruction
def nc_matmul(
    core: Core, dst: Any, stationary: Any, moving: Any, is_stationary_onezero: bool = False,
    is_moving_onezero: bool = False, is_transpose: bool = False, accumulate: bool | None = None,
    tile_position: tuple[int, ...] = (), tile_size: tuple[int, ...] = (),
    perf_mode: PerfMode = PerfMode.none,
) -> None:  # fmt: skip
    """dst [m, n] = stationary [k, m] transposed times moving [k, n], added up in float32.

    double_row: [k, 2, m] and [k, 2, n] of fp8, k rows of pairs. Products in float32 take four passes.
    """
    out = core.tile(dst, "dst", PSUM)
    left, right = core.tile(stationary, "stationary", SBUF), core.tile(moving, "moving", SBUF)
    double = perf_mode is PerfMode.double_row
    m, n = _shapes(core, out, left, right, double)
    _dtypes(core, out, left, right, double)
    _tiling(core, left, tile_position, tile_size)
    columns = tile_size[1] if tile_size else PARTITIONS
    core.require(
        not double or columns == PARTITIONS,
        "window",
        f"double_row goes with no tile of {columns} columns",
    )
    if core.version < 4:
        _bank(core, out)
    adds = _adds(core, out, accumulate)
    if core.values:
        a = core.f32(left).reshape(-1, m)
        b = core.f32(right).reshape(-1, n)
        product = a.T @ b
        core.write(out, core.f32(out).reshape(m, n) + product if adds else product)
    passes = 4 if left.dtype in WIDE else 1
    fast = is_stationary_onezero or is_moving_onezero
    cycles = max(min(MIN_CYCLES, m), n) + core.machine.load_cycles
    core.run("PE", cycles * (passes // 2 if passes > 1 and fast else passes), (left, right), (out,))
    flops = 2 * left.shape[0] * (2 if double else 1) * m * n
    if is_transpose:
        core.trace.transpose_flops += flops
    else:
        core.trace.flops += flops


def _shapes(core: Core, out: Tensor, left: Tensor, right: Tensor, double: bool) -> tuple[int, int]:
    """m and n, after every rule about shapes."""
    if left.shape[0] != right.shape[0]:
        core.fail(
            "partitions", f"stationary {left} and moving {right} contract over their partitions"
        )
    pair = 1
    if double:
        core.require(core.version >= 3, "version", "double_row needs NeuronCore-v3")
        pair = 2
        for t in (left, right):
            core.require(
                t.ndim == 3 and t.shape[1] == 2, "shape", f"double_row wants [k, 2, n]: {t}"
            )
    m, n = left.free // pair, right.free // pair
    if m > PARTITIONS:
        core.fail("stationary", f"stationary {left} has {m} columns")
    limit = core.machine.moving_limit // (2 if out.dtype == "float32" and core.version == 4 else 1)
    if n > limit:
        core.fail("moving", f"moving {right} has {n} columns, the limit is {limit}")
    if out.shape[0] != m or out.free != n:
        core.fail("shape", f"dst {out} is not {m} x {n}")
    return m, n


def _dtypes(core: Core, out: Tensor, left: Tensor, right: Tensor, double: bool) -> None:
    for t in (left, right):
        if t.dtype not in FLOATS:
            core.fail("dtype", f"{t} is not a float")
        if t.dtype == "float8_e4m3fn" and core.version < 4:
            core.fail("version", f"{t} needs NeuronCore-v4")
        if double and t.dtype not in FP8:
            core.fail("dtype", f"double_row takes fp8, not {t}")
    kinds = {left.dtype, right.dtype}
    if len(kinds & WIDE) and not kinds <= WIDE:
        core.fail("dtype", f"{left} and {right}: float32 goes with float32 alone")
    if kinds >= {"float8_e4m3", "float8_e4m3fn"}:
        core.fail("dtype", f"{left} and {right} mix the two fp8 formats")
    allowed = _OUT[core.version]
    if out.dtype not in allowed:
        core.fail("dtype", f"dst {out} is not {' or '.join(allowed)}")


def _tiling(core: Core, left: Tensor, position: tuple[int, ...], size: tuple[int, ...]) -> None:
    """Row and column tiles of the array."""
    core.require(
        bool(position) == bool(size), "signature", "tile_position and tile_size go together"
    )
    if not size:
        return
    smallest = 64 if core.version == 2 else 32
    for at, extent, used in zip(position, size, (left.shape[0], left.free), strict=True):
        core.require(
            extent in (smallest, 64, 128) and at % extent == 0 and at < PARTITIONS,
            "window",
            f"a tile of the array cannot be {extent} at {at}",
        )
        core.require(used <= extent, "window", f"stationary {left} exceeds its tile of {extent}")


def _bank(core: Core, out: Tensor) -> None:
    """dst lies in one bank; tiles of more than a bank begin at one."""
    first = out.offset * out.itemsize % out.storage.bytes
    reach = sum((n - 1) * s for n, s in zip(out.shape[1:], out.steps[1:], strict=True))
    last = first + reach * out.itemsize
    if first // BANK_BYTES != last // BANK_BYTES:
        core.fail("psum-bank", f"dst {out}: bytes {first} to {last} of its tile span two banks")


def _adds(core: Core, out: Tensor, accumulate: bool | None) -> bool:
    """Whether it accumulates, after the rules of accumulation groups."""
    accesses, steps = out.storage.accesses, core.trace.steps
    pending = accesses.unread(out.box)
    if accumulate is None:
        writer = accesses.writer(out.box)
        if writer < 0 and not accesses.writers(out.box):
            return False
        if pending < 0:
            core.fail("accumulate", f"dst {out} was read already: say accumulate=True or False")
        return True
    if not accumulate:
        if pending >= 0 and steps[pending].name == "nc_matmul":
            line = steps[pending].line
            core.fail(
                "accumulate", f"dst {out}: the products of line {line} are overwritten unread"
            )
        return False
    writers = accesses.writers(out.box)
    if not writers:
        core.fail("accumulate", f"dst {out} accumulates onto memory that no product has written")
    for writer in writers:
        if steps[writer].name != "nc_matmul":
            what = f"{steps[writer].name} of line {steps[writer].line}"
            core.fail("accumulate", f"dst {out} accumulates onto what {what} wrote")
    return True


@instruction
def nc_transpose(core: Core, dst: Any, data: Any, engine: Engine = Engine.unknown) -> None:
    """dst [f, p] = data [p, f]: the PE takes 128 x 128 from SBUF to PSUM, the DVE 32 x 32."""
    out, source = core.tile(dst, "dst"), core.tile(data, "data")
    on_pe = source.buffer == SBUF and out.buffer == PSUM and max(source.shape[0], source.free) > 32
    default = Engine.tensor if on_pe or source.shape[0] > 32 or source.free > 32 else Engine.vector
    queue = core.pick(default if engine is Engine.unknown else engine, ("PE", "DVE"))
    p, f = source.shape[0], source.free
    if queue == "PE":
        core.tile(data, "data", SBUF)
        core.tile(dst, "dst", PSUM)
        _bank(core, out)
    limit = PARTITIONS if queue == "PE" else 32
    if max(p, f) > limit:
        core.fail("window", f"data {source} is larger than {limit} x {limit}")
    if out.shape[0] != f or out.free != p:
        core.fail("shape", f"dst {out} is not {f} x {p}")
    if out.dtype != source.dtype:
        core.fail("dtype", f"dst {out} has not the data type of {source}")
    if core.values:
        core.write(out, np.ascontiguousarray(core.read(source).reshape(p, f).T))
    if queue == "PE":
        passes = (4 if core.version == 2 else 2) if source.dtype in WIDE else 1
        cycles = (max(p, min(MIN_CYCLES, f)) + core.machine.load_cycles) * passes
        core.trace.transpose_flops += 2 * p * p * f
    else:
        cycles = max(MIN_CYCLES, f)
    core.run(queue, cycles, (source,), (out,))
