"""Random programs on a machine against the oracle, in tests/:

    python -m support.oracle TARGET FIRST LAST [--state FILE] [--shrink TRIES]

prints the seed and a small program of each failure and goes on. FILE keeps what was done, so that a
run that was stopped goes on where it was; shards are ranges of seeds.
"""

from __future__ import annotations

import argparse
import gc
import json
from collections import Counter
from pathlib import Path
from typing import Any

from support.oracle.generator import generate
from support.oracle.printer import source
from support.oracle.profiles import profile
from support.oracle.running import Outcome, run
from support.oracle.shrinker import shrink
from support.oracle.tree import Program


def alike(target: str, first: Outcome, tries: int, program: Program) -> Program:
    """The smallest program found that fails as the first did."""

    def fails(candidate: Program) -> bool:
        found = run(target, candidate)
        return found.kind == first.kind and (
            found.kind == "wrong" or found.detail[:24] == first.detail[:24]
        )

    return shrink(program, fails, tries)


def report(target: str, seed: int, outcome: Outcome, tries: int) -> None:
    """The seed, what happened, and a small program."""
    print(f"seed {seed} on {target}: {outcome.kind}: {outcome.detail}", flush=True)
    small = alike(target, outcome, tries, generate(seed, profile(target)))
    sizes = dict(small.dims) | {name: value for name, _, value in small.scalars}
    print(source(small), f"    with {sizes}: {run(target, small).detail}", sep="", flush=True)


def sweep(target: str, first: int, last: int, state: Path | None, tries: int) -> dict[str, Any]:
    """Run the programs of a range of seeds; what happened, by kind and code."""
    done: dict[str, Any] = {"next": first, "failed": [], "counts": {}, "refused": {}}
    if state and state.exists():
        done = json.loads(state.read_text())
    counts, refused = Counter(done["counts"]), Counter(done["refused"])
    for seed in range(done["next"], last):
        outcome = run(target, generate(seed, profile(target)))
        counts[outcome.kind] += 1
        if outcome.kind == "refused":
            refused[outcome.detail] += 1
        if outcome.is_failure:
            report(target, seed, outcome, tries)
            done["failed"].append(seed)
        done |= {"next": seed + 1, "counts": counts, "refused": refused}
        if state:
            written = state.with_suffix(".part")
            written.write_text(json.dumps(done))
            written.replace(state)  # a run that is stopped here leaves what was done before
    return done


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--state", type=Path)
    parser.add_argument("--shrink", type=int, default=300)
    given = parser.parse_args()
    gc.freeze()  # what is imported stays, and little of what a program makes refers to itself
    gc.set_threshold(50_000, 20, 20)
    made = sweep(given.target, given.first, given.last, given.state, given.shrink)
    print(dict(made["counts"]), "refused:")
    for reason, count in sorted(made["refused"].items(), key=lambda item: -item[1]):
        print(f"{count:5d}  {reason}")
    print("failed:", made["failed"])
