"""Our split-K product and FlyDSL's schedule of it, modelled alike over the grid of decoding.

    python tests/benchmarks/hip_flydsl_schedule.py                  # 32 points on gfx950
    python tests/benchmarks/hip_flydsl_schedule.py --rows 1 16      # some M

Both are sources in the language: split_k.tile is ours, split_k_in_rings.tile the schedule that AMD has
published for FlyDSL (operands through rings in LDS, parts added by atomics behind a signal). The same
passes, the same cost model and the same search choose tile, stages and split of each, so that theirs is
the best of its space by our model, whatever FlyDSL's own tables say. All times are modelled.
"""

from __future__ import annotations

import argparse
from math import exp, log
from pathlib import Path

import dslc
from dslc.cli.code_tables import prediction_of
from dslc.compiler.ir.parser import parse_program

HERE = Path(__file__).parent
COLUMNS, ROWS, K = (512, 1536, 2112, 7168), (1, 2, 4, 8, 16, 32, 64, 128), 7168


def modelled(chip: str, name: str, m: int, n: int) -> tuple[float, str]:
    """Seconds of the best choice for a shape, and that choice."""
    lib = dslc.compile(HERE / f"{name}.tile", f"hip:{chip}", define={"N": n, "K": K})
    sizes = {"M": m, "N": n, "K": K}
    if name == "split_k_in_rings":
        sizes["S"] = m * n  # more signals than there are tiles
    made = lib[name].specialize_for(sizes)
    found = prediction_of(made, parse_program(made.source(made.ir_stages[-1])), sizes)
    assert found is not None
    return found.seconds, " ".join(f"{key}={value}" for key, value in made.config.items())


def main() -> None:
    """A line a shape, then the geometric mean and the worst."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chip", default="gfx950", choices=("gfx942", "gfx950"))
    parser.add_argument("--rows", type=int, nargs="*", default=ROWS, metavar="M")
    parser.add_argument("--columns", type=int, nargs="*", default=COLUMNS, metavar="N")
    options = parser.parse_args()
    ratios = []
    for n in options.columns:
        for m in options.rows:
            ours, our_choice = modelled(options.chip, "split_k", m, n)
            theirs, their_choice = modelled(options.chip, "split_k_in_rings", m, n)
            ratios.append(ours / theirs)
            print(
                f"M={m} N={n} K={K}: ours {ours * 1e6:.1f} us, FlyDSL's schedule "
                f"{theirs * 1e6:.1f} us, ratio {ratios[-1]:.2f} (modelled)  "
                f"[{our_choice}] [{their_choice}]",
                flush=True,
            )
    mean = exp(sum(map(log, ratios)) / len(ratios))
    over = sum(r > 1 for r in ratios)
    print(
        f"mean ratio {mean:.2f}, worst {max(ratios):.2f}, {over} of {len(ratios)} over 1 (modelled)"
    )


if __name__ == "__main__":
    main()
