"""Examples by their FlyDSL source on AMD chips, in the emulator, and the loops of large products.

    export PYTHONPATH=tests:tests/examples
    python tests/benchmarks/flydsl.py                      # every example on both chips
    python tests/benchmarks/flydsl.py gemm attention       # some
    python tests/benchmarks/flydsl.py --loops              # products: FlyDSL's compiler and clang

It needs the extras `hip` and `flydsl`, and a C compiler. An example that is not right ends it with 1.
"""

from __future__ import annotations

import argparse
import sys
import time

from dslc.codegen.hip.isa import read_isa
from dslc.codegen.quoting import entry_name
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.hip_emulator import EmulationError
from elaboration import elaborated

from calls import TABLE, hold, problem
from support.hip import emulation as hip_emulation
from support.hip import flydsl
from support.hip.products import product

CHIPS = {"gfx950": 0, "gfx942": 1}  # and which of the calls in the table
LARGE = (("gfx950", (256, 256, 64)), ("gfx942", (128, 128, 64)))


def run(name: str, chip: str) -> str:
    """One example; what was not right, or nothing."""
    dims = TABLE[name][3][CHIPS[chip]]
    posed = problem(name, dims, {}, seed=0)
    try:
        lowered = hip_emulation.lower(elaborated(name, dims), chip)
        hip_emulation.execute(lowered, chip, posed.args, seed=1, isa_of=flydsl.isa)
        hold(posed)
    except (AssertionError, DiagnosticError, EmulationError) as problem_found:
        return str(problem_found).strip().splitlines()[0]
    return ""


def loops() -> None:
    """The main loop of a large bf16 product, by both compilers."""
    for chip, tile in LARGE:
        kernel = product(chip, tile, (("K", 8192), ("M", 8192), ("N", 8192)))
        for label, isa in (("flydsl", flydsl.isa), ("clang", hip_emulation.isa)):
            loop = read_isa(isa(kernel, chip))[entry_name(kernel.name)].main_loop()
            assert loop is not None
            mix = ", ".join(f"{count} {kind}" for kind, count in loop.mix().items())
            print(f"{chip} {tile} {label}: {loop.share('matrix'):.0%} matrix; {mix}", flush=True)


def main() -> None:
    """A line a run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="EXAMPLE")
    parser.add_argument("--loops", action="store_true")
    options = parser.parse_args()
    if options.loops:
        loops()
        return
    failed = 0
    for chip in CHIPS:
        for name in options.names or TABLE:
            started = time.perf_counter()
            wrong = run(name, chip)
            failed += bool(wrong)
            seconds = time.perf_counter() - started
            print(f"{chip} {name}: {wrong or 'right'}, {seconds:.1f} s", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
