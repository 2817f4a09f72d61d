"""Located errors in the user's words."""

from dslc.compiler.diagnostics.diagnostic import (
    Diagnostic,
    DiagnosticError,
    Label,
    Loc,
    Severity,
    error,
)

__all__ = ["Diagnostic", "DiagnosticError", "Label", "Loc", "Severity", "error"]
