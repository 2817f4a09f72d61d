"""Located errors in the user's words."""

from dslc.compiler.diagnostics.diagnostic import Diagnostic, Label, Loc, Severity
from dslc.compiler.diagnostics.failure import DiagnosticError, error
from dslc.compiler.diagnostics.suggest import did_you_mean, suggest

__all__ = [
    "Diagnostic", "DiagnosticError", "Label", "Loc", "Severity", "did_you_mean", "error", "suggest",
]  # fmt: skip
