"""From all configurations to those that are worth measuring, by predictions alone.

First every product of tune choices is scheduled and predicted with the compiler's own launch options,
then the best quarter of them with each product of options. What a pass or the machine refuses is
dropped, and so is what gives the same code as another configuration.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.tuner.space import Configuration, drawn
from dslc.tuner.tasks import Outlook, Task, predict_task

if TYPE_CHECKING:
    from concurrent.futures import Future

    from dslc.executors import Workers

_MOST = 2000  # configurations that are predicted
_POLL = 0.2  # seconds between two looks at the clock
_FEWEST = 16  # products of tune choices whose launch options are tried

MakeTask = Callable[[Configuration], Task]
Advance = Callable[[int, int], None]


@dataclass(slots=True)
class Candidate:
    """A configuration that may be measured, with what is known of it so far; times are seconds."""

    configuration: Configuration
    task: Task
    outlook: Outlook
    predicted: float
    seconds: float | None = None
    measured: str = ""  # how well: quick or full


@dataclass(slots=True)
class Pruned:
    """Candidates, the best predicted first; the default, among them or not; the refused, and why."""

    candidates: list[Candidate] = field(default_factory=list)
    default: Candidate | None = None
    total: int = 0
    refused: list[tuple[Configuration, str]] = field(default_factory=list)
    same: int = 0  # configurations that give the code of another
    interrupted: bool = False  # by Ctrl-C, before all were predicted


def prune(
    tunes: Sequence[Configuration],
    expand: Callable[[Iterable[Configuration]], Iterable[Configuration]],
    make_task: MakeTask,
    workers: Workers,
    *,
    seed: int = 0,
    storage: str | None = None,
    until: float = math.inf,
    advance: Advance = lambda done, total: None,
) -> Pruned:
    """All that may be measured. `tunes` are products of tune choices, the default first.

    `expand` adds launch options. With a `storage` only configurations that pack weights so remain,
    beside the default. What is not predicted `until` then (`time.monotonic`) is left out. DSL0921 where
    the machine runs none. After Ctrl-C what was predicted until then remains.
    """
    pruned = Pruned()
    first = drawn(tunes, _MOST, seed)
    asking = _Asking(make_task, workers, pruned, until, advance)
    coarse = asking.predicted(first)
    if coarse and coarse[0].configuration == first[0]:
        pruned.default = coarse[0]
    ranked = sorted(coarse, key=lambda c: c.predicted)
    kept = ranked[: max(_FEWEST, len(ranked) // 4)]
    seen = {c.configuration for c in coarse}
    more = [c for c in expand(k.configuration for k in kept) if c not in seen]
    # The first of a random choice always stays: here none is special.
    fine = [] if pruned.interrupted else asking.predicted(drawn(more, _MOST, seed))
    pruned.total = len(first) + len(more)
    texts: set[str] = set()
    for candidate in sorted((*coarse, *fine), key=lambda c: c.predicted):
        if storage and candidate.outlook.storage != storage:
            continue
        if candidate.outlook.text in texts:
            pruned.same += 1
            continue
        texts.add(candidate.outlook.text)
        pruned.candidates.append(candidate)
    if not pruned.candidates:
        raise _nothing(pruned)
    return pruned


@dataclass(slots=True)
class _Asking:
    """Has configurations predicted by the workers."""

    make_task: MakeTask
    workers: Workers
    found: Pruned
    until: float
    advance: Advance
    before: int = 0

    def predicted(self, configurations: Sequence[Configuration]) -> list[Candidate]:
        """The candidates in their order; the refused are kept in `found`."""
        tasks: dict[Configuration, Task] = {}
        pending: dict[Future[Outlook], Configuration] = {}
        for configuration in configurations:
            if tasks and self._is_late():
                break
            try:
                task = self.make_task(configuration)
            except DiagnosticError as refusal:
                self._refuse(configuration, refusal)
                continue
            tasks[configuration] = task
            pending[self.workers.submit(predict_task, task)] = configuration
        outlooks = self._collect(pending)
        self.before += len(tasks)
        return [
            Candidate(c, tasks[c], outlooks[c], outlooks[c].prediction.seconds)
            for c in tasks
            if c in outlooks
        ]

    def _collect(
        self, pending: dict[Future[Outlook], Configuration]
    ) -> dict[Configuration, Outlook]:
        outlooks: dict[Configuration, Outlook] = {}
        total = len(pending)
        while pending and not (outlooks and self._is_late()):
            try:
                done, _ = wait(pending, _POLL, FIRST_COMPLETED)
            except KeyboardInterrupt:
                if not outlooks and not self.before:
                    raise
                self.until, self.found.interrupted = -math.inf, True  # what is predicted counts
                break
            for future in done:
                configuration = pending.pop(future)
                try:
                    outlooks[configuration] = future.result()
                except Exception as failure:
                    # Refused, or a defect of the compiler: one configuration less.
                    self._refuse(configuration, failure)
            self.advance(self.before + total - len(pending), self.before + total)
        for future in pending:
            future.cancel()
        return outlooks

    def _refuse(self, configuration: Configuration, failure: Exception) -> None:
        self.found.refused.append((configuration, reason_of(failure)))

    def _is_late(self) -> bool:
        return time.monotonic() > self.until


def reason_of(failure: Exception) -> str:
    """A failure in one line."""
    if isinstance(failure, DiagnosticError):
        return failure.diagnostics[0].message.splitlines()[0]
    return f"{type(failure).__name__}: {failure}"


def _nothing(found: Pruned) -> DiagnosticError:
    reasons = list(dict.fromkeys(reason for _, reason in found.refused))
    said = f": {reasons[0]}" if reasons else ", or none has the weights' storage that is in use"
    return error(
        "DSL0921",
        f"none of the {found.total} configurations can be measured{said}",
        hint="give the kernel smaller choices, or other dims",
    )
