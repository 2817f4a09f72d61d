"""The checker's findings as the protocol has them."""

from __future__ import annotations

from collections.abc import Iterable

from dslc.compiler.diagnostics import Diagnostic, Severity
from dslc.language_server.document import Document
from dslc.language_server.fixes import fixes
from dslc.language_server.positions import column, span
from lsprotocol import types
from pygls.uris import from_fs_path

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}


def published(document: Document, findings: Iterable[Diagnostic]) -> list[types.Diagnostic]:
    """Those that are of the document itself."""
    return [_diagnostic(document, d) for d in findings if _is_in(document, d)]


def _is_in(document: Document, diagnostic: Diagnostic) -> bool:
    return diagnostic.loc is None or diagnostic.loc.file == str(document.path)


def _diagnostic(document: Document, diagnostic: Diagnostic) -> types.Diagnostic:
    """A finding with its hint, the other places that it speaks of, and its fixes."""
    rows = document.rows
    where = types.Range(types.Position(0, 0), types.Position(0, 0))
    written = ""
    if diagnostic.loc is not None:
        where = span(rows, diagnostic.loc)
        if where.start.line == where.end.line:
            row = rows[where.start.line] if where.start.line < len(rows) else ""
            written = row[column(row, where.start) : column(row, where.end)]
    hint = diagnostic.hint or ""
    related = [
        types.DiagnosticRelatedInformation(
            types.Location(from_fs_path(label.loc.file) or "", span(rows, label.loc)),
            label.text,
        )
        for label in diagnostic.labels
    ]
    return types.Diagnostic(
        range=where,
        message=diagnostic.message + (f"\nhint: {hint}" if hint else ""),
        severity=_SEVERITIES[diagnostic.severity],
        code=diagnostic.code,
        source="dslc",
        related_information=related,
        data=[[fix.title, fix.text] for fix in fixes(diagnostic.code, hint, written)],
    )
