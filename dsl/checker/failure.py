"""How the checker fails: one statement at a time, so that a run reports several errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, Label, Loc


class Poisoned(Exception):
    """Something depends on a name whose statement failed."""


class NeedsDims(DiagnosticError):
    """The kernel is a template in some dims: they must be fixed to elaborate it.

    `dims` are their names.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic], dims: Iterable[str]) -> None:
        super().__init__(diagnostics)
        self.dims = tuple(dims)

    def within(self, frame: Label) -> NeedsDims:
        """The same, seen from a call."""
        return NeedsDims(super().within(frame).diagnostics, self.dims)


def fail(
    code: str,
    message: str,
    loc: Loc | None,
    *,
    hint: str | None = None,
    labels: tuple[Label, ...] = (),
) -> NoReturn:
    """Stop the statement with one diagnostic."""
    raise DiagnosticError([Diagnostic(code, message, loc, hint, labels)])


def needs_dims(message: str, loc: Loc, dims: Iterable[str]) -> NoReturn:
    """Stop because `dims` are not fixed."""
    names = tuple(sorted(dims))
    flags = " ".join(f"-D {n}=..." for n in names)
    hint = f"fix {' and '.join(names)} when compiling ahead of time ({flags})"
    raise NeedsDims([Diagnostic("DSL0230", message, loc, hint)], names)
