"""One run of a kernel's source text: its results, what it did, and how long that would take."""

from __future__ import annotations

import ast
import inspect
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from dslc.runtime.nki_simulator.allocation import reuse_waits
from dslc.runtime.nki_simulator.elements import Array
from dslc.runtime.nki_simulator.errors import NkiFault
from dslc.runtime.nki_simulator.interface.uses import check_uses
from dslc.runtime.nki_simulator.language import Language, Program
from dslc.runtime.nki_simulator.machine import NeuronCore, find_core
from dslc.runtime.nki_simulator.modules import Kernel, kernel_modules
from dslc.runtime.nki_simulator.neuroncore import Core
from dslc.runtime.nki_simulator.packages import Imports
from dslc.runtime.nki_simulator.subset import assigned_names, check_subset
from dslc.runtime.nki_simulator.tensors import PSUM, SBUF, Tensor
from dslc.runtime.nki_simulator.threads import one_thread
from dslc.runtime.nki_simulator.timeline import Timeline, schedule
from dslc.runtime.nki_simulator.trace import Trace

_PYTHON = (AttributeError, NameError, TypeError, AssertionError, ImportError)
Value = Array | int | float | bool


@dataclass(frozen=True)
class Run:
    """What a kernel returned, and what it did on `core`. Times are modelled, never measured.

    Of several programs of a grid it is what the slowest did; each has a core of its own.
    """

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
        unread = {
            (steps[i].line, tile.name)
            for tile in self.trace.tiles
            for i in tile.accesses.unread_writes()
            if steps[i].name.startswith("dma_")
        }
        return tuple(
            f"line {line}: {name} is loaded, nothing reads it" for line, name in sorted(unread)
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
    grid: int = 1,
) -> Run:
    """Run the kernel `entry` of a source as it stands on `trn1`, `trn2` or `trn3` (or `nki:trn1`, ...).

    `args` are arrays for tensors in HBM (bf16 and fp8 by ml_dtypes) and numbers. NkiFault where the
    kernel breaks a rule of the machine. With `values` False nothing is computed but the integers that
    loops and slices go by: the rules that do not depend on numbers, traffic and times; the outputs are
    then empty. A `grid` of several programs runs them one after another, on cores of their own.
    """
    core = Core(find_core(target), file, values)

    def bind(kernel: Kernel) -> dict[str, Value]:
        parameters = list(inspect.signature(kernel.function).parameters)
        if len(args) > len(parameters):
            core.fail("signature", f"{entry} has {len(parameters)} parameters, not {len(args)}")
        return dict(zip(parameters, args, strict=False))

    return _simulate(core, source, None, entry, bind, grid)


def simulate_file(
    path: Path, entry: str, given: Mapping[str, Value], target: str, grid: int = 1
) -> Run:
    """Run the kernel `entry` of a file, which may import others beside it and in the folders above.

    `given` are arrays and numbers by the names of the kernel's parameters; those with defaults may be
    left out. NkiFault where the kernel breaks a rule of the machine, or an argument is missing.
    """
    core = Core(find_core(target), str(path))

    def bind(kernel: Kernel) -> dict[str, Value]:
        parameters = inspect.signature(kernel.function).parameters
        listed = ", ".join(parameters)
        for name in given:
            if name not in parameters:
                core.fail("signature", f"{entry} has no parameter {name}: it has {listed}")
        missing = [n for n, p in parameters.items() if p.default is p.empty and n not in given]
        if missing:
            core.fail("signature", f"{entry}({listed}) is not given {', '.join(missing)}")
        return dict(given)

    return _simulate(core, path.read_text(encoding="utf-8"), path, entry, bind, grid)


def _simulate(
    core: Core,
    source: str,
    path: Path | None,
    entry: str,
    bind: Callable[[Kernel], dict[str, Value]],
    grid: int,
) -> Run:
    """The programs of a kernel's source, one after another."""
    with one_thread(), _Located(core), ExitStack() as files:
        modules, language = kernel_modules(core)
        imports = files.enter_context(Imports(core, modules, partial(run_source, core)))
        names = imports.begin(entry, path).__dict__
        run_source(core, source, core.file, names)
        kernel = names.get(entry)
        if not isinstance(kernel, Kernel):
            others = [name for name, value in names.items() if isinstance(value, Kernel)]
            core.fail(
                "signature",
                f"there is no kernel {entry} under nki.jit (but {', '.join(others) or 'none'})",
            )
        given = {
            name: core.argument(name, a) if isinstance(a, np.ndarray) and a.ndim else a
            for name, a in bind(kernel).items()
        }
        runs = []
        for number in range(max(grid, kernel.grid)):
            core.trace = Trace()
            language.begin(Program(number, max(grid, kernel.grid)))
            returned = _returned(kernel(**given))
            core.doing = ""
            runs.append((core.trace, *_allocate(core)))
        _check_outputs(core, language, entry, returned)
        outputs = tuple(t.values() for t in returned) if core.computes else ()
    all_runs = [Run(core.machine, outputs, trace, waits, *peaks) for trace, waits, peaks in runs]
    return all_runs[0] if len(all_runs) == 1 else max(all_runs, key=lambda run: run.timeline.total)


def run_source(core: Core, source: str, file: str, names: dict[str, Any]) -> None:
    """Execute a file of a kernel's package, after what its text alone shows to be wrong."""
    tree = ast.parse(source, file)
    outer, core.file = core.file, file
    check_subset(tree, core)
    check_uses(tree, core)
    core.file = outer
    core.files.add(file)
    core.names |= assigned_names(tree, file)
    exec(compile(source, file, "exec", dont_inherit=True), names)


def _returned(found: Any) -> tuple[Any, ...]:
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def _check_outputs(core: Core, language: Language, entry: str, found: tuple[Any, ...]) -> None:
    """What a kernel gives back are tensors that it made for that, written as a whole."""
    for tensor in found:
        if not (isinstance(tensor, Tensor) and tensor.storage in language.outputs):
            core.fail("output", f"{entry} returns {tensor!r}")
        if not tensor.written():
            at = ", ".join(map(str, tensor.first_unwritten()))
            core.fail("output", f"{tensor} is returned without element [{at}]")


def _allocate(core: Core) -> tuple[dict[int, set[int]], tuple[int, int]]:
    def refuse(rule: str, message: str, line: int) -> NoReturn:
        core.fail(rule, message, line)

    trace, machine = core.trace, core.machine
    waits, sbuf = reuse_waits(trace.tiles, trace.steps, SBUF, machine.sbuf_bytes, refuse)
    more, psum = reuse_waits(trace.tiles, trace.steps, PSUM, machine.psum_bytes, refuse)
    for number, others in (*more.items(), *trace.ordered.items()):
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
        mine = [f for f in frames if f.filename in core.files]
        lines = [f.lineno for f in mine]
        line = lines[-1] if lines and lines[-1] else core.line
        file = mine[-1].filename if mine else core.file
        if isinstance(problem, NkiFault):
            if lines and problem.line in (0, core.line):
                raise NkiFault(problem.rule, problem.message, file, line or 0) from None
            return
        if isinstance(problem, SyntaxError):
            where = problem.filename if problem.filename in core.files else core.file
            raise NkiFault("subset", str(problem), where, problem.lineno or 0) from None
        own = bool(frames) and frames[-1].filename in core.files  # the kernel itself raised it
        if lines and (isinstance(problem, _PYTHON) or (own and isinstance(problem, Exception))):
            text = f"{type(problem).__name__}: {problem}"
            raise NkiFault("signature", text, file, line or 0) from problem
