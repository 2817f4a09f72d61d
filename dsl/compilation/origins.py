"""The origins of a source's kernels and programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dslc.compilation.building import BuildOptions
from dslc.compilation.templates import TemplateOrigin

if TYPE_CHECKING:
    from dslc.frontend.imports import Files
    from dslc.frontend.tree import Module


def origins(
    module: Module,
    options: BuildOptions,
    *,
    search: Sequence[Path] = (),
    folder: Path | None = None,
    files: Files | None = None,
) -> dict[str, TemplateOrigin]:
    """The kernels and programs of a syntax tree by name.

    Imports are looked for in `folder`, then in `search`: of `files`, or on disk. DiagnosticError with
    all that is wrong.
    """
    from dslc.checker import check_module
    from dslc.compiler.targets import find_target
    from dslc.frontend.imports import DISK
    from dslc.frontend.printer import print_module
    from dslc.machines.registry import resolve_target

    checked = check_module(
        module,
        search=tuple(search),
        define=options.define,
        folder=folder,
        files=files or DISK,
        machine=find_target(resolve_target(options.target)),
    )

    def tile() -> str:
        return print_module(module)

    sources = checked.sources
    return {n: TemplateOrigin(t, options, tile, sources) for n, t in checked.templates.items()}
