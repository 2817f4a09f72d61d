"""A tuning from begin to end: sizes and arguments in, the fastest choices out, remembered."""

from __future__ import annotations

import contextlib
import datetime
import math
import re
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.ir.text.printer import print_program
from dslc.executors import ExecutorChoice, Workers, open_workers
from dslc.runtime.cache import CacheWarning
from dslc.tuner.inputs import Inputs
from dslc.tuner.pruning import Candidate, Pruned, prune
from dslc.tuner.records import Record
from dslc.tuner.requirements import check_requirements
from dslc.tuner.search import Found, Progress, Report, Search
from dslc.tuner.space import Configuration, choices_of, with_options
from dslc.tuner.store import TuningStore
from dslc.tuner.tasks import Task, predict_task

if TYPE_CHECKING:
    from dslc.compilation.templates import TemplateOrigin
    from dslc.compiler.artifact import Artifact
    from dslc.tuner.bench import Bench
    from dslc.tuner.inputs import Array, Scalar

TOP = 64
_PREDICTING = 0.4  # of the budget, at most
_NAME = re.compile(r"[A-Za-z_]\w*")


def _quiet(progress: Progress) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How to tune: seconds (None: until all is measured), candidates that are measured, processes.

    `executor` are other workers than `jobs` processes, as `dslc.executors` opens them.
    `seed` is that of random inputs, and of the choice among very many configurations. With `repack`
    weights may be stored in another way than other sizes of the kernel were tuned for; their results
    are forgotten then, since one packing serves all.
    """

    budget: float | None = None
    top: int = TOP
    jobs: int | None = None
    seed: int = 0
    repack: bool = False
    report: Report = _quiet
    executor: ExecutorChoice = None


@dataclass(frozen=True, slots=True)
class Request:
    """What to tune: the sizes of all dims, those that are compiled in, choices that are settled.

    `given` are arguments by parameter, on the host; the others are random.
    """

    sizes: Mapping[str, int]
    fixed: tuple[str, ...] = ()
    settled: Mapping[str, object] = field(default_factory=dict)
    given: Mapping[str, Array | Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """What a tuning found. `record` is None where it was interrupted before anything was measured."""

    kernel: str
    record: Record | None
    pruned: Pruned
    found: Found
    candidates: list[Candidate]

    @property
    def config(self) -> dict[str, int | str]:
        """The best choices by name; empty where nothing was measured."""
        return dict(self.record.config) if self.record else {}

    def __str__(self) -> str:
        if self.record is None:
            return f"{self.kernel}: interrupted before anything was measured"
        r = self.record
        choices = " ".join(f"{n}={v}" for n, v in r.config.items()) or "the default"
        text = f"{self.kernel}: {choices}: {r.seconds * 1e6:.2f} us"
        if r.default_seconds:
            text += f", {r.default_seconds / r.seconds:.2f} times as fast as the default"
        return text


class Tuning:
    """A tuning of one kernel that is ready to begin."""

    def __init__(self, origin: TemplateOrigin, request: Request, settings: Settings) -> None:
        self.origin, self.request, self.settings = origin, request, settings
        self.name = origin.signature.name
        if origin.machine.facts.tuning is None:
            text = f"{self.name} is for {origin.machine.target.name}, where nothing can be tuned"
            raise error(
                "DSL0920", text, hint="dslc tune --target cuda, or a chip of AMD: hip:gfx950"
            )
        self.sizes = {**request.sizes, **origin.fixed}
        missing = [d for d in origin.signature.dims if d not in self.sizes]
        if missing:
            hint = f"add {' '.join(f'--dim {d}=...' for d in missing)}, or give the arguments"
            text = f"{self.name}: the size of {' and '.join(missing)} is not known"
            raise error("DSL0913", text, hint=hint)
        self.inputs = Inputs(origin.signature.parameters, self.sizes, request.given, settings.seed)
        self.exact = exact_dims(origin)
        self._remote = False  # whether workers have caches of their own

    @property
    def fixed(self) -> dict[str, int]:
        """The dims that are compiled in: those of packed weights too, which are exact anyway."""
        names = (*self.origin.fixed, *self.request.fixed, *self.exact)
        return {d: self.sizes[d] for d in names}

    @property
    def default(self) -> Mapping[str, object]:
        """The choices of a call before anything is tuned: predicted, unless some are settled."""
        if not self.request.settled:
            predicted = self.origin.predicted.find(self.fixed, self.sizes.get)
            if predicted is not None:
                return self.origin.settled(predicted.config, self.sizes.get)
        return self.origin.settled(self.request.settled, self.sizes.get)

    def prune(self, workers: Workers) -> Pruned:
        """The candidates by prediction; no device is asked."""
        self._remote = workers.remote
        budget = self.settings.budget
        until = math.inf if budget is None else time.monotonic() + _PREDICTING * budget
        origin, settled = self.origin, self.request.settled
        configurations = choices_of(origin.open_tunes, settled, self.default)

        def advance(done: int, total: int) -> None:
            self.settings.report(Progress("predicting", done, total))

        def expand(kept: Iterable[Configuration]) -> Iterable[Configuration]:
            return with_options(kept, (*origin.signature.tunes, *settled))

        return prune(
            configurations,
            expand,
            self.task,
            workers,
            seed=self.settings.seed,
            storage=self._storage(),
            until=until,
            advance=advance,
        )

    def run(self, bench: Bench, workers: Workers) -> Result:
        """Prune, measure, remember."""
        began = time.monotonic()
        pruned = self.prune(workers)
        if pruned.interrupted:
            raise KeyboardInterrupt  # nothing was measured
        candidates = self.chosen(pruned)
        settings = self.settings
        search = Search(
            candidates,
            pruned.default,
            bench,
            workers,
            budget=settings.budget,
            report=settings.report,
            began=began,
            arrived=self._arrived,
        )
        measured = search.run()
        record = self._record(measured, bench) if measured.best is not None else None
        if record is not None:
            self._keep(record)
        return Result(self.name, record, pruned, measured, candidates)

    def chosen(self, pruned: Pruned) -> list[Candidate]:
        """The candidates that are measured: the best predicted, and the default."""
        best = pruned.candidates[: max(1, self.settings.top)]
        default = pruned.default
        if default in pruned.candidates and default is not None and default not in best:
            best = [*best[:-1], default]
        return best

    def task(self, configuration: Configuration) -> Task:
        """What a worker needs. DiagnosticError where the kernel refuses the choices."""
        elaborated = self.origin.elaborated(self.fixed, configuration.config, self.sizes.get)
        check_requirements(elaborated.program, self.sizes)
        cache = self.origin.options.cache
        return Task(
            print_program(elaborated.program, locations=True),
            elaborated.choices,
            elaborated.schedule,
            self.origin.machine.target.name,
            self.sizes,
            False if cache is None else None if self._remote else str(cache.root),
            self.origin.options.code,
        )

    def _arrived(self, artifact: Artifact) -> None:
        """Keep what another machine compiled where calls look for it."""
        if self._remote and (cache := self.origin.options.cache) is not None:
            from dslc.compilation.caching import keep

            keep(cache, artifact)

    def _storage(self) -> str | None:
        """The hash of the storage that weights must have, None where any will do."""
        if self.inputs.packed_given():
            tuned = self.origin.tuned.find(self.sizes.get)
            config = dict(tuned.config) if tuned is not None else self.default
            configuration = Configuration(tuple(config.items()))
            return predict_task(self.task(configuration)).storage or None
        if self.settings.repack:
            return None
        return next((r.storage for r in self._alike() if r.storage), None)

    def _alike(self) -> list[Record]:
        """Results for the same weights: they share one packing."""
        known = self.origin.tuned.known()
        return [r for r in known if all(r.dims[d] == self.sizes[d] for d in self.exact)]

    def _record(self, found: Found, bench: Bench) -> Record:
        best = found.best
        assert best is not None
        assert best.seconds is not None
        return Record(
            self.origin.tuned.environment(),
            bench.device,
            bench.driver,
            {d: self.sizes[d] for d in self.origin.signature.dims},
            tuple(sorted(self.fixed)),
            self.exact,
            best.configuration.plain,
            best.outlook.storage,
            best.seconds,
            found.default_seconds or 0.0,
            len(found.measured) + len(found.dropped),
            datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            not found.interrupted,
        )

    def _keep(self, record: Record) -> None:
        cache = self.origin.options.cache
        others = [r for r in self._alike() if r.storage != record.storage]
        self.origin.tuned.add(record, without=others)
        if cache is not None:
            store = TuningStore(cache.root)
            try:
                store.remove(others)
                store.add([record])
            except DiagnosticError as failure:  # what took so long to find is not lost for that
                text = f"the result is not kept: {failure.diagnostics[0].message}"
                warnings.warn(text, CacheWarning, stacklevel=2)


def exact_dims(origin: TemplateOrigin) -> tuple[str, ...]:
    """The dims of weights that the compiler packs: one packing is for one value of each."""
    exact = {
        name
        for p in origin.signature.parameters
        if p.dtype.is_low_bit and p.packed is None and not p.is_written
        for text in p.dims or ()
        for name in _NAME.findall(text)
    }
    return tuple(d for d in origin.signature.dims if d in exact)


def tune(
    origin: TemplateOrigin,
    request: Request,
    settings: Settings | None = None,
    make_bench: Callable[[Inputs], Bench] | None = None,
) -> Result:
    """Tune one kernel on the first GPU, or on what `make_bench` gives; AMD's chips are modelled.

    DSL0840 without a GPU, DSL0920 for a target or kernel that cannot be tuned, DSL0913 for a dim
    without a size, DSL0921 where no configuration runs.
    """
    settings = settings or Settings()
    tuning = Tuning(origin, request, settings)
    if make_bench is not None:
        with open_workers(settings.executor, settings.jobs or 0) as workers:
            return tuning.run(make_bench(tuning.inputs), workers)
    with (
        contextlib.closing(origin.machine.bench(tuning.inputs)) as bench,
        open_workers(settings.executor, settings.jobs) as workers,
    ):
        return tuning.run(bench, workers)
