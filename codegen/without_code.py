"""Statements that machines without a console, or without turns at once, cannot run, in users' words."""

from __future__ import annotations

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt

_KNOWN = {
    ins.Print: ("print", "run the kernel with --target interp, which prints"),
    ins.SemaphoreWait: ("semaphore_wait", "a kernel for each step: calls run in order"),
    ins.SemaphoreRelease: ("semaphore_release", "a kernel for each step: calls run in order"),
}


def what_it_is(stmt: Stmt) -> tuple[str, str | None]:
    """What a user calls a statement, and what to write instead."""
    return _KNOWN.get(type(stmt), (type(stmt).__name__, None))
