"""One program on one machine against the oracle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from dslc.compiler.diagnostics import DiagnosticError

from support.machines import call
from support.oracle import arguments, evaluator
from support.oracle.dtypes import DTYPES, Array
from support.oracle.operations import Unspecified
from support.oracle.printer import source
from support.oracle.tree import Program, Tensor

# Functions whose last bits the language leaves open: the usual bounds of each dtype.
_CLOSE = {"f16": 2e-3, "bf16": 1.6e-2, "f32": 2e-5, "f64": 1e-5}
# What a machine or a toolchain finds wrong in the code that the compiler made.
_FAULTS = ("DSL06", "DSL086", "DSL0952", "DSL0953", "DSL0954", "DSL04")


@dataclass(frozen=True, slots=True)
class Outcome:
    """`kind` is right, wrong, refused (by a located error), crashed or unspecified."""

    kind: str
    detail: str = ""

    @property
    def is_failure(self) -> bool:
        return self.kind in ("wrong", "crashed")


def run(target: str, program: Program) -> Outcome:
    """Compile, call and compare."""
    values = arguments.initial(program)
    try:
        wanted = evaluator.run(program, values)
    except Unspecified as e:
        return Outcome("unspecified", str(e))
    given: dict[str, Any] = {t.name: arguments.placed(t, values[t.name]) for t in program.tensors}
    given |= {name: value for name, _, value in program.scalars}
    try:
        call(target, source(program), given)
    except DiagnosticError as e:
        kind = "crashed" if _code(e).startswith(_FAULTS) else "refused"
        return Outcome(kind, _code(e))
    except Exception as e:
        return Outcome("crashed", f"{type(e).__name__}: {e}"[:300])
    for t in program.tensors:
        found = arguments.held(t, given[t.name], program.shape(t))
        wrong = _differs(program, t, found, wanted)
        if wrong:
            return Outcome("wrong", wrong)
    return Outcome("right")


def _code(e: DiagnosticError) -> str:
    first = e.diagnostics[0]
    return f"{first.code} {first.message}"


def _differs(program: Program, t: Tensor, found: Array, state: evaluator.State) -> str:
    """What is wrong in a tensor, or nothing; what an `out` tensor was not given is open."""
    wanted = state.memory[t.name]
    asked = state.written[t.name] if t.mode == "out" else np.ones(wanted.shape, bool)
    if DTYPES[t.dtype].is_float or t.dtype == "e8m0":
        close = _CLOSE[t.dtype] if t.name in program.loose else 0.0
        with np.errstate(invalid="ignore"):
            near = np.abs(found - wanted) <= close * np.maximum(np.abs(wanted), 0.1)
        same = (found == wanted) | (np.isnan(found) & np.isnan(wanted)) | near
    else:
        same = np.asarray(found == wanted)
    bad = np.argwhere(~same & asked)
    if not len(bad):
        return ""
    at = tuple(int(i) for i in bad[0])
    where = f"{t.name}{list(at)} is {found[at]}, not {wanted[at]}"
    return f"{where} ({len(bad)} of {wanted.size})"
