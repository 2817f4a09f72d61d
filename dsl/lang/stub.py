"""The names of a kernel's body as Python functions: they carry types and documentation only.

A kernel's body is compiled, never executed, so calling one of them is a mistake, and says so. Where
the language shares a name with Python's builtins (`sum`, `max`, ...), the function is the builtin
outside a kernel, so that a star import takes nothing away.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from dslc.compiler.diagnostics import DiagnosticError, error

F = TypeVar("F", bound=Callable[..., Any])


def in_kernel(function: F) -> F:
    """A function of the language that means nothing outside a kernel."""

    @wraps(function)
    def refuse(*args: object, **kwargs: object) -> Any:
        raise outside_kernel(function.__name__)

    return refuse  # type: ignore[return-value]


def or_builtin(function: F) -> F:
    """A function of the language that is Python's builtin of that name outside a kernel."""
    builtin = getattr(builtins, function.__name__)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return builtin(*args, **kwargs)

    return call  # type: ignore[return-value]


def outside_kernel(name: str) -> DiagnosticError:
    """The error of a call from plain Python."""
    return error(
        "DSL0740",
        f"`{name}` of dslc.lang is called outside a kernel",
        hint="decorate the function with @dslc.kernel; its body is compiled, not executed",
    )
