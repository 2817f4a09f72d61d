"""The corpus (tests/corpus) on a machine.

    PYTHONPATH=tests python -m support.corpus TARGET [FIRST LAST] [--page]

A table of what came out of each case, and an error's text under it; a failure stops nothing. FIRST and
LAST are numbers of cases (the last one not taken), so that a run can be parted and taken up again. With
--page a run of all cases writes what was refused into docs/corpus.md.
"""

from __future__ import annotations

import functools
import os
import sys
import traceback
from dataclasses import dataclass
from typing import Any

import dslc
import numpy as np
from dslc.calls.signature import Signature
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import DType, storage_dtype, to_ml_dtypes

from corpus.cases import Case, Trial, cases
from support.corpus_page import Refusal, write
from support.machines import launch, target_of

# Of the sum of an element's own and the largest one's size.
_NEAR = {"f64": 1e-11, "f32": 2e-5, "f16": 2e-3, "bf16": 1.6e-2, "f8e4m3": 0.13, "f8e5m2": 0.26}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a case: ok, an error's code, wrong, or the name of an exception."""

    word: str
    text: str = ""
    seconds: float = 0.0
    refusal: Refusal | None = None


@functools.cache
def compiled(name: str, target: str) -> Any:
    """A case's kernel, which keeps what it has been compiled to."""
    case = cases()[name]
    found = dslc.compile(case.path, target=target_of(target), define=case.define, cache=False)
    return found[case.kernel]


class Wrong(AssertionError):
    """An output that is not what mathematics says."""


def run(case: Case, target: str) -> None:
    """Run a case; Wrong with the first output that is."""
    kernel = compiled(case.name, target)
    trial = case.trial()
    args = arguments(kernel.origin.signature, trial)
    launch(target, kernel, args, case.config)
    for p in kernel.origin.signature.parameters:
        if p.name in trial.wanted:
            _compare(case, p.name, p.dtype, args[p.name], np.asarray(trial.wanted[p.name]))


def arguments(signature: Signature, trial: Trial) -> dict[str, Any]:
    """The trial's arguments as they lie in memory, and output arrays full of what nobody wants."""
    found: dict[str, Any] = {}
    for p in signature.parameters:
        given = trial.args.get(p.name)
        if given is not None:
            found[p.name] = given
        else:
            stored = (to_ml_dtypes(p.dtype) if p.dtype.is_float else None) or storage_dtype(p.dtype)
            shape = np.shape(trial.wanted[p.name])
            found[p.name] = np.full(shape, 0 if p.dtype.bits < 8 else 57).astype(stored)
    return found


def outcome(case: Case, target: str) -> Outcome:
    """The same as a word, whatever happens."""
    start = _seconds()
    word, text, refused = "ok", "", None
    try:
        run(case, target)
    except DiagnosticError as failure:
        refused = refusal(failure)
        word, text = failure.diagnostics[0].code, str(failure)
    except Wrong as failure:
        word, text = "wrong", str(failure)
    except Exception as failure:
        word, text = type(failure).__name__, "".join(traceback.format_exception(failure)[-4:])
    return Outcome(word, text, _seconds() - start, refused)


def _seconds() -> float:
    """CPU time of this process and of those that it started, whoever else uses the machine."""
    return sum(os.times()[:4])


def _compare(case: Case, name: str, dtype: DType, got: Any, wanted: Any) -> None:
    assert got.shape == wanted.shape
    assert not np.isnan(wanted.astype(np.float64)).any(), "what is wanted is a number"
    found, wanted = got.astype(np.float64), wanted.astype(np.float64)
    finite = np.isfinite(wanted)
    allowed = np.full(wanted.shape, float(case.steps))
    if dtype.is_float:
        near = case.near or _NEAR[dtype.name]
        allowed = near * (np.abs(wanted) + np.abs(wanted[finite]).max(initial=0))
    with np.errstate(invalid="ignore"):
        right = (found == wanted) | (finite & (np.abs(found - wanted) <= allowed))
    if not right.all():
        first = tuple(int(i) for i in np.argwhere(~right)[0])
        raise Wrong(
            f"{np.size(right) - right.sum()} of {right.size} elements of {name}, the first at "
            f"{first}: {found[first]} is not {wanted[first]}"
        )


def refusal(failure: DiagnosticError) -> Refusal | None:
    """What the page says of an error of a pass or generator (DSL05xx); a fault is none."""
    (first, *_) = failure.diagnostics
    is_located = first.loc is not None and first.code.startswith("DSL05")
    return Refusal(first.code, " ".join(first.message.split())) if is_located else None


def main(target: str, *rest: str) -> int:
    """Print the table; the number of cases that are neither right nor refused."""
    page = "--page" in rest
    bounds = [int(word) for word in rest if word != "--page"]
    found: dict[str, Outcome] = {}
    for number, case in list(enumerate(cases().values()))[slice(*bounds or (None,))]:
        made = found[case.name] = outcome(case, target)
        print(
            f"{number:4} {case.file:14} {case.name:36} {made.word:10} {made.seconds:6.1f} s",
            flush=True,
        )
        if made.text:
            print("\n".join("       " + line for line in made.text.splitlines()[-12:]), flush=True)
    right = sum(o.word == "ok" for o in found.values())
    refused = {name: o.refusal for name, o in found.items() if o.refusal}
    print(f"{right} of {len(found)} right, {len(refused)} refused by {target}")
    if page and not bounds:
        write(target, refused)
    return len(found) - right - len(refused)


if __name__ == "__main__":
    sys.exit(min(100, main(*sys.argv[1:])))
