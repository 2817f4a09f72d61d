"""What a report shows, gathered: plain data that the page's script draws.

    data = gather(file, targets, question)        {"file": ..., "sources": [...], "kernels": [...]}

Kernels are compiled beside each other, for all targets; marks in what is emitted tell the source's
lines. A target that refuses a kernel gives the error in its place.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import dslc
from dslc.codegen.line_marks import line_marks
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.diagnostics.render import render
from dslc.compiler.passes.pass_manager import Stage, remember
from dslc.machines.patience import Patience
from dslc.reports.code import code_of
from dslc.reports.figures import facts_of, lines_of, predicted
from dslc.reports.layouts import layouts_of
from dslc.reports.memory import memory_of
from dslc.reports.stages import stage_texts

if TYPE_CHECKING:
    from dslc.compilation.specialization import Specialization
    from dslc.kernels import Kernel
    from dslc.machines.machine import Inspection

Data: TypeAlias = dict[str, Any]
DEFAULT_SIZE = 1024  # of a dim that nothing says
_AT_ONCE = 4  # compilations


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: which kernels (all of the file without `names`), dims, choices, definitions."""

    names: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    define: Mapping[str, Any] = field(default_factory=dict)
    include: tuple[Path, ...] = ()
    cache: bool = True
    budget: float = 0.0  # seconds of what machines say of themselves; 0 is without limit


Progress: TypeAlias = Callable[[str], None]


def gather(
    file: Path, targets: Iterable[str], question: Question, progress: Progress = lambda _: None
) -> Data:
    """The data of a report. Errors of the source, whatever the target, are raised."""
    stages: dict[str, dict[str, list[Stage]]] = {target: {} for target in targets}
    libraries = {
        target: dslc.compile(
            file,
            target,
            define=dict(question.define),
            include=question.include,
            cache=None if question.cache else False,
            line_info=True,
            observers=[remember(stages[target])],
        )
        for target in stages
    }
    first = next(iter(libraries.values()))
    names = question.names or tuple(
        k.name for k in first.values() if k.loc is not None and k.loc.file == str(file)
    )
    if not names:
        hint = "kernels that it imports are named by --kernel"
        raise error("DSL0912", f"{file} has no kernels of its own", hint=hint)
    jobs = [(name, library[name]) for name in names for library in libraries.values()]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        asked = [
            pool.submit(
                contextvars.copy_context().run, _compiled, kernel, question, stages[kernel.target]
            )
            for _, kernel in jobs
        ]
        parts: dict[str, list[Data]] = {name: [] for name in names}
        for (name, kernel), future in zip(jobs, asked, strict=True):
            progress(f"{name} for {kernel.target}")
            made = future.result()
            parts[name].append(made if isinstance(made, dict) else _of_target(kernel, made))
    kernels = [{**_of_kernel(first[name]), "targets": parts[name]} for name in names]
    return {
        "title": file.name,
        "version": dslc.__version__,
        "targets": list(libraries),
        "sources": _sources(file, kernels),
        "kernels": kernels,
    }


@dataclass(frozen=True, slots=True)
class _Made:
    """A kernel for a target, and the IR on its way."""

    specialization: Specialization
    sizes: Mapping[str, int]
    config: Mapping[str, Any]
    stages: list[Stage]
    code: list[Data]
    inspection: Inspection


def _compiled(kernel: Kernel, question: Question, seen: Mapping[str, list[Stage]]) -> _Made | Data:
    every = dict.fromkeys(kernel.dims, DEFAULT_SIZE) | dict(question.sizes)
    own = {n: v for n, v in question.config.items() if n in kernel.tunes}
    try:
        with line_marks():
            made = kernel.specialize_for(every, own)
            stages = seen[made.name]
            code = code_of(kernel.origin.machine, made)
            patience = Patience.of(question.budget)
            sizes = every | dict(made.fixed)
            machine = kernel.origin.machine
            inspection = machine.inspection(made, stages[-1].program, sizes, patience)
    except DiagnosticError as refusal:
        text = render(refusal.diagnostics, format="human", sources=None, color=False)
        return {"target": kernel.target, "error": text}
    return _Made(made, sizes, own, stages, code, inspection)


def _of_kernel(kernel: Kernel) -> Data:
    assert kernel.loc is not None
    return {
        "name": kernel.name,
        "signature": f"{kernel.name}({', '.join(map(str, kernel.parameters))})",
        "doc": kernel.doc or "",
        "place": [kernel.loc.file, kernel.loc.line],
    }


def _of_target(kernel: Kernel, made: _Made) -> Data:
    """What is known of a compiled kernel; a part that fails says why in its place."""
    program = made.stages[-1].program
    one, sizes, inspection = made.specialization, made.sizes, made.inspection
    prediction = predicted(one, program, sizes)
    return {
        "target": one.target,
        "sizes": " ".join(f"{d}={sizes[d]}" for d in kernel.dims),
        "choices": " ".join(f"{n}={v}" for n, v in one.config.items()),
        "facts": facts_of(kernel, made.sizes, made.config, inspection, prediction, program),
        "picture": inspection.picture,
        "prediction": prediction,
        "lines": lines_of(one, program, sizes, inspection),
        "stages": stage_texts(made.stages),
        "layouts": layouts_of(program),
        "memory": memory_of(program),
        "code": made.code,
        "timeline": inspection.timeline() if inspection.timeline else "",
    }


def _sources(file: Path, kernels: Iterable[Data]) -> list[Data]:
    """The texts of all files that a cost or a kernel is of, the file itself first."""
    mentioned = [k["place"][0] for k in kernels]
    mentioned += [line[0] for k in kernels for t in k["targets"] for line in t.get("lines", ())]
    found = []
    for name in dict.fromkeys([str(file), *mentioned]):
        path = Path(name)
        if path.is_file():
            found.append({"file": name, "lines": path.read_text(encoding="utf-8").splitlines()})
    return found
