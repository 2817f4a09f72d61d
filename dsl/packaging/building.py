"""From a specification to a package: what is asked for is compiled, checked and written.

Processes that compile begin to import the compiler before this one has imported what it needs itself,
which takes about as long; most of what is imported here is imported late for that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dslc.packaging.spec import Spec, check_spec, decode_spec, fewest
from dslc.packaging.tasks import RETRIES

if TYPE_CHECKING:
    from dslc.compilation.caching import CacheChoice
    from dslc.executors import ExecutorChoice, Workers
    from dslc.packaging.compiling import Report
    from dslc.packaging.inputs import Inputs
    from dslc.runtime.cache import Cache
    from dslc.runtime.package.folder import PackageFolder


@dataclass(frozen=True, slots=True)
class Outcome:
    """A package that is there now; `built` says whether it had to be made, of how many entries."""

    package: PackageFolder
    built: bool
    specializations: int


def build_package(
    file: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    executor: ExecutorChoice = None,
    cache: CacheChoice = None,
    report: Report | None = None,
    force: bool = False,
) -> Outcome:
    """Compile what a specification asks for into a package at `path`, on `jobs` processes (0: in this).

    Or on an `executor` of `concurrent.futures`, or one by name such as `dask:tcp://10.0.0.7:8786`: its
    workers use the compile caches of their own environments. `report` is called with the
    specialisations that are done and those in all. With `force` it is built though nothing has changed.

    DSL0917 for a specification that cannot be read, DSL0835 for kernels that cannot be in one package,
    DSL0831 where `path` cannot be written, DSL0955 and DSL0956 for an executor that does not serve, and
    what is wrong in the sources, all of it.
    """
    file, path = Path(file).resolve(), Path(path)
    spec = decode_spec(file)
    if not force and path.exists():
        check_spec(file, spec)
        from dslc.packaging.inputs import unchanged

        inputs, opened = _inputs(spec, file, cache)
        if (there := unchanged(path, inputs)) is not None:
            count = sum(len(k.specializations) for k in there.index.kernels)
            return Outcome(there, False, count)
        with _workers(spec, executor, jobs) as workers:
            return _build(spec, file, path, inputs, opened, workers, report)
    with _workers(spec, executor, jobs) as workers:
        check_spec(file, spec)
        inputs, opened = _inputs(spec, file, cache)
        return _build(spec, file, path, inputs, opened, workers, report)


@contextmanager
def _workers(spec: Spec, executor: ExecutorChoice, jobs: int | None) -> Iterator[Workers]:
    """Who compiles; processes of this machine have begun to import the compiler."""
    from dslc.executors import open_workers
    from dslc.packaging.warming import import_compiler

    with open_workers(executor, jobs, retries=RETRIES) as workers:
        workers.start(import_compiler, fewest(spec))
        yield workers


def _inputs(spec: Spec, file: Path, cache: CacheChoice) -> tuple[Inputs, Cache | None]:
    from dslc.compilation.caching import open_cache
    from dslc.packaging.inputs import Inputs

    opened = open_cache(cache)
    root = None if opened is None else str(opened.root.resolve())
    return Inputs(spec, file.parent, root), opened


def _build(
    spec: Spec,
    file: Path,
    path: Path,
    inputs: Inputs,
    cache: Cache | None,
    workers: Workers,
    report: Report | None,
) -> Outcome:
    from dslc.compiler.diagnostics import DiagnosticError
    from dslc.packaging.compiling import compile_all
    from dslc.packaging.consumers import consumer_files
    from dslc.packaging.entries import check_storages
    from dslc.packaging.sources import from_here, read_sources
    from dslc.packaging.writing import package_files, write_tree
    from dslc.runtime.package.folder import PackageFolder

    try:
        sources = read_sources(spec, file.parent)
        entries = compile_all(
            spec, sources, workers, cache=cache, toolchains=inputs.toolchains, report=report
        )
    except DiagnosticError as failure:
        raise from_here(failure, file.parent) from None
    check_storages(entries)
    files = package_files(
        spec.package.name,
        spec.package.version,
        entries,
        inputs.origins(sources.texts),
        consumer_files(spec.package, entries),
    )
    write_tree(path, files)
    return Outcome(PackageFolder(path), True, len(entries))
