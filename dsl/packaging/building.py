"""From a specification to a package: what is asked for, compiled side by side, checked and written.

A package whose inputs have not changed is left as it is. What it is made of is the specification, the
text of every source, dslc's own sources, the tools and the tuning results; their hash is in the
manifest, so that nothing is compiled to find out.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import as_completed
from dataclasses import dataclass
from pathlib import Path

import msgspec
from dslc.building import CacheChoice, open_cache
from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, error
from dslc.compiler.fingerprint import compiler_fingerprint, digest
from dslc.machines import find_machine
from dslc.packaging.consumers import consumer_files, toolchain
from dslc.packaging.entries import check_storages
from dslc.packaging.spec import Spec, read_spec, wanted
from dslc.packaging.tasks import Compiled, Task, compile_task, forget
from dslc.packaging.writing import package_files, write_tree
from dslc.runtime.package.folder import PackageFolder
from dslc.runtime.package.index import Origins
from dslc.tuner.workers import Workers, default_count

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
    cache: CacheChoice = None,
    report: Report | None = None,
    force: bool = False,
) -> Outcome:
    """Compile what a specification asks for into a package at `path`, on `jobs` processes.

    With 0 jobs it is compiled here, which changes the working directory meanwhile. `report` is called
    with the specialisations that are done and those in all. With `force` it is built though nothing has
    changed. DSL0917 for a specification that cannot be read, DSL0835 for kernels that cannot be in one
    package, DSL0831 where `path` cannot be written, and what is wrong in the sources, all of it.
    """
    file, path = Path(file).resolve(), Path(path)
    spec, folder = read_spec(file), file.parent
    opened = open_cache(cache)
    root = None if opened is None else str(opened.root.resolve())
    inputs = _Inputs(spec, folder, root)
    if not force and (there := _unchanged(path, inputs)) is not None:
        count = sum(len(k.specializations) for k in there.index.kernels)
        return Outcome(there, False, count)
    listed = wanted(spec, _own_kernels(spec, folder))
    tasks = [Task(w, str(folder), tuple(spec.package.include), root) for w in listed]
    made = _compile(tasks, default_count() if jobs is None else jobs, report)
    entries = [m.entry for m in made]
    check_storages(entries)
    texts = {_relative(p): t for m in made for p, t in m.sources.items()}
    files = package_files(
        spec.package.name,
        spec.package.version,
        entries,
        inputs.origins(texts),
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
            "names": "\n".join(_relative(str(f), folder) for p in places for f in _tiles(p)),
            "tuning": _tuning(cache) if any(t.startswith("cuda:") for t in targets) else "",
        }

    def origins(self, sources: Mapping[str, str]) -> Origins:
        """What the manifest says of it, for these texts by path."""
        import dslc

        hashes = {p: hashlib.sha256(t.encode()).hexdigest() for p, t in sorted(sources.items())}
        return Origins(
            self.digest(hashes), hashes, dslc.__version__, compiler_fingerprint(), self._toolchains
        )

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


def _compile(tasks: list[Task], jobs: int, report: Report | None) -> list[Compiled]:
    """Every task's result in order; DiagnosticError with all that is wrong, each thing once."""
    found: dict[Diagnostic, None] = {}
    forget()
    with Workers(min(jobs, len(tasks))) as workers:
        futures = [workers.submit(compile_task, task) for task in tasks]
        for done, future in enumerate(as_completed(futures), 1):
            failure = future.exception()
            if isinstance(failure, DiagnosticError):
                found.update(dict.fromkeys(failure.diagnostics))
            elif failure is not None:
                raise failure
            if report is not None:
                report(done, len(tasks))
        if found:
            raise DiagnosticError(found)
        return [future.result() for future in futures]


def _own_kernels(spec: Spec, folder: Path) -> dict[str, list[str]]:
    """The kernels and programs that each source defines; DSL0917 where one cannot be read."""
    from dslc.frontend import parse_tile, read_source, tree

    found = {}
    for source in dict.fromkeys(k.source for k in spec.kernel):
        if not (folder / source).is_file():
            raise error("DSL0917", f"there is no file {source} in {folder}")
        module = parse_tile(read_source(folder / source), source)
        own = [i for i in module.items if isinstance(i, tree.Kernel | tree.Program)]
        found[source] = [i.name for i in own]
    for table in spec.kernel:
        if table.kernel is not None and table.kernel not in found[table.source]:
            listed = ", ".join(found[table.source]) or "none"
            text = f"{table.source} has no kernel {table.kernel}"
            raise error("DSL0917", text, hint=f"its kernels are {listed}")
    return found


def _relative(path: str, folder: Path | None = None) -> str:
    """A path from the specification's folder, with slashes; texts are read by such paths."""
    return Path(os.path.relpath(path, folder) if folder else os.path.normpath(path)).as_posix()


def _tiles(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.tile"))


def _tuning(cache: str | None) -> str:
    """A hash of the tuning results, which decide what is chosen where nothing is set."""
    folder = Path(cache or "", "tuning")
    found = sorted(folder.glob("*.json")) if cache else []
    return digest({f.name: f.read_bytes() for f in found})
