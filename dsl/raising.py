"""Errors as the callers of Python's interface meet them: without the frames of the compiler between.

A mistake in a kernel has its place in the error itself, so that what a traceback would add is noise.
With `DSLC_TRACEBACK=full` it stays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar

from dslc.compiler.diagnostics import DiagnosticError
from dslc.environment import tracebacks_are_full

P = ParamSpec("P")
R = TypeVar("R")


def short(failure: DiagnosticError, sources: Mapping[str, str] | None = None) -> DiagnosticError:
    """The error to raise again: its traceback begins here, and it knows the texts of its sources."""
    failure.sources = {**(sources or {}), **failure.sources}
    if tracebacks_are_full():
        return failure
    failure.__cause__ = None
    failure.__suppress_context__ = True
    return failure.with_traceback(None)


def raises_short(function: Callable[P, R]) -> Callable[P, R]:
    """A function whose DiagnosticErrors have no frames below this one."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True  # for IPython and pytest
        try:
            return function(*args, **kwargs)
        except DiagnosticError as failure:
            owner = args[0] if args else None
            raise short(failure, getattr(owner, "_sources", None)) from None

    return call
