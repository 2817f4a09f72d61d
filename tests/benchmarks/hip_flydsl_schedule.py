"""Our split-K product and FlyDSL's schedule of it, modelled alike over the grid of decoding.

    python tests/benchmarks/hip_flydsl_schedule.py                  # 32 points on gfx950
    python tests/benchmarks/hip_flydsl_schedule.py --rows 1 128     # some M

Both are sources in the language: split_k.tile is ours, split_k_in_rings.tile the schedule that AMD
has published for FlyDSL (operands through rings in LDS, parts added by atomics behind a signal).
The same passes and the same cost model time both. Theirs is the best that the compiler's own search
finds in the published space of tiles, stages and splits; ours is the best of what it finds for ours,
of that choice of theirs, and of the neighbours of both, by either protocol (f32 parts added in order,
or atomics as theirs). Beside it stands what the compiler chooses without being told. All times are
modelled, with the registers of the compiled kernel; none is measured.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Mapping
from math import exp, log
from pathlib import Path

import dslc
from dslc.cli.tables.machine_code import prediction_of
from dslc.compiler.cost import predict
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir.text.parser import parse_program
from dslc.kernels import Kernel
from dslc.tuner.ranking import Ranking
from dslc.tuner.space import Configuration
from dslc.tuner.tasks import emitted

HERE = Path(__file__).parent
COLUMNS, ROWS, K = (512, 1536, 2112, 7168), (1, 2, 4, 8, 16, 32, 64, 128), 7168
Choice = dict[str, int]


def chosen(
    kernel: Kernel, sizes: Mapping[str, int], choice: Choice | None = None
) -> tuple[float, Choice]:
    """A choice, the compiler's if none is given, and its modelled seconds."""
    made = kernel.specialize_for(sizes, choice)
    found = prediction_of(made, parse_program(made.source(made.ir_stages[-1])), sizes)
    assert found is not None
    return found.seconds, {name: int(str(value)) for name, value in made.config.items()}


def near(choice: Choice) -> Iterator[Choice]:
    """A choice and its neighbours: fewer and more parts, narrower tiles, deeper rings."""
    for change in (
        {}, {"SPLIT": choice["SPLIT"] // 2}, {"SPLIT": choice["SPLIT"] * 2}, {"SPLIT": 1},
        {"BN": choice["BN"] // 2}, {"BN": choice["BN"] // 2, "SPLIT": choice["SPLIT"] // 2},
        {"BN": choice["BN"] // 2, "STAGES": 4, "SPLIT": choice["SPLIT"] // 2}, {"STAGES": 4},
        {"STAGES": 6}, {"BK": 2 * choice["BK"], "SPLIT": choice["SPLIT"] // 2, "STAGES": 6},
        {"BK": 2 * choice["BK"], "BN": choice["BN"] // 2, "SPLIT": choice["SPLIT"] // 2, "STAGES": 6},
    ):  # fmt: skip
        yield choice | change


def best(kernel: Kernel, sizes: Mapping[str, int], choices: list[Choice]) -> tuple[float, Choice]:
    """The least modelled seconds around some choices, the first of them the compiler's own."""
    ranking = Ranking(kernel.origin, sizes)
    found = []
    beside = {tuple(one.items()): one for choice in choices for one in near(choice)}
    for one in beside.values():
        with contextlib.suppress(DiagnosticError):  # more LDS than there is, or no such choice
            configuration = Configuration(tuple(sorted(one.items())))
            program = ranking.scheduled(ranking.elaborated(configuration))
            _, shared = emitted(program, kernel.origin.machine.target)
            time = predict(program, kernel.origin.machine.target, sizes, shared=shared)
            found.append((time.seconds, one))
    nearest = min(found, key=lambda f: f[0])[1]
    return min(
        (chosen(kernel, sizes, choice) for choice in (choices[0], nearest)), key=lambda f: f[0]
    )


def shown(choice: Choice) -> str:
    """A choice in a column."""
    return "x".join(str(choice[n]) for n in ("BM", "BN", "BK")) + (
        f" split {choice['SPLIT']} stages {choice['STAGES']}"
    )


def main() -> None:
    """A line a shape, then the geometric mean and the worst."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chip", default="gfx950", choices=("gfx942", "gfx950"))
    parser.add_argument("--rows", type=int, nargs="*", default=ROWS, metavar="M")
    parser.add_argument("--columns", type=int, nargs="*", default=COLUMNS, metavar="N")
    options = parser.parse_args()
    ratios = []
    print(
        "M, N: ours in order, by atomics; FlyDSL's schedule, ratio; the compiler's own choice (us)"
    )
    for n in options.columns:
        in_order, atomic, in_rings = (
            dslc.compile(
                HERE / f"{name}.tile", f"hip:{options.chip}", define={"N": n, "K": K, **d}
            )[name]
            for name, d in (
                ("split_k", {}),
                ("split_k", {"ATOMIC": True}),
                ("split_k_in_rings", {}),
            )
        )
        for m in options.rows:
            sizes = {"M": m, "N": n, "K": K}
            theirs, choice = chosen(in_rings, {**sizes, "S": m * n})
            alone, own = chosen(in_order, sizes)
            ordered, own = best(in_order, sizes, [own, choice])
            added, other = best(atomic, sizes, [chosen(atomic, sizes)[1], choice])
            ratios.append(min(ordered, added) / theirs)
            print(
                f"{m}, {n}: {ordered * 1e6:.1f} [{shown(own)}], {added * 1e6:.1f} [{shown(other)}]; "
                f"{theirs * 1e6:.1f} [{shown(choice)}], {ratios[-1]:.2f}; {alone * 1e6:.1f}",
                flush=True,
            )
    mean = exp(sum(map(log, ratios)) / len(ratios))
    over = sum(r > 1 for r in ratios)
    print(f"mean {mean:.2f}, worst {max(ratios):.2f}, {over} of {len(ratios)} over 1 (modelled)")


if __name__ == "__main__":
    main()
