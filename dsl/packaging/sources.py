"""The sources of a specification: their texts, what each imports, the kernels that each defines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, Loc, error
from dslc.frontend import parse_tile, read_source, tree
from dslc.frontend.imports import closure, normal_path
from dslc.packaging.spec import Spec


@dataclass(frozen=True, slots=True)
class Sources:
    """Texts by path from the specification's folder; kernels and the paths of its texts by source."""

    texts: Mapping[str, str]
    kernels: Mapping[str, list[str]]
    paths: Mapping[str, tuple[str, ...]]

    def of(self, source: str) -> tuple[tuple[str, str], ...]:
        """A source and all that it imports, as pairs of a path and a text."""
        return tuple((path, self.texts[path]) for path in self.paths[source])


def read_sources(spec: Spec, folder: Path) -> Sources:
    """DSL0917 where a source is missing or has not the kernel that is named; what cannot be parsed."""
    texts: dict[str, str] = {}
    kernels: dict[str, list[str]] = {}
    paths: dict[str, tuple[str, ...]] = {}
    search = [Path(p) for p in spec.package.include]
    for source in dict.fromkeys(k.source for k in spec.kernel):
        if not (folder / source).is_file():
            raise error("DSL0917", f"there is no file {source} in {folder}")
        text = read_source(folder / source)
        module = parse_tile(text, source)
        own = [i for i in module.items if isinstance(i, tree.Kernel | tree.Program)]
        found = {normal_path(source): text, **closure(module, Path(source), search, folder)}
        kernels[source], paths[source] = [i.name for i in own], tuple(sorted(found))
        texts |= found
    for table in spec.kernel:
        if table.kernel is not None and table.kernel not in kernels[table.source]:
            listed = ", ".join(kernels[table.source]) or "none"
            text = f"{table.source} has no kernel {table.kernel}"
            raise error("DSL0917", text, hint=f"its kernels are {listed}")
    return Sources(texts, kernels, paths)


def from_here(failure: DiagnosticError, folder: Path) -> DiagnosticError:
    """The same findings with paths as they are from the working directory, for those who read them."""

    def moved(loc: Loc | None) -> Loc | None:
        if loc is None or not (folder / loc.file).is_file():
            return loc
        return replace(loc, file=os.path.relpath(folder / loc.file))

    def shown(d: Diagnostic) -> Diagnostic:
        labels = tuple(replace(label, loc=moved(label.loc) or label.loc) for label in d.labels)
        return replace(d, loc=moved(d.loc), labels=labels)

    return DiagnosticError(map(shown, failure.diagnostics))
