"""What the lines of a kernel cost on a machine, computed in a process of its own.

A question has texts, an answer has texts: nothing of a server's state is needed. Places in the answer
are lines of the kernel's part, from 1.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dslc.compiler.diagnostics import DiagnosticError

if TYPE_CHECKING:
    from dslc.compilation.specialization import Specialization
    from dslc.compilation.templates import TemplateOrigin
    from dslc.language_server.document import Document

BUDGET = 60.0  # seconds of a question
_LEAST = 0.005  # of the time of all lines that a line must have to be shown
_SIZE = 1024  # of a dim that nothing says


@dataclass(frozen=True, slots=True)
class Question:
    """A kernel by its name, in a text that the editor has; `texts` are those of other open files."""

    path: str
    text: str
    kernel: str
    target: str
    dims: Mapping[str, int] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    budget: float = BUDGET


@dataclass(frozen=True, slots=True)
class Answer:
    """What stands behind the kernel's head and behind its lines: a label and what is more to say."""

    head: tuple[str, str]
    lines: Mapping[int, tuple[str, str]] = field(default_factory=dict)


def begin() -> None:
    """Make the process ready: an editor's own work goes first."""
    with suppress(OSError, AttributeError):
        os.nice(10)
    import dslc.compilation.templates
    import dslc.compiler.cost.by_line  # noqa: F401


def answer(question: Question) -> Answer:
    """The costs of a kernel, or why there are none, within the question's budget."""
    try:
        with _within(question.budget):
            return _answer(question)
    except TimeoutError:
        return Answer((f"no prediction for {question.target} within {question.budget:g} s", ""))
    except DiagnosticError as refusal:
        first = refusal.diagnostics[0]
        return Answer((f"{question.target}: {first.code} {first.message}", first.hint or ""))


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """TimeoutError once so many seconds have gone, where the system has alarms."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def late(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _answer(question: Question) -> Answer:
    from dslc.codegen.line_marks import line_marks
    from dslc.compiler.passes.pass_manager import Stage
    from dslc.kernels import Kernel
    from dslc.language_server.workspace import Workspace
    from dslc.machines.patience import Patience
    from dslc.reports.figures import lines_of, predicted

    workspace = Workspace()
    for other, text in question.texts.items():
        workspace.change(Path(other), text)
    document = workspace.change(Path(question.path), question.text)
    origin = _origin(document, workspace, question)
    kernel = Kernel.of(origin)
    sizes = dict.fromkeys(kernel.dims, _SIZE) | {
        d: n for d, n in question.dims.items() if d in kernel.dims
    }
    with line_marks():
        made = kernel.specialize_for(sizes)
        stages: list[Stage] = []
        program = made.lowered([stages.append])
        sizes |= dict(made.fixed)
        inspection = origin.machine.inspection(
            made, program, sizes, Patience.of(question.budget / 10)
        )
        lines = lines_of(made, program, sizes, inspection)
    prediction = predicted(made, program, sizes)
    own = next(p for p in document.parts if p.item and p.item.name == kernel.name)  # type: ignore[union-attr]
    costs = {line: rest for file, line, *rest in lines if file == own.key}
    modelled = dict(inspection.lines).get("modelled", "")
    said = "\n".join(f"{label}: {text}" for label, text in inspection.lines)
    return Answer((_head(made, sizes, prediction, modelled, costs), said), _labels(costs))


def _origin(document: Document, workspace: Any, question: Question) -> TemplateOrigin:
    from dslc.compilation.building import build_options
    from dslc.compilation.origins import origins
    from dslc.compiler.diagnostics import Loc
    from dslc.frontend import tree

    module = tree.Module(document.items, loc=Loc(question.path, 1, 1, 1, 1))
    options = build_options(question.target, cache=False)
    folder = document.path.parent
    return origins(module, options, folder=folder, files=workspace.files)[question.kernel]


def _head(
    made: Specialization,
    sizes: Mapping[str, int],
    prediction: Mapping[str, Any] | None,
    modelled: str,
    costs: Mapping[int, list[Any]],
) -> str:
    """`cuda:sm_90a, M=1024: 6.0 us, limited by latency; 128 registers, 16 KiB shared`."""
    from dslc.cli.tables.table import size_text
    from dslc.compiler.cost.prediction import microseconds
    from dslc.tuner.tasks import registers_of

    given = ", ".join(f"{n}={v}" for n, v in {**sizes, **made.config}.items())
    parts = [f"{made.target}{', ' if given else ''}{given}:"]
    if prediction is not None:
        parts.append(f"{microseconds(prediction['seconds'])}, limited by {prediction['reason']}")
    elif modelled:
        parts.append(f"modelled {modelled}")
    # What the machine's assembler says, else what the statements hold by estimate.
    registers = max(registers_of(made.artifact).values(), default=0)
    registers = registers or max((c[5] for c in costs.values()), default=0)
    shared = made.artifact.shared_bytes or max((c[6] for c in costs.values()), default=0)
    held = [f"{registers} registers"] if registers else []
    held += [f"{size_text(shared)} shared"] if shared else []
    return " ".join(parts) + ("; " + ", ".join(held) if held else "")


def _labels(costs: Mapping[int, list[Any]]) -> dict[int, tuple[str, str]]:
    """A line's time, registers and shared memory; what each unit takes of it, and its bytes."""
    from dslc.cli.tables.table import size_text
    from dslc.compiler.cost.prediction import microseconds

    total = sum(c[0] for c in costs.values())
    labels = {}
    for line, (
        seconds,
        unit,
        loaded,
        stored,
        operations,
        registers,
        shared,
        units,
    ) in costs.items():
        if seconds <= total * _LEAST:
            continue
        label = [_short(seconds)]
        label += [f"{registers} reg"] if registers else []
        label += [f"{size_text(shared)} shared"] if shared else []
        more = [f"{name}: {microseconds(s)}" for name, s in units.items() if s]
        more += [
            f"{text}: {size_text(n)}" for text, n in (("reads", loaded), ("writes", stored)) if n
        ]
        more += [f"operations: {operations:,}"] if operations else []
        labels[line] = " · ".join(label), f"busiest: {unit}\n" + "\n".join(more)
    return labels


def _short(seconds: float) -> str:
    """A time in three digits: `12.3 us`, `0.042 us`, `1.2 ms`."""
    micro = seconds * 1e6
    return f"{micro / 1e3:.3g} ms" if micro >= 1e3 else f"{micro:.3g} us"
