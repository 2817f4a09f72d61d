"""`dslc check`: every error of the given files, without building anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from dslc.cli.options import define_option, include_option, targets_option
from dslc.cli.pages import Documented
from dslc.cli.session import ExitCode, current, session_options

if TYPE_CHECKING:
    from dslc.compiler.diagnostics import Diagnostic

_EXAMPLES = """
dslc check softmax.tile
dslc check examples/*.tile -D W=i6
dslc check gemm.tile -t cuda:sm_90a -t aie:npu2 -D M=512 -D N=512 -D K=512
dslc check gemm.tile --diagnostics sarif > findings.sarif
"""


@click.command("check", cls=Documented, examples=_EXAMPLES)
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@define_option
@include_option
@targets_option("Say also what a build for TARGET would refuse; no toolchain is needed.")
@session_options
def command(
    files: tuple[Path, ...],
    define: tuple[str, ...],
    include: tuple[Path, ...],
    targets: tuple[str, ...],
) -> int:
    """Check every kernel of every FILE: names, types, shapes, layouts, split loops.

    Each kernel is checked with its default tune choices and with every other choice that its
    requirements leave. Dims that must be known are taken as a sample, with a note that says which. With
    -t each is also lowered for a machine, up to what its compiler would get. Exit code 1 where there is
    an error.
    """
    from dslc.cli.inputs import parse_definitions
    from dslc.cli.report import exit_code, show
    from dslc.compiler.diagnostics import Severity

    definitions = parse_definitions(define)
    session = current()
    every: list[Diagnostic] = []
    for file in files:
        diagnostics = _check(file, include, definitions)
        if not any(d.severity is Severity.ERROR for d in diagnostics):
            for target in targets:
                diagnostics += [
                    d for d in _lowered(file, include, definitions, target) if d not in diagnostics
                ]
        wrong = any(d.severity is Severity.ERROR for d in diagnostics)
        every += diagnostics
        if session.diagnostics != "human":
            continue
        show([d for d in diagnostics if d.severity is not Severity.NOTE], session)
        if not wrong:
            session.say(f"ok {file}")
            for note in (d for d in diagnostics if d.severity is Severity.NOTE):
                session.note(f"   note: {note.message}")
    if session.diagnostics != "human":
        show(every, session)
    return exit_code(every) if every else ExitCode.OK


def _lowered(
    file: Path,
    include: tuple[Path, ...],
    define: dict[str, int | float | bool | str],
    target: str,
) -> list[Diagnostic]:
    """What builds of a file's own kernels for a target would refuse."""
    import dslc
    from dslc.compilation.dry_build import refusals
    from dslc.compilation.templates import TemplateOrigin

    library = dslc.compile(file, target, define=define, include=include, cache=False)
    origins = (k.origin for k in library.values() if isinstance(k.origin, TemplateOrigin))
    return [d for o in origins if o.template.loc.file == str(file) for d in refusals(o)]


def _check(
    file: Path, include: tuple[Path, ...], define: dict[str, int | float | bool | str]
) -> list[Diagnostic]:
    from dslc.checker import check_source
    from dslc.compiler.diagnostics import DiagnosticError
    from dslc.frontend.source import read_source

    try:
        return check_source(read_source(file), str(file), search=include, define=define)
    except DiagnosticError as failure:
        return list(failure.diagnostics)
