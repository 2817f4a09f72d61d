"""Measuring: candidates compiled side by side, checked, and timed in rounds that drop the slow ones.

The default configuration comes first: its results are the reference, its time what the best is compared
with. The others are timed briefly as they are compiled; the best of them again with full effort. When
the time is up, or on Ctrl-C, the best so far is the result.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.tuner.bench import FULL, QUICK, Effort
from dslc.tuner.pruning import reason_of
from dslc.tuner.tasks import Compiled, compile_task

if TYPE_CHECKING:
    from dslc.compiler.artifact import Artifact
    from dslc.executors import Workers
    from dslc.tuner.bench import Bench, Loaded
    from dslc.tuner.pruning import Candidate

_FINALISTS = 6
_EQUAL = 1.01  # times as slow as two are equal
_NOISE = 1.05  # times as slow as a brief measurement may be wrong
_NEAR = 1.25  # times as slow as the best that a finalist may be
_FOR_FINALS = 0.15  # of the budget
_POLL = 0.2  # seconds between two looks at the clock


@dataclass(slots=True)
class Progress:
    """How far a tuning is: configurations done, and in all; the best so far; seconds left, if known."""

    phase: str
    done: int = 0
    total: int = 0
    best: str = ""
    seconds: float | None = None
    left: float | None = None


Report = Callable[[Progress], None]


@dataclass(slots=True)
class Found:
    """What a search gives; `dropped` are configurations that failed or were wrong, and why.

    `interrupted` is what ended it before all were measured: Ctrl-C, or the budget.
    """

    best: Candidate | None = None
    default_seconds: float | None = None
    measured: list[Candidate] = field(default_factory=list)
    dropped: list[tuple[Candidate, str]] = field(default_factory=list)
    interrupted: str = ""
    elapsed: float = 0.0

    @property
    def per_minute(self) -> float:
        """Configurations that were compiled and measured in a minute."""
        count = len(self.measured) + len(self.dropped)
        return 60 * count / self.elapsed if self.elapsed else 0.0


class Search:
    """One search. `default` is the reference; it takes part where it is among the candidates.

    `arrived` is called with every artifact that the workers compiled.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        default: Candidate | None,
        bench: Bench,
        workers: Workers,
        *,
        budget: float | None = None,
        report: Report = lambda progress: None,
        began: float | None = None,
        arrived: Callable[[Artifact], None] = lambda artifact: None,
    ) -> None:
        self.bench, self.workers, self.report = bench, workers, report
        self.candidates = list(candidates)
        self.default = default
        self.budget = budget
        self.found = Found()
        self._began = time.monotonic() if began is None else began
        self._arrived = arrived
        self._broken = ""
        self._loaded: dict[int, Loaded] = {}
        self._done = 0

    def run(self) -> Found:
        """Search until all is measured, the time is up or Ctrl-C. DSL0921 where nothing runs."""
        try:
            self._first_round()
            self._finals()
        except KeyboardInterrupt:
            self.found.interrupted = "Ctrl-C"
        finally:
            self._close_all()
        if self._broken:
            self.found.interrupted = f"the GPU, which stopped: {self._broken}"
        self.found.elapsed = time.monotonic() - self._began
        self._choose()
        if self.found.best is None and (self._broken or not self.found.interrupted):
            reason = self.found.dropped[0][1] if self.found.dropped else "nothing was measured"
            raise error("DSL0921", f"no configuration could be measured: {reason}")
        return self.found

    # The rounds

    def _first_round(self) -> None:
        pending: dict[Future[Compiled], Candidate] = {}
        reference = self.default
        if reference is not None:
            self._measure(reference, self.workers.submit(compile_task, reference.task))
            self.found.default_seconds = reference.seconds
        others = iter([c for c in self.candidates if c is not reference])
        while self._submit_more(others, pending) or pending:
            if self._time_is_up(self.budget and self.budget * (1 - _FOR_FINALS)):
                self.found.interrupted = "budget"
                break
            if self._broken:
                break
            done, _ = wait(pending, _POLL, FIRST_COMPLETED)
            for future in done:
                if not self._broken:
                    self._measure(pending.pop(future), future)
        for future in pending:
            future.cancel()

    def _submit_more(
        self, others: Iterator[Candidate], pending: dict[Future[Compiled], Candidate]
    ) -> bool:
        """Keep all workers busy, and no more: measuring follows the order of predictions."""
        ahead = 2 * max(1, self.workers.count) - len(pending)
        added = False
        for _ in range(ahead):
            candidate = next(others, None)
            if candidate is None:
                break
            pending[self.workers.submit(compile_task, candidate.task)] = candidate
            added = True
        return added

    def _measure(self, candidate: Candidate, future: Future[Compiled]) -> None:
        """Check and time a candidate briefly; whatever is wrong with it drops it."""
        self._done += 1
        try:
            compiled = future.result()
            self._arrived(compiled.artifact)
            candidate.predicted = compiled.prediction.seconds
            loaded = self.bench.load(compiled.artifact, candidate.predicted)
            self._loaded[id(candidate)] = loaded
            wrong = loaded.wrong()
            if wrong is None:
                candidate.seconds = loaded.time(QUICK)
                candidate.measured = "quick"
                self.found.measured.append(candidate)
            else:
                self._drop(candidate, wrong)
        except Exception as failure:
            self._failed(candidate, failure)
        self._forget_slow()
        self._tell("measuring", self._done, len(self.candidates))

    def _finals(self) -> None:
        ranked = self._ranked()
        finalists = [c for c in ranked[:_FINALISTS] if _time(c) <= _NEAR * _time(ranked[0])]
        if self.default is not None and self.default.seconds is not None:
            finalists += [] if self.default in finalists else [self.default]
        for number, candidate in enumerate(finalists, start=1):
            if self._broken:
                break
            if self._time_is_up(self.budget):
                self.found.interrupted = "budget"
                break
            try:
                candidate.seconds = self._again(candidate, FULL)
                candidate.measured = "full"
            except Exception as failure:
                self._failed(candidate, failure)
            self._tell("finals", number, len(finalists))
        if self.default is not None:
            self.found.default_seconds = self.default.seconds

    def _again(self, candidate: Candidate, effort: Effort) -> float:
        loaded = self._loaded.get(id(candidate))
        if loaded is None:
            compiled = compile_task(candidate.task)  # from the cache, or quickly once more
            loaded = self._loaded[id(candidate)] = self.bench.load(
                compiled.artifact, compiled.prediction.seconds
            )
        return loaded.time(effort)

    def _close_all(self) -> None:
        for loaded in self._loaded.values():
            with contextlib.suppress(DiagnosticError):  # after a fault nothing can be given back
                loaded.close()

    # Keeping the best

    def _ranked(self) -> list[Candidate]:
        """What may be chosen, the fastest first."""
        allowed = {id(c) for c in self.candidates}
        return sorted((c for c in self.found.measured if id(c) in allowed), key=_time)

    def _choose(self) -> None:
        """The fastest; one that was measured well before one that was not, the default before all."""
        ranked = self._ranked()
        if not ranked:
            return
        best = ranked[0]
        full = [c for c in ranked if c.measured == "full"]
        if full and _time(full[0]) <= _NOISE * _time(best):
            best = full[0]
        if self.default in ranked and self.default is not None:
            best = self.default if _time(self.default) <= _EQUAL * _time(best) else best
        self.found.best = best

    def _forget_slow(self) -> None:
        """Give back what those hold that cannot be finalists any more."""
        for candidate in self._ranked()[_FINALISTS:]:
            if candidate is not self.default and (held := self._loaded.pop(id(candidate), None)):
                held.close()

    def _failed(self, candidate: Candidate, failure: Exception) -> None:
        """Refused by the device, or a defect of the compiler: one configuration less."""
        reason = reason_of(failure)
        self._drop(candidate, reason)
        self.found.measured = [c for c in self.found.measured if c is not candidate]
        if not self.bench.works():
            self._broken = reason

    def _drop(self, candidate: Candidate, reason: str) -> None:
        self.found.dropped.append((candidate, reason))
        if (held := self._loaded.pop(id(candidate), None)) is not None:
            with contextlib.suppress(DiagnosticError):
                held.close()

    def _time_is_up(self, limit: float | None) -> bool:
        return limit is not None and time.monotonic() - self._began > limit

    def _tell(self, phase: str, done: int, total: int) -> None:
        ranked = self._ranked()
        elapsed = time.monotonic() - self._began
        left = elapsed / done * (total - done) if done else None
        if self.budget is not None and left is not None:
            left = max(0.0, min(left, self.budget - elapsed))
        best = ranked[0] if ranked else None
        self.report(
            Progress(
                phase,
                done,
                total,
                str(best.configuration) if best else "",
                best.seconds if best else None,
                left,
            )
        )


def _time(candidate: Candidate) -> float:
    assert candidate.seconds is not None
    return candidate.seconds
