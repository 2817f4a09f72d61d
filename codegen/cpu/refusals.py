"""The errors for what this generator has no code for."""

from __future__ import annotations

from dslc.codegen.without_code import what_it_is
from dslc.compiler.diagnostics import Loc, error
from dslc.compiler.ir.instructions import Stmt


def unsupported(what: str, loc: Loc | None = None, hint: str | None = None) -> Exception:
    """What this generator has no code for."""
    return error("DSL0590", f"CPU code has no {what}", loc, hint=hint)


def without_code(stmt: Stmt) -> Exception:
    """The error for a statement that a CPU's kernel cannot run."""
    what, hint = what_it_is(stmt)
    return unsupported(what, stmt.loc, hint)
