"""Speed of the emulator of AMD's ISA: wave-instructions a second, on one core of the host.

    PYTHONPATH=tests python tests/benchmarks/hip_emulator.py

Times are of the process, not of the clock on the wall: what else runs on the host matters little.
"""

from __future__ import annotations

import time

import ml_dtypes
import numpy as np
from dslc.codegen.quoting import entry_name

from support.hip.emulation import isa, module
from support.hip.products import product
from support.hip.toolchain import CHIPS

SIZE = 1024
SHAPES = {"256 x 256 x 64": (256, 256, 64), "64 x 64 x 64": (64, 64, 64)}


def main() -> None:
    """A line for each chip and tile: compilation of functions, instructions, speed."""
    rng = np.random.default_rng(0)
    bf16 = ml_dtypes.bfloat16
    a, b = (rng.standard_normal((SIZE, SIZE)).astype(bf16) for _ in range(2))
    print("chip, tile, instructions, seconds, million a second, largest difference")
    for chip in CHIPS:
        for name, tile in SHAPES.items():
            dims = tuple((d, SIZE) for d in "MNK")
            kernel = product(chip, tile, dims)
            made = module(isa(kernel, chip))
            c = np.zeros((SIZE, SIZE), bf16)
            words = [x.view(np.uint16) for x in (a, b, c)]
            dims_of = [np.int32(SIZE)] * (
                len(made.assembly.kernels[entry_name(kernel.name)].metadata.explicit) - 3
            )
            args = [*words, *dims_of]
            grid = -(-SIZE // tile[0]) * -(-SIZE // tile[1])
            made.launch(
                entry_name(kernel.name), args, grid, kernel.threads
            )  # functions are compiled
            start = time.process_time()
            done = made.launch(entry_name(kernel.name), args, grid, kernel.threads).instructions
            took = time.process_time() - start
            wanted = a.astype(np.float32) @ b.astype(np.float32).T
            off = np.abs(c.astype(np.float32) - wanted).max()
            print(f"{chip}, {name}, {done}, {took:.2f}, {done / took / 1e6:.2f}, {off:.2g}")


if __name__ == "__main__":
    main()
