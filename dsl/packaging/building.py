"""From a specification to a package: what is asked for is compiled, checked and written.

A package whose inputs have not changed is left as it is. What it is made of is the specification, the
text of every source, dslc's own sources, the tools and the tuning results; their hash is in the
manifest, so that nothing is compiled to find out, nor is what compiles imported.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import msgspec
from dslc.caching import CacheChoice, open_cache
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.fingerprint import compiler_fingerprint, digest
from dslc.machines import find_machine
from dslc.packaging.spec import Spec, fewest, read_spec
from dslc.runtime.package.folder import PackageFolder
from dslc.runtime.package.index import Origins

if TYPE_CHECKING:
    from dslc.executors import ExecutorChoice
    from dslc.packaging.compiling import Report

RETRIES = 2  # of a task whose process died: a machine may have been short of memory


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
    from dslc.executors import open_workers
    from dslc.packaging.warming import import_compiler

    with open_workers(executor, jobs, retries=RETRIES) as workers:
        # They import while this process does, and reads the sources.
        workers.start(import_compiler, fewest(spec))
        from dslc.packaging.compiling import compile_all
        from dslc.packaging.consumers import consumer_files
        from dslc.packaging.entries import check_storages
        from dslc.packaging.sources import from_here, read_sources
        from dslc.packaging.writing import package_files, write_tree

        try:
            sources = read_sources(spec, folder)
            entries = compile_all(
                spec, sources, workers, cache=opened, toolchains=inputs.toolchains, report=report
            )
        except DiagnosticError as failure:
            raise from_here(failure, folder) from None
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
        self.toolchains = {t: find_machine(t).toolchain() for t in targets}
        if spec.package.consumers:
            from dslc.packaging.consumers import toolchain

            self.toolchains |= toolchain(spec.package)
        self._folder, self._include = folder, spec.package.include
        self._fixed: dict[str, str | bytes] = {
            "specification": msgspec.json.encode(spec, order="sorted"),
            "compiler": compiler_fingerprint(),
            "toolchains": repr(sorted(self.toolchains.items())),
            "tuning": _tuning(cache) if any(t.startswith("cuda:") for t in targets) else "",
        }

    def origins(self, sources: Mapping[str, str]) -> Origins:
        """What the manifest says of it, for these texts by path."""
        import dslc

        hashes = {p: hashlib.sha256(t.encode()).hexdigest() for p, t in sorted(sources.items())}
        return Origins(
            self.digest(hashes), hashes, dslc.__version__, compiler_fingerprint(), self.toolchains
        )

    def digest(self, hashes: Mapping[str, str]) -> str:
        """The hash of everything, for sources with these hashes."""
        named = {f"source {p}": h for p, h in hashes.items()}
        return digest({**self._fixed, **named, "names": "\n".join(self._candidates(hashes))})

    def _candidates(self, paths: Iterable[str]) -> list[str]:
        """The files that imports among these may find: one that is new may come before another."""
        parts = [PurePosixPath(p).parts for p in paths]
        tails = {"/".join(p[i:]) for p in parts for i in range(len(p)) if p[i] != ".."}
        folders = {"", *self._include, *("/".join(p[:-1]) for p in parts)}
        found = {os.path.normpath(f"{f or '.'}/{t}") for f in folders for t in tails}
        return sorted(p for p in found if (self._folder / p).is_file())

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


def _tuning(cache: str | None) -> str:
    """A hash of the tuning results, which decide what is chosen where nothing is set."""
    folder = Path(cache or "", "tuning")
    found = sorted(folder.glob("*.json")) if cache else []
    return digest({f.name: f.read_bytes() for f in found})
