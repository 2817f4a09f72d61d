"""Kernels by rows and elements on a NeuronCore, beside the time of their transfers. Times are modelled.

    python tests/benchmarks/trainium_rows.py [--target nki:trn2]

Each kernel is compiled as a call without choices compiles it, and run without numbers in the simulator.
"Roofline" is what the tensors take that have to pass once, at the rate of the DMA engines.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import dslc
from dslc.cli.tables.nki import run_of
from dslc.cli.tables.table import plain_table
from dslc.runtime.nki_simulator import find_core

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

# file, kernel, sizes, bytes of the tensors that are read or written
CASES: tuple[tuple[str, str, dict[str, int], int], ...] = (
    ("softmax", "softmax_rows", {"M": 1024, "N": 1024}, 8 << 20),
    ("softmax", "softmax_rows", {"M": 4096, "N": 8192}, 256 << 20),
    ("softmax", "softmax", {"M": 1024, "N": 1024}, 8 << 20),
    ("softmax", "softmax", {"M": 4096, "N": 8192}, 256 << 20),
    ("rmsnorm", "rmsnorm", {"M": 1024, "H": 2048}, 8 << 20),
    ("rmsnorm", "rmsnorm", {"M": 4096, "H": 8192}, 128 << 20),
    ("layernorm", "layernorm", {"M": 1024, "H": 2048}, 8 << 20),
    ("layernorm", "layernorm", {"M": 4096, "H": 8192}, 128 << 20),
    ("swiglu", "swiglu", {"M": 1024, "F": 2048}, 12 << 20),
    ("swiglu", "swiglu", {"M": 4096, "F": 8192}, 192 << 20),
    ("vector_add", "vector_add", {"N": 1 << 20}, 12 << 20),
    ("rope", "rope", {"S": 1024, "Q": 2048, "D": 128}, 8 << 20),
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--target", default="nki:trn2")
    target = parser.parse_args().target
    core = find_core(target)
    rows = []
    for file, kernel, sizes, moved in CASES:
        library = dslc.compile(EXAMPLES / f"{file}.tile", target, cache=False)
        run = run_of(library[kernel].specialize(**sizes), sizes)
        roofline = moved / core.dma / 1e3
        shares = [f"{run.timeline.active(e):.0%}" for e in ("ACT", "DVE", "Pool", "DMA")]
        shape = " x ".join(map(str, sizes.values()))
        rows.append(
            [kernel, shape, f"{run.microseconds:.1f}", f"{roofline:.1f}",
             f"{run.microseconds / roofline:.2f}", *shares]
        )  # fmt: skip
    head = ("kernel", "sizes", "us", "roofline", "times", "ACT", "DVE", "Pool", "DMA")
    print(plain_table(head, rows, right=range(2, 9)))


if __name__ == "__main__":
    main()
