"""What an error is: a stable code, a place, a sentence, and where possible the way out."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Loc:
    """A span of source text: lines and columns count from 1, the end column is exclusive."""

    file: str
    line: int
    col: int
    end_line: int = 0
    end_col: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.col}"


class Severity(enum.Enum):
    """How much a diagnostic matters: an error stops the compilation."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Label:
    """A second place that a diagnostic speaks of, with what is to be said there."""

    loc: Loc
    text: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: `code` is stable (`DSL0201`) and `dslc explain CODE` says more."""

    code: str
    message: str
    loc: Loc | None = None
    hint: str | None = None
    labels: tuple[Label, ...] = ()
    severity: Severity = Severity.ERROR


class DiagnosticError(Exception):
    """One or more diagnostics that stop the work; never shown with a traceback."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(_line(d) for d in self.diagnostics))

    def __reduce__(self) -> tuple[type[DiagnosticError], tuple[tuple[Diagnostic, ...]]]:
        return type(self), (self.diagnostics,)  # another process gets all of it

    def at(self, loc: Loc | None) -> DiagnosticError:
        """The same diagnostics, those that have no place yet at this one."""
        return DiagnosticError(
            d if d.loc is not None else dataclasses.replace(d, loc=loc) for d in self.diagnostics
        )

    def within(self, frame: Label) -> DiagnosticError:
        """The same diagnostics with one more label: the call that they happened in."""
        return DiagnosticError(
            dataclasses.replace(d, labels=(*d.labels, frame)) for d in self.diagnostics
        )


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
