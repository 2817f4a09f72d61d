"""The sources of a specification: their texts, what each imports, the kernels that each has.

Those are the kernels that a source defines, or imports where it defines none. A table may name any.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, Loc, error
from dslc.frontend import parse_tile, read_source, tree
from dslc.frontend.imports import STANDARD, closure, import_path, is_standard, normal_path
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
    known: dict[str, set[str]] = {}
    paths: dict[str, tuple[str, ...]] = {}
    search = [Path(p) for p in spec.package.include]
    for source in dict.fromkeys(k.source for k in spec.kernel):
        if not (folder / source).is_file():
            raise error("DSL0917", f"there is no file {source} in {folder}")
        text = read_source(folder / source)
        module = parse_tile(text, source)
        own = _kernels_of(module)
        imported = closure(module, Path(source), search, folder)
        lent = _imported_kernels(module, imported)
        kernels[source], known[source] = own or lent, {*own, *lent}
        read = {normal_path(source): text, **imported}
        paths[source] = tuple(sorted(read))
        texts |= read
    for table in spec.kernel:
        if table.kernel is not None and table.kernel not in known[table.source]:
            listed = ", ".join(kernels[table.source]) or "none"
            text = f"{table.source} has no kernel {table.kernel}"
            raise error("DSL0917", text, hint=f"its kernels are {listed}")
    return Sources(texts, kernels, paths)


def _kernels_of(module: tree.Module) -> list[str]:
    return [i.name for i in module.items if isinstance(i, tree.Kernel | tree.Program)]


def _imported_kernels(module: tree.Module, imported: Mapping[str, str]) -> list[str]:
    """The names that a module imports and that are kernels, in these texts or in the library."""
    texts = dict(imported)
    lines = [i for i in module.items if isinstance(i, tree.Import)]
    for line in lines:
        file = STANDARD / import_path(line)
        if is_standard(line) and file.is_file():
            texts[str(file)] = read_source(str(file))
    theirs = {k for path, text in texts.items() for k in _kernels_of(parse_tile(text, path))}
    return [n for line in lines for n in line.names if n in theirs]


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
