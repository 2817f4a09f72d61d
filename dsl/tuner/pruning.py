"""From all configurations to those that are worth measuring, by predictions alone.

First every product of tune choices is scheduled and predicted with the compiler's own launch options,
then the better half of them with each product of options. What a pass or the machine refuses is
dropped, and so is what gives the same code as another configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.tuner.space import Configuration, drawn
from dslc.tuner.tasks import Outlook, Task, predict_task

if TYPE_CHECKING:
    from concurrent.futures import Future

    from dslc.tuner.workers import Workers

_MOST = 2000  # configurations that are predicted
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


def prune(
    tunes: Sequence[Configuration],
    expand: Callable[[Iterable[Configuration]], Iterable[Configuration]],
    make_task: MakeTask,
    workers: Workers,
    *,
    seed: int = 0,
    storage: str | None = None,
    advance: Advance = lambda done, total: None,
) -> Pruned:
    """All that may be measured. `tunes` are products of tune choices, the default first.

    `expand` adds launch options. With a `storage` only configurations that pack weights so remain,
    beside the default. DSL0921 where the machine runs none.
    """
    found = Pruned()
    first = drawn(tunes, _MOST, seed)
    coarse = _predicted(first, make_task, workers, found, advance)
    if coarse and coarse[0].configuration == first[0]:
        found.default = coarse[0]
    ranked = sorted(coarse, key=lambda c: c.predicted)
    kept = ranked[: max(_FEWEST, len(ranked) // 2)]
    seen = {c.configuration for c in coarse}
    more = [c for c in expand(k.configuration for k in kept) if c not in seen]
    # The first of a random choice always stays: here none is special.
    fine = _predicted(drawn(more, _MOST, seed), make_task, workers, found, advance, len(coarse))
    found.total = len(first) + len(more)
    texts: set[str] = set()
    for candidate in sorted((*coarse, *fine), key=lambda c: c.predicted):
        if storage and candidate.outlook.storage != storage:
            continue
        if candidate.outlook.text in texts:
            found.same += 1
            continue
        texts.add(candidate.outlook.text)
        found.candidates.append(candidate)
    if not found.candidates:
        raise _nothing(found)
    return found


def _predicted(
    configurations: Sequence[Configuration],
    make_task: MakeTask,
    workers: Workers,
    found: Pruned,
    advance: Advance,
    before: int = 0,
) -> list[Candidate]:
    """The candidates of configurations, in their order; the refused are kept in `found`."""
    tasks: dict[Configuration, Task] = {}
    futures: dict[Future[Outlook], Configuration] = {}
    for configuration in configurations:
        try:
            task = make_task(configuration)
        except DiagnosticError as refusal:
            found.refused.append((configuration, refusal.diagnostics[0].message.splitlines()[0]))
            continue
        tasks[configuration] = task
        futures[workers.submit(predict_task, task)] = configuration
    outlooks: dict[Configuration, Outlook] = {}
    for done, future in enumerate(as_completed(futures), start=1):
        configuration = futures[future]
        try:
            outlooks[configuration] = future.result()
        except DiagnosticError as refusal:
            found.refused.append((configuration, refusal.diagnostics[0].message.splitlines()[0]))
        except Exception as failure:
            # A worker that died, or a defect of the compiler: one configuration less.
            found.refused.append((configuration, f"{type(failure).__name__}: {failure}"))
        advance(before + done, before + len(futures))
    return [
        Candidate(c, tasks[c], outlooks[c], outlooks[c].prediction.seconds)
        for c in configurations
        if c in outlooks
    ]


def _nothing(found: Pruned) -> DiagnosticError:
    reasons = list(dict.fromkeys(reason for _, reason in found.refused))
    said = f": {reasons[0]}" if reasons else ", or none has the weights' storage that is in use"
    return error(
        "DSL0921",
        f"none of the {found.total} configurations can be measured{said}",
        hint="give the kernel smaller choices, or other dims",
    )
