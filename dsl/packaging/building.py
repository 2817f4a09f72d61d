"""From a specification to a package: what is asked for, compiled side by side, checked and written.

Who compiles is any executor (`dslc.executors`): a task has its sources with it, and what comes back
goes into the compile cache here as well.

A package whose inputs have not changed is left as it is. What it is made of is the specification, the
text of every source, dslc's own sources, the tools and the tuning results; their hash is in the
manifest, so that nothing is compiled to find out.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from pathlib import Path

import msgspec
from dslc.building import CacheChoice, keep, open_cache
from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, error
from dslc.compiler.fingerprint import compiler_fingerprint, digest
from dslc.executors import ExecutorChoice, open_workers
from dslc.machines import find_machine
from dslc.packaging.consumers import consumer_files, toolchain
from dslc.packaging.entries import check_storages
from dslc.packaging.sources import Sources, read_sources
from dslc.packaging.spec import Spec, Wanted, read_spec, wanted
from dslc.packaging.tasks import Compiled, Task, compile_task
from dslc.packaging.writing import package_files, write_tree
from dslc.runtime.cache import Cache
from dslc.runtime.package.folder import PackageFolder
from dslc.runtime.package.index import Origins
from dslc.tuner.store import TuningStore, render

_RETRIES = 2  # of a task whose process died: a machine may have been short of memory
Report = Callable[[int, int], None]


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
    spec, folder = read_spec(file), file.parent
    opened = open_cache(cache)
    root = None if opened is None else str(opened.root.resolve())
    inputs = _Inputs(spec, folder, root)
    if not force and (there := _unchanged(path, inputs)) is not None:
        count = sum(len(k.specializations) for k in there.index.kernels)
        return Outcome(there, False, count)
    sources = read_sources(spec, folder)
    listed = wanted(spec, sources.kernels)
    made = _compile(listed, spec, sources, opened, inputs, executor, jobs, report)
    entries = [m.entry for m in made]
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


class _Inputs:
    """What a package of a specification depends on."""

    def __init__(self, spec: Spec, folder: Path, cache: str | None) -> None:
        targets = dict.fromkeys(t for k in spec.kernel for t in k.targets or spec.package.targets)
        self._toolchains = {t: find_machine(t).toolchain() for t in targets}
        if compiler := toolchain(spec.package):
            self._toolchains["consumers"] = compiler
        self._folder = folder
        places = [folder, *(folder / p for p in spec.package.include)]
        self._fixed: dict[str, str | bytes] = {
            "specification": msgspec.json.encode(spec, order="sorted"),
            "compiler": compiler_fingerprint(),
            "toolchains": repr(sorted(self._toolchains.items())),
            # A file that is new may come before one that was found.
            "names": "\n".join(os.path.relpath(f, folder) for p in places for f in _tiles(p)),
            "tuning": _tuning(cache) if any(t.startswith("cuda:") for t in targets) else "",
        }

    def origins(self, sources: Mapping[str, str]) -> Origins:
        """What the manifest says of it, for these texts by path."""
        import dslc

        hashes = {p: hashlib.sha256(t.encode()).hexdigest() for p, t in sorted(sources.items())}
        return Origins(
            self.digest(hashes), hashes, dslc.__version__, compiler_fingerprint(), self._toolchains
        )

    def check(self, artifact: Artifact) -> None:
        """DSL0956 for an artifact of another machine that was made with other tools."""
        own, found = self._toolchains[artifact.target], artifact.hashes.toolchain
        if found != own:
            text = (
                f"a worker compiled {artifact.name} for {artifact.target} with {found}, not {own}"
            )
            raise error("DSL0956", text, hint="install the same versions on all machines")

    def digest(self, hashes: Mapping[str, str]) -> str:
        """The hash of everything, for sources with these hashes."""
        return digest(self._fixed | {f"source {p}": h for p, h in hashes.items()})

    def present(self, paths: Iterable[str]) -> dict[str, str]:
        """The hashes of these sources as they are now; OSError where one is gone."""
        return {p: hashlib.sha256((self._folder / p).read_bytes()).hexdigest() for p in paths}


def _unchanged(path: Path, inputs: _Inputs) -> PackageFolder | None:
    """The package that is there, where building would give the same and every byte is right."""
    try:
        there = PackageFolder(path)
        origins = there.index.origins
        if inputs.digest(inputs.present(origins.sources)) != origins.inputs:
            return None
        there.check()
    except (DiagnosticError, OSError):
        return None
    return there


def _compile(
    listed: Sequence[Wanted],
    spec: Spec,
    sources: Sources,
    cache: Cache | None,
    inputs: _Inputs,
    executor: ExecutorChoice,
    jobs: int | None,
    report: Report | None,
) -> list[Compiled]:
    """Every specialisation's result in order; DiagnosticError with all that is wrong, each once."""
    found: dict[Diagnostic, None] = {}
    include = tuple(spec.package.include)
    tuning = render(records) if cache and (records := TuningStore(cache.root).all()) else ""
    with open_workers(executor, jobs, retries=_RETRIES) as workers:
        where: bool | str | None = (
            False if cache is None else None if workers.remote else str(cache.root)
        )
        tasks = [Task(w, sources.of(w.source), include, where, tuning) for w in listed]
        futures = [workers.submit(compile_task, task) for task in tasks]
        for done, future in enumerate(as_completed(futures), 1):
            failure = future.exception()
            if isinstance(failure, DiagnosticError):
                found.update(dict.fromkeys(failure.diagnostics))
            elif failure is not None:
                raise failure
            elif workers.remote:
                inputs.check(future.result().cached)
                if cache is not None:
                    keep(cache, future.result().cached)
            if report is not None:
                report(done, len(tasks))
        if found:
            raise DiagnosticError(found)
        return [future.result() for future in futures]


def _tiles(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.tile"))


def _tuning(cache: str | None) -> str:
    """A hash of the tuning results, which decide what is chosen where nothing is set."""
    folder = Path(cache or "", "tuning")
    found = sorted(folder.glob("*.json")) if cache else []
    return digest({f.name: f.read_bytes() for f in found})
