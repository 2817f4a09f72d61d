"""Let, print and assert, and what has no meaning here."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compiler.interpreter.hazards import poison
from dslc.compiler.interpreter.scalars import compile_scalar
from dslc.compiler.interpreter.scope import TURN, Frame, Scope, Step
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins


def let(scope: Scope, i: ins.Let) -> Step:
    """A scalar gets a name."""
    slot, value = scope.slot(i.var), compile_scalar(scope, i.value)

    def step(f: Frame) -> None:
        f[slot] = value(f)

    return step


def nothing(scope: Scope, i: ins.Instruction) -> Step:
    """Launches come one after the other here, and memory has no caches."""

    def step(f: Frame) -> None:
        pass

    return step


def print_values(scope: Scope, i: ins.Print) -> Step:
    """The text and the values on one line, a tile in NumPy's form."""
    sources: list[Callable[[Frame], Any]] = [
        itemgetter(scope.slot(a)) if isinstance(a, Value) else compile_scalar(scope, a)
        for a in i.args
    ]

    def step(f: Frame) -> None:
        parts = [i.text, *(_text(s(f)) for s in sources)]
        print(*(p for p in parts if p), file=f[TURN].stdout)

    tiles = [a for a in i.args if isinstance(a, Value)]
    return poison.guard(scope, tiles, i.loc, step)


def _text(value: Any) -> str:
    return np.array2string(value) if isinstance(value, np.ndarray) else str(value)


def check(scope: Scope, i: ins.Assert) -> Step:
    """Stop the launch unless the condition holds."""
    condition = compile_scalar(scope, i.condition)

    def step(f: Frame) -> None:
        if not condition(f):
            text = f": {i.text}" if i.text else ""
            raise error("DSL0608", f"the assertion does not hold in {f[TURN].title}{text}", i.loc)

    return step
