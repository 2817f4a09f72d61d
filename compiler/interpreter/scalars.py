"""Scalar expressions over the frames of the interpreter, which look for undefined elements first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dslc.compiler.interpreter.hazards import poison
from dslc.compiler.interpreter.scope import Frame, Scope, Step
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic import scalar_functions
from dslc.compiler.ir.arithmetic.scalar_functions import Scalar


@dataclass(frozen=True, slots=True)
class _Slots:
    """The slots of a scope."""

    scope: Scope

    def slot(self, name: Value | ex.Var) -> int:
        return self.scope.slot(name)

    def guard(self, value: Value) -> Step | None:
        if self.scope.mask(value) is None:
            return None
        return poison.guard(self.scope, [value], self.scope.loc, lambda f: None)


def compile_scalar(scope: Scope, expr: ex.Expr) -> Scalar:
    """The expression as a function of the frame."""
    return scalar_functions.compile_scalar(_Slots(scope), expr)


def compile_scalars(scope: Scope, exprs: Sequence[ex.Expr]) -> Callable[[Frame], tuple[Any, ...]]:
    """Several expressions as one function that gives a tuple."""
    return scalar_functions.compile_scalars(_Slots(scope), exprs)
