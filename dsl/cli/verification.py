"""`dslc run --verify`: the same numbers before and after every pass, in any order of turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from dslc.cli.feeding import Feed
from dslc.cli.inputs import Array
from dslc.cli.session import ExitCode, current
from dslc.cli.tables.table import print_table
from dslc.compiler.dtypes import DType, decode

if TYPE_CHECKING:
    from dslc.compilation.specialization import Specialization

Outputs = Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One output against the reference: the greatest difference, and how much is allowed."""

    output: str
    difference: float
    allowed: float

    @property
    def verdict(self) -> str:
        """`equal`, `close` or `DIFFERENT`."""
        if self.difference == 0:
            return "equal"
        return "close" if self.difference <= self.allowed else "DIFFERENT"


def verify_stages(
    made: Specialization, fed: Feed, results: Outputs, shuffle: int | None
) -> ExitCode:
    """Interpret the IR of the checker and that after all passes; print how outputs compare.

    The reference is the checker's IR with the turns in order. `results` are what the target itself
    gave. Where something differs, the first pass after which it does is named.
    """
    seed = 1 if shuffle is None else shuffle
    reference = interpret(made, "ir", fed, None)
    runs = {
        f"result of {made.target}": results,
        "before passes, shuffled": interpret(made, "ir", fed, seed),
        "after passes": interpret(made, made.ir_stages[-1], fed, None),
        "after passes, shuffled": interpret(made, made.ir_stages[-1], fed, seed),
    }
    rows, wrong = [], False
    for label, outputs in runs.items():
        for c in compare(reference, outputs, fed.dtypes):
            rows.append((label, c.output, f"{c.difference:.3g}", f"{c.allowed:.3g}", c.verdict))
            wrong = wrong or c.verdict == "DIFFERENT"
    print_table(("run", "output", "difference", "allowed", "verdict"), rows, right=(2, 3))
    if wrong:
        culprit = _first_wrong_stage(made, fed, reference)
        where = f": the numbers change at {culprit}" if culprit else ""
        current().note(f"verify: {made.name} FAILED{where}", level=-1)
        return ExitCode.FAILED
    current().say(f"verify: {made.name} ok")
    return ExitCode.OK


def interpret(made: Specialization, stage: str, fed: Feed, shuffle: int | None) -> Outputs:
    """The outputs of a stage's IR on the interpreter."""
    from dslc.compiler.interpreter import Options, run
    from dslc.compiler.ir.text.parser import parse_program
    from dslc.runtime.packing import pack

    program = parse_program(made.source(stage), f"<{stage}>")
    arguments: dict[str, Any] = fed.fresh()
    for param in program.packed:  # a pass has chosen how these are stored
        arguments[param.name] = pack(arguments[param.name], param.storage.to_data())
    run(program, arguments, Options(shuffle=shuffle))
    return {name: arguments[name] for name in fed.written}


def compare(reference: Outputs, other: Outputs, dtypes: Mapping[str, DType]) -> list[Comparison]:
    """Output by output. Integers must be equal; floats may differ by reordered sums.

    A float may be off by two units in the last place of the greatest magnitude of the output, and in
    any case by 64 units of f32, in which sums accumulate.
    """
    differences = []
    for name, expected in reference.items():
        dtype = dtypes[name]
        x = np.asarray(decode(expected, dtype), np.float64)
        y = np.asarray(decode(other[name], dtype), np.float64)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        with np.errstate(invalid="ignore"):  # inf - inf, which `same` has judged
            gap = float(np.abs(np.where(same, 0, x - y)).max(initial=0.0))
        gap = np.inf if np.isnan(gap) else gap
        finite = np.abs(x[np.isfinite(x)])
        units = max(2.0 ** (1 - dtype.mantissa), 64 * 2.0**-23) if dtype.is_float else 0.0
        differences.append(Comparison(name, gap, units * float(finite.max(initial=0.0))))
    return differences


def _first_wrong_stage(made: Specialization, fed: Feed, reference: Outputs) -> str | None:
    for stage in made.ir_stages[1:]:
        outputs = interpret(made, stage, fed, None)
        if any(c.verdict == "DIFFERENT" for c in compare(reference, outputs, fed.dtypes)):
            return f"the pass {stage}"
    return None
