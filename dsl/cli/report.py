"""The one place that turns what went wrong into text and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import click
from dslc.cli.session import ExitCode, Session
from dslc.compiler.diagnostics import Diagnostic, Severity
from dslc.compiler.diagnostics.render import render

# The range of a code (its two digits after DSL) says what kind of failure it is; see the catalogue.
_BY_RANGE = {
    "06": ExitCode.FAILED,  # a race, an uninitialised read, an assert: found by running
    "07": ExitCode.USAGE,  # arguments, their files
    "08": ExitCode.FAILED,  # a cache entry or package that does not verify
    "09": ExitCode.USAGE,  # the command line
}
_BY_CODE = dict.fromkeys(
    ("DSL0840", "DSL0950", "DSL0951", "DSL0953", "DSL0954"), ExitCode.TOOLCHAIN
)


def exit_code(diagnostics: Iterable[Diagnostic]) -> ExitCode:
    """The exit code of these findings: that of the first error, or OK where none is an error."""
    for diagnostic in diagnostics:
        if diagnostic.severity is Severity.ERROR:
            by_range = _BY_RANGE.get(diagnostic.code[3:5], ExitCode.SOURCE)
            return _BY_CODE.get(diagnostic.code, by_range)
    return ExitCode.OK


def show(diagnostics: Sequence[Diagnostic], session: Session) -> None:
    """Write diagnostics as the session asks: human to the standard error, others to the output."""
    human = session.diagnostics == "human"
    if human and not diagnostics:
        return
    stream = sys.stderr if human else sys.stdout
    text = render(
        diagnostics,
        format=session.diagnostics,
        sources=None,
        color=human and session.use_color(stream),
    )
    click.echo(text.rstrip("\n"), file=stream, color=True if human else None)


def report(diagnostics: Sequence[Diagnostic], session: Session) -> ExitCode:
    """Show what stopped the work and give the exit code."""
    show(diagnostics, session)
    return exit_code(diagnostics)
