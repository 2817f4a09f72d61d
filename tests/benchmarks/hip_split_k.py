"""Split-K products of few rows on AMD chips: modelled times, and runs in the emulator.

    python tests/benchmarks/hip_split_k.py --chip gfx950              # a table of modelled times
    python tests/benchmarks/hip_split_k.py --chip gfx950 --run 20     # each shape, 20 interleavings

The grids are those of decoding: K = 7168 with M of 1 to 128 rows and four N, and with `--layers` 40
cases of N, K and a bias or none as models' layers have them, each with one row and with 33. A run
compares with NumPy, launches every time on the same workspaces, and fails on the first report.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path

import dslc
import ml_dtypes
import numpy as np
from dslc.cli.tables.machine_code import prediction_of
from dslc.compilation.specialization import Specialization
from dslc.compiler.ir.text.parser import parse_program
from dslc.runtime.hip import HipKernel

SOURCE = Path(__file__).with_name("split_k.tile")
Shape = tuple[int, int, int, bool]  # M, N, K, and whether there is a bias
DECODE: list[Shape] = [
    (m, n, 7168, True) for n in (512, 1536, 2112, 7168) for m in (1, 2, 4, 8, 16, 32, 64, 128)
]
LAYERS: list[Shape] = [
    (m, n, k, bias)
    for n, k, bias in itertools.product(
        (128, 640, 2112, 2880, 5120), (2048, 2880, 4096, 7168), (True, False)
    )
    for m in (1, 33)
]


def made_for(chip: str, shape: Shape) -> Specialization:
    """The compiler's choice for a shape."""
    m, n, k, bias = shape
    lib = dslc.compile(SOURCE, f"hip:{chip}", define={"N": n, "K": k})
    return lib["split_k" if bias else "split_k_plain"].specialize_for({"M": m, "N": n, "K": k})


def run(made: Specialization, shape: Shape, seeds: int) -> tuple[int, float]:
    """Launches with as many seeds, numbers compared; wave-instructions and seconds in all."""
    m, n, k, biased = shape
    rng = np.random.default_rng(m * n + k)
    bf16 = ml_dtypes.bfloat16
    a, w = (rng.integers(-2, 3, s).astype(bf16) for s in ((m, k), (n, k)))
    bias = rng.integers(-8, 9, n).astype(bf16) if biased else np.zeros(n, bf16)
    wanted = (a.astype(np.float32) @ w.astype(np.float32).T + bias.astype(np.float32)).astype(bf16)
    args = {"a": a, "w": w, **({"bias": bias} if biased else {})}
    kernel = HipKernel(made.artifact)
    executed, started = 0, time.process_time()
    for seed in range(seeds):
        c = np.full((m, n), np.nan, bf16)
        kernel.launch({**args, "c": c}, {}, seed=seed)
        executed += kernel.instructions
        if not np.array_equal(c.view(np.uint16), wanted.view(np.uint16)):
            raise SystemExit(f"wrong numbers: {shape}, seed {seed}")
    return executed, time.process_time() - started


def main() -> None:
    """A line a shape."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chip", default="gfx950", choices=("gfx942", "gfx950"))
    parser.add_argument("--run", type=int, default=0, metavar="SEEDS")
    parser.add_argument("--layers", action="store_true", help="the models' layers instead")
    options = parser.parse_args()
    for shape in LAYERS if options.layers else DECODE:
        made = made_for(options.chip, shape)
        program = parse_program(made.source(made.ir_stages[-1]))
        sizes = dict(zip("MNK", shape[:3], strict=True))
        modelled = prediction_of(made, program, sizes)
        assert modelled is not None
        used = made.artifact.launch["resources"]
        config = " ".join(f"{name}={value}" for name, value in made.config.items())
        line = f"{shape}: modelled {modelled.seconds * 1e6:.1f} us, {config}, stack {used['stack']}"
        if options.run:
            executed, seconds = run(made, shape, options.run)
            line += f", {executed} instructions in {seconds:.1f} s"
        print(line, flush=True)
    sys.exit(0)


if __name__ == "__main__":
    main()
