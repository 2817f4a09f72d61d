"""The exception that carries diagnostics."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from dslc.compiler.diagnostics.diagnostic import Diagnostic, Label, Loc
from dslc.compiler.diagnostics.render import render


class DiagnosticError(Exception):
    """One or more diagnostics that stop the work.

    `str` gives what the command line prints: each with its source line, caret, notes and hint.
    `sources` has the texts of sources that are in no file, by the names that places give them.
    """

    __module__ = "dslc"  # where users catch it, and what a traceback calls it

    def __init__(
        self, diagnostics: Iterable[Diagnostic], sources: Mapping[str, str] | None = None
    ) -> None:
        self.diagnostics = tuple(diagnostics)
        self.sources = dict(sources or {})
        super().__init__("\n".join(_line(d) for d in self.diagnostics))

    def __str__(self) -> str:
        return render(self.diagnostics, sources=self.sources).rstrip("\n")

    @property
    def summary(self) -> str:
        """Each diagnostic on a line of its own: its place, code and message."""
        return str(self.args[0])

    def __reduce__(
        self,
    ) -> tuple[type[DiagnosticError], tuple[tuple[Diagnostic, ...], dict[str, str]]]:
        return type(self), (self.diagnostics, self.sources)  # another process gets all of it

    def at(self, loc: Loc | None) -> DiagnosticError:
        """The same diagnostics, those that have no place yet at this one."""
        placed = (
            d if d.loc is not None else dataclasses.replace(d, loc=loc) for d in self.diagnostics
        )
        return DiagnosticError(placed, self.sources)

    def within(self, frame: Label) -> DiagnosticError:
        """The same diagnostics with one more label: the call that they happened in."""
        framed = (dataclasses.replace(d, labels=(*d.labels, frame)) for d in self.diagnostics)
        return DiagnosticError(framed, self.sources)


def _line(diagnostic: Diagnostic) -> str:
    place = f"{diagnostic.loc}: " if diagnostic.loc else ""
    return f"{place}{diagnostic.severity.value}[{diagnostic.code}]: {diagnostic.message}"


def error(
    code: str,
    message: str,
    loc: Loc | None = None,
    *,
    hint: str | None = None,
    labels: tuple[Label, ...] = (),
) -> DiagnosticError:
    """Make a DiagnosticError with one diagnostic, ready to be raised."""
    return DiagnosticError([Diagnostic(code, message, loc, hint, labels)])
