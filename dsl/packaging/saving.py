"""Specialisations as a package, as `Library.save` writes it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dslc.compilation.specialization import Specialization
from dslc.compiler.diagnostics import error
from dslc.compiler.fingerprint import compiler_fingerprint
from dslc.packaging.entries import Entry, described
from dslc.packaging.writing import package_files, write_tree
from dslc.runtime.package.index import Origins


def save(path: Path, name: str, specializations: Iterable[Specialization]) -> None:
    """Write a package of specialisations; an older one at `path` is replaced.

    DSL0831 where `path` is something else, or there are none.
    """
    import dslc

    entries = [Entry(described(one.signature), one.artifact) for one in specializations]
    if not entries:
        raise error("DSL0831", "a package has at least one kernel")
    origins = Origins("", {}, dslc.__version__, compiler_fingerprint(), {})
    write_tree(path, package_files(name, "0.0.0", entries, origins))
