"""Where imports are read from: the disk, or texts that were sent from another machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from dslc.compiler.diagnostics import DiagnosticError
from dslc.frontend import tree
from dslc.frontend.source import read_source
from dslc.frontend.tile_parser import parse_tile


class Files(Protocol):
    """Sources by path."""

    def has(self, path: Path) -> bool:
        """Whether there is such a file."""

    def read(self, path: Path) -> str:
        """Its text; DSL0001 to DSL0003 where that cannot be had."""


class Disk:
    """The files that are there."""

    def has(self, path: Path) -> bool:
        """Whether there is such a file."""
        return path.is_file()

    def read(self, path: Path) -> str:
        """Its text."""
        return read_source(str(path))


DISK = Disk()


class Texts:
    """Sources that are at hand, by `normal_path`."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts

    def has(self, path: Path) -> bool:
        """Whether it is among them."""
        return normal_path(path) in self.texts

    def read(self, path: Path) -> str:
        """Its text."""
        return self.texts[normal_path(path)]


def normal_path(path: str | Path) -> str:
    """A path with slashes, and without needless dots."""
    return Path(os.path.normpath(path)).as_posix()


STANDARD = Path(__file__).resolve().parents[1]
"""The folder in which `from std.math import ...` finds std/math.tile."""


def is_standard(item: tree.Import) -> bool:
    """Whether an import is of the library that comes with dslc: it is found there alone."""
    return item.path.partition(".")[0] == "std"


def import_path(item: tree.Import) -> Path:
    """The file of an import, from the folder that it is looked for in."""
    return Path(*item.path.split(".")).with_suffix(".tile")


def closure(module: tree.Module, file: Path, search: Sequence[Path], root: Path) -> dict[str, str]:
    """The texts of all that a module imports, by `normal_path`; paths go from `root`.

    What cannot be found or parsed is left out: checking the module says so.
    """
    texts: dict[str, str] = {}
    open_ends = [(module, file.parent)]
    while open_ends:
        module, folder = open_ends.pop()
        for item in (i for i in module.items if isinstance(i, tree.Import)):
            if is_standard(item):
                continue  # every machine has it
            relative = import_path(item)
            path = next(
                (p for f in (folder, *search) if (root / (p := f / relative)).is_file()), None
            )
            if path is None or normal_path(path) in texts:
                continue
            try:
                text = texts[normal_path(path)] = read_source(root / path)
                open_ends.append((parse_tile(text, str(path)), path.parent))
            except DiagnosticError:
                continue
    return texts
