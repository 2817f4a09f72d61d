"""All that a specification asks for, compiled by any executor (`dslc.executors`).

A task has its sources with it, and what comes back from other machines goes into the cache here too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import as_completed

from dslc.compilation.caching import keep
from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, error
from dslc.executors import Kind, WorkerDiedError, Workers
from dslc.packaging.entries import Entry
from dslc.packaging.sources import Sources
from dslc.packaging.spec import Spec, Wanted, wanted
from dslc.packaging.tasks import RETRIES, Task, compile_task
from dslc.runtime.cache import Cache
from dslc.tuner.store import TuningStore, render

Report = Callable[[int, int], None]


def compile_all(
    spec: Spec,
    sources: Sources,
    workers: Workers,
    *,
    cache: Cache | None,
    toolchains: Mapping[str, str],
    report: Report | None,
) -> list[Entry]:
    """Every specialisation in order; DiagnosticError with all that is wrong, each thing once.

    `toolchains` are the tools of each target that the package names: DSL0956 where other machines have
    others.
    """
    diagnostics: dict[Diagnostic, None] = {}
    include = tuple(spec.package.include)
    tuning = render(records) if cache and (records := TuningStore(cache.root).all()) else ""
    # Other machines have caches of their own.
    where = False if cache is None else None if workers.remote else f"{cache.root.resolve()}"
    listed = wanted(spec, sources.kernels)
    futures = [
        workers.submit_of(
            Kind(w.target, (w.target, w.source, w.kernel)),
            compile_task,
            Task(w, sources.of(w.source), include, where, tuning),
        )
        for w in listed
    ]
    named = dict(zip(futures, listed, strict=True))
    for done, future in enumerate(as_completed(futures), 1):
        failure = future.exception()
        if isinstance(failure, WorkerDiedError):
            failure = _died(named[future], failure)
        if isinstance(failure, DiagnosticError):
            diagnostics.update(dict.fromkeys(failure.diagnostics))
        elif failure is not None:
            raise failure
        elif workers.remote:
            _take(future.result().cached, cache, toolchains)
        if report is not None:
            report(done, len(futures))
    if diagnostics:
        raise DiagnosticError(diagnostics)
    return [future.result().entry for future in futures]


def _died(wanted: Wanted, failure: WorkerDiedError) -> DiagnosticError:
    what = f"{wanted.kernel} of {wanted.source} for {wanted.target}"
    return error(
        "DSL0955",
        f"{RETRIES + 1} processes died of compiling {what}: {failure}",
        hint="is there memory enough? fewer at once need less: --jobs 1",
    )


def _take(artifact: Artifact, cache: Cache | None, toolchains: Mapping[str, str]) -> None:
    """Keep what another machine made; DSL0956 where it has other tools."""
    own, used = toolchains[artifact.target], artifact.hashes.toolchain
    if used != own:
        text = f"a worker compiled {artifact.name} for {artifact.target} with {used}, not {own}"
        raise error("DSL0956", text, hint="install the same versions on all machines")
    if cache is not None:
        keep(cache, artifact)
