"""What a package depends on, so that one whose inputs have not changed is left as it is.

That is the specification, the text of every source, dslc's own sources, the tools and the tuning
results; their hash is in the manifest, so that nothing is compiled to find out, nor is what compiles
imported.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

import msgspec
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.fingerprint import compiler_fingerprint, digest
from dslc.machines.registry import find_machine, machine_class
from dslc.packaging.spec import Spec
from dslc.runtime.package.folder import PackageFolder
from dslc.runtime.package.index import Origins


class Inputs:
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
            "tuning": _tuning(cache)
            if any(machine_class(t).facts.tuning == "measured" for t in targets)
            else "",
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
        paths_inside = {os.path.normpath(f"{f or '.'}/{t}") for f in folders for t in tails}
        return sorted(p for p in paths_inside if (self._folder / p).is_file())

    def present(self, paths: Iterable[str]) -> dict[str, str]:
        """The hashes of these sources as they are now; OSError where one is gone."""
        return {p: hashlib.sha256((self._folder / p).read_bytes()).hexdigest() for p in paths}


def unchanged(path: Path, inputs: Inputs) -> PackageFolder | None:
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
    records = sorted(folder.glob("*.json")) if cache else []
    return digest({f.name: f.read_bytes() for f in records})
