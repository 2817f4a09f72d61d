"""One run of a kernel's source text: its results, what it did, and how long that would take."""

from __future__ import annotations

import ast
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from dslc.runtime.nki_simulator.allocation import reuse_waits
from dslc.runtime.nki_simulator.elements import Array
from dslc.runtime.nki_simulator.errors import NkiFault
from dslc.runtime.nki_simulator.machine import NeuronCore, find_core
from dslc.runtime.nki_simulator.modules import Kernel, kernel_globals
from dslc.runtime.nki_simulator.neuroncore import Core
from dslc.runtime.nki_simulator.subset import assigned_names, check_subset
from dslc.runtime.nki_simulator.tensors import PSUM, SBUF, Tensor
from dslc.runtime.nki_simulator.threads import one_thread
from dslc.runtime.nki_simulator.timeline import Timeline, schedule
from dslc.runtime.nki_simulator.trace import Trace

_PYTHON = (AttributeError, NameError, TypeError, AssertionError, ImportError)
Value = Array | int | float | bool


@dataclass(frozen=True)
class Run:
    """What a kernel returned, and what it did on `core`. Times are modelled, never measured."""

    core: NeuronCore
    outputs: tuple[Array, ...]
    trace: Trace
    waits: dict[int, set[int]]
    sbuf_peak: int
    psum_peak: int

    @cached_property
    def timeline(self) -> Timeline:
        """When each instruction runs."""
        return schedule(self.trace.steps, self.waits, self.core)

    @cached_property
    def findings(self) -> tuple[str, ...]:
        """What is no fault and yet no sense: tiles that are loaded and never read."""
        steps = self.trace.steps
        found = {
            (steps[i].line, tile.name)
            for tile in self.trace.tiles
            for i in tile.accesses.unread_writes()
            if steps[i].name.startswith("dma_")
        }
        return tuple(
            f"line {line}: {name} is loaded, nothing reads it" for line, name in sorted(found)
        )

    @property
    def microseconds(self) -> float:
        """How long it would take, as modelled."""
        return self.timeline.total / 1e3

    @property
    def hbm_bytes(self) -> int:
        """Bytes that pass between HBM and the chip."""
        return self.trace.hbm_read + self.trace.hbm_written

    @property
    def of_peak(self) -> float:
        """The share of the core's bf16 peak that the products reach."""
        return self.trace.flops / self.timeline.total / self.core.peak if self.trace.flops else 0.0


def simulate(
    source: str,
    entry: str,
    args: Sequence[Value],
    target: str,
    file: str = "<kernel>",
    values: bool = True,
) -> Run:
    """Run the kernel `entry` of a source as it stands on `trn1`, `trn2` or `trn3` (or `nki:trn1`, ...).

    `args` are arrays for tensors in HBM (bf16 and fp8 by ml_dtypes) and numbers. NkiFault where the
    kernel breaks a rule of the machine. With `values` False nothing is computed but the integers that
    loops and slices go by: the rules that do not depend on numbers, traffic and times; the outputs are
    then empty.
    """
    core = Core(find_core(target), file, values)
    with one_thread(), _Located(core):
        tree = ast.parse(source, file)
        check_subset(tree, core)
        core.names = assigned_names(tree)
        names, language = kernel_globals(core, entry)
        exec(compile(source, file, "exec"), names)
        kernel = names.get(entry)
        if not isinstance(kernel, Kernel):
            core.fail("signature", f"the source has no kernel {entry} under nki.jit")
        titles = kernel.function.__code__.co_varnames
        given = [
            core.argument(titles[i] if i < len(titles) else f"argument {i}", a)
            if isinstance(a, np.ndarray) and a.ndim
            else a
            for i, a in enumerate(args)
        ]
        returned = kernel(*given)
        core.doing = ""
        found = returned if isinstance(returned, (tuple, list)) else (returned,)
        for tensor in found:
            made = isinstance(tensor, Tensor) and tensor.storage in language.outputs
            if not made:
                core.fail("output", f"{entry} returns {tensor!r}")
            if not tensor.written():
                at = ", ".join(map(str, tensor.first_unwritten()))
                core.fail("output", f"{tensor} is returned without element [{at}]")
        outputs = tuple(t.values() for t in found) if values else ()
        waits, peaks = _allocate(core)
    return Run(core.machine, outputs, core.trace, waits, *peaks)


def _allocate(core: Core) -> tuple[dict[int, set[int]], tuple[int, int]]:
    def refuse(rule: str, message: str, line: int) -> NoReturn:
        core.fail(rule, message, line)

    trace, machine = core.trace, core.machine
    waits, sbuf = reuse_waits(trace.tiles, trace.steps, SBUF, machine.sbuf_bytes, refuse)
    more, psum = reuse_waits(trace.tiles, trace.steps, PSUM, machine.psum_bytes, refuse)
    for number, others in more.items():
        waits.setdefault(number, set()).update(others)
    return waits, (sbuf, psum)


class _Located:
    """Faults at the kernel's line; what Python itself raises in the kernel is one, too."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, problem: BaseException | None, trace: Any) -> None:
        core = self._core
        frames = traceback.extract_tb(trace)
        lines = [f.lineno for f in frames if f.filename == core.file]
        line = lines[-1] if lines and lines[-1] else core.line
        if isinstance(problem, NkiFault):
            if lines and problem.line in (0, core.line):
                raise NkiFault(problem.rule, problem.message, core.file, line or 0) from None
            return
        if isinstance(problem, SyntaxError):
            raise NkiFault("subset", str(problem), core.file, problem.lineno or 0) from None
        if lines and isinstance(problem, _PYTHON):
            text = f"{type(problem).__name__}: {problem}"
            raise NkiFault("signature", text, core.file, line or 0) from problem
