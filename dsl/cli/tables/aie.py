"""What `dslc inspect` says of a kernel for an NPU: one run of the simulator without numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dslc.compilation.specialization import Specialization
    from dslc.runtime.aie_simulator import Run


def run_of(made: Specialization, until: float = math.inf) -> Run:
    """The kernel's module on the simulator; nothing is computed.

    TimeoutError where it goes on at `until`, of time.monotonic().
    """
    from dslc.runtime.aie_simulator import simulate

    return simulate(made.source("aie-mlir"), None, until=until)


def run_lines(run: Run) -> Iterator[tuple[str, str]]:
    """Labels and texts."""
    from dslc.cli.tables.table import size_text

    again = f", the array configured {run.configurations} times" if run.configurations > 1 else ""
    yield "modelled", f"{run.microseconds:.4g} us{again}"
    cores = [busy / run.cycles for name, busy in run.busy.items() if name.startswith("core")]
    yield "cores", f"{len(cores)}, busy {min(cores):.0%} to {max(cores):.0%}"
    read, written = size_text(run.host_read), size_text(run.host_written)
    rate = (run.host_read + run.host_written) / run.microseconds / 1e3
    yield "host memory", f"{read} read, {written} written, {rate:.3g} GB/s"
    fullest = max(run.memory.items(), key=lambda m: m[1])
    (column, row), used = fullest
    yield "on chip", f"at most {size_text(used)}, in tile {column}, {row}"


def array_lines(run: Run) -> Iterator[str]:
    """The array, the top row first: how busy cores are, what memory tiles hold."""
    from dslc.cli.tables.table import size_text

    columns = sorted({column for column, _ in run.memory})
    rows = sorted({row for _, row in run.memory}, reverse=True)
    yield "row   " + "".join(f"{f'column {c}':>10}" for c in columns)
    for row in rows:
        cells = []
        for column in columns:
            busy = run.busy.get(f"core {column}, {row}")
            held = run.memory.get((column, row))
            text = "" if held is None else size_text(held)
            cells.append(f"{busy / run.cycles:.0%}" if busy is not None else text)
        yield f"{row:<6}" + "".join(f"{cell:>10}" for cell in cells)
