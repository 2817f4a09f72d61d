"""Located errors in the user's words."""

from dslc.compiler.diagnostics.diagnostic import (
    Diagnostic,
    DiagnosticError,
    Label,
    Loc,
    Severity,
    error,
)
from dslc.compiler.diagnostics.suggest import did_you_mean, suggest

__all__ = [
    "Diagnostic", "DiagnosticError", "Label", "Loc", "Severity", "did_you_mean", "error", "suggest",
]  # fmt: skip
