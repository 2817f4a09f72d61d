"""Predictions beside what `sweep.py` measured.

    python tests/benchmarks/gpu/predictions.py measured.json            a line for each case
    python tests/benchmarks/gpu/predictions.py measured.json --terms    and one for each choice
    python tests/benchmarks/gpu/predictions.py measured.json --json predicted.json

Of each case: the choice with the least prediction of those measured, how much longer it takes than the
best of them (its regret), and how far predictions are off. No GPU is asked.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from math import exp, log, sqrt
from pathlib import Path

from dslc.compiler.cost import Prediction, predict
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.targets import find_target
from dslc.tuner.ranking import Ranking
from dslc.tuner.space import Configuration
from dslc.tuner.tasks import emitted

if __name__ == "__main__":  # tests import it too
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from gpu.ours.candidates import Choice
from gpu.ours.kernels import library
from gpu.sweep import TARGET, Case

SHOWN = ("memory", "cache", "matrix", "issue", "shared", "special", "latency")


@dataclass(frozen=True)
class Timed:
    """A choice with what was measured and what is predicted, microseconds."""

    choice: Choice
    measured: float
    predicted: float
    terms: Mapping[str, float]

    @property
    def ratio(self) -> float:
        return self.predicted / self.measured

    def __str__(self) -> str:
        terms = " ".join(f"{n} {self.terms.get(n, 0) * 1e6:.1f}" for n in SHOWN)
        return (
            f"    {tile(self.choice):<24} {self.measured:8.1f} {self.predicted:8.1f} "
            f"{self.ratio:5.2f}   {terms}"
        )


def tile(choice: Choice) -> str:
    """`16 x 64 x 512, 8 warps`."""
    numbers = " x ".join(str(v) for n, v in choice.items() if n not in ("SPLIT", "warps", "stages"))
    others = [f"{choice['SPLIT']} parts"] if choice.get("SPLIT", 1) != 1 else []
    others += [f"{choice[n]} {n}" for n in ("warps", "stages") if n in choice]
    return ", ".join([numbers, *others])


def label(case: Case) -> str:
    sizes = " ".join(f"{n}={v}" for n, v in case["sizes"].items())
    return f"{case['kernel']} {case['define'].get('W', case['define']['T'])} {sizes}"


def prediction(case: Case, choice: Choice) -> Prediction | None:
    """Of one choice after the passes; None where these refuse it."""
    kernel = library(case["file"], tuple(case["define"].items()), TARGET)[case["kernel"]]
    ranking = Ranking(kernel.origin, case["sizes"])
    target = find_target(TARGET)
    try:
        made = ranking.elaborated(Configuration(tuple(choice.items())))
        program = ranking.scheduled(made)
        return predict(program, target, case["sizes"], shared=emitted(program, target)[1])
    except DiagnosticError:
        return None


def timed(case: Case) -> list[Timed]:
    """The choices of a case that ran, those that were predicted as well."""
    found = []
    for choice, us in zip(case["choices"], case["us"], strict=True):
        made = prediction(case, choice) if us is not None else None
        if made is not None:
            found.append(Timed(choice, us, made.seconds * 1e6, made.terms))
    return found


def regret(choices: Sequence[Timed]) -> float:
    """How many times as long as the best the one takes that is predicted to be the fastest."""
    chosen = min(choices, key=lambda c: c.predicted)
    return chosen.measured / min(c.measured for c in choices)


def spread(choices: Iterable[Timed]) -> tuple[float, float]:
    """The mean ratio of predictions to measurements, and the scatter around 1 (both by logarithms)."""
    logs = [log(c.ratio) for c in choices]
    return exp(sum(logs) / len(logs)), exp(sqrt(sum(x * x for x in logs) / len(logs)))


def kept(case: Case, choices: Sequence[Timed]) -> str:
    """The case as a line of JSON: of each choice what was measured and what is predicted."""
    times = [[tile(c.choice), c.measured, round(c.predicted, 2)] for c in choices]
    return json.dumps({"case": label(case), "times": times})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("measured", type=Path, nargs="+", help="what sweep.py wrote")
    parser.add_argument("--terms", action="store_true", help="every choice with its terms")
    parser.add_argument("--json", type=Path, help="measured and predicted of every choice")
    options = parser.parse_args()
    cases = [c for path in options.measured for c in json.loads(path.read_text(encoding="utf-8"))]
    everything: list[Timed] = []
    lines: list[str] = []
    missed = 0
    with ProcessPoolExecutor() as pool:
        for case, choices in zip(cases, pool.map(timed, cases), strict=True):
            if not choices:
                continue
            everything += choices
            lines.append(kept(case, choices))
            best, chosen = (
                min(choices, key=k) for k in (lambda c: c.measured, lambda c: c.predicted)
            )
            lost, (mean, scatter) = regret(choices), spread(choices)
            missed += lost > 1.1
            print(
                f"{label(case):<52} best {tile(best.choice)} {best.measured:.1f}, "
                f"first {tile(chosen.choice)} {chosen.measured:.1f}: {lost:.2f}{' *' * (lost > 1.1)}; "
                f"predicted {mean:.2f} scatter {scatter:.2f}"
            )
            if options.terms:
                print("\n".join(str(c) for c in sorted(choices, key=lambda c: c.measured)))
    if options.json:
        options.json.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    mean, scatter = spread(everything)
    print(
        f"{len(everything)} times: predicted / measured {mean:.2f}, scatter {scatter:.2f}; ", end=""
    )
    print(f"{missed} of {len(cases)} cases beyond 1.10")


if __name__ == "__main__":
    main()
