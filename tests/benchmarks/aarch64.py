"""Multiply-adds a cycle of products for Arm CPUs, by llvm-mca: no Arm machine is asked.

    python tests/benchmarks/aarch64.py [FILE.tile ...] [--kernel NAME] [--target aarch64:i8mm]
                                       [-D K=4096] [--set BM=32]

Without a file: the products with 4-bit weights of examples/w4a8.tile, at the sizes of prefill and
decode, for dotprod and i8mm. One line for each marked loop and model: the rate of one register tile at
K = 4096 with its ends and epilogue, that of its loop alone and what that could be if nothing waited for
a result, that with a tile's share of filling the panels, and that of the best public kernel, whose
activations are packed beforehand.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import dslc
from dslc.codegen.aarch64.products.throughput import DEPTH, throughputs
from dslc.codegen.aarch64.tools.mca import models

EXAMPLES = Path(__file__).parents[2] / "examples"

# The best public kernels on V2 and N2 by the same measure and llvm-mca 22: MNN, KleidiAI, XNNPACK.
PUBLIC = {
    ("channel", "prefill", "i8mm"): (101.0, 52.6),
    ("channel", "prefill", "dotprod"): (59.2, 29.6),
    (128, "prefill", "i8mm"): (80.2, 43.5),
    (64, "prefill", "i8mm"): (67.2, 35.9),
    (32, "prefill", "i8mm"): (52.9, 29.5),
    ("channel", "decode", "i8mm"): (26.7, 15.9),
    (128, "decode", "i8mm"): (24.8, 15.0),
    (32, "decode", "i8mm"): (21.2, 12.8),
}


@dataclass(frozen=True)
class Case:
    """One kernel for one target, and what it is to be compared with."""

    label: str
    file: Path
    kernel: str
    target: str
    define: Mapping[str, object] = field(default_factory=dict)
    config: Mapping[str, object] = field(default_factory=dict)
    public: tuple[float, float] | None = None


def standard() -> Iterator[Case]:
    """The products with 4-bit weights: a scale a column, or for 128, 64 and 32 rows of one."""
    for (group, stage, variant), public in PUBLIC.items():
        kernel = "gemm_w4a8_channel" if group == "channel" else "gemm_w4a8_group"
        define: dict[str, object] = {"K": DEPTH, "N": DEPTH, "M": 1 if stage == "decode" else 256}
        config: dict[str, object] = {"BM": 128 if stage == "prefill" else 16, "BN": 256}
        if isinstance(group, int):
            define["G"] = group
        config["BK"] = min(group, 128) if isinstance(group, int) else 256
        label = f"{stage} {group if group == 'channel' else f'group {group}'}"
        yield Case(
            label, EXAMPLES / "w4a8.tile", kernel, f"aarch64:{variant}", define, config, public
        )


def rows(case: Case) -> Iterator[str]:
    """The case's lines: those of its loops, or why there are none."""
    try:
        library = dslc.compile(case.file, case.target, define=dict(case.define), cache=False)
        text = library[case.kernel].specialize(**case.config).source("asm")
    except dslc.DiagnosticError as problem:
        yield f"{case.label:<18} {case.target:<16} {problem.diagnostics[0].message}"
        return
    found = throughputs(text, models())
    if not found:
        yield f"{case.label:<18} {case.target:<16} no marked loop"
    if (
        "N" in case.define
    ):  # the standard cases: prefill without decode's body, and the other way round
        found = [
            t for t in found if (t.name.rpartition(".")[2][:2] == "1x") == (case.define["M"] == 1)
        ]
    for t in found:
        public = dict(zip(("neoverse-v2", "neoverse-n2"), case.public or (), strict=False))
        bar = public.get(t.model.cpu)
        cells = (
            f"{case.label:<18} {case.target:<16} {t.name:<28} {t.tile:>5}",
            f"{t.model.cpu:<12} LLVM {t.model.version}",
            f"{t.rate:>7.1f} (loop {t.steady:.1f} of {t.bound:.1f}, with panels {t.whole:.1f})",
            "" if bar is None else f"public {bar}",
        )
        yield "  ".join(cells).rstrip()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--kernel")
    parser.add_argument("--target", default="aarch64:i8mm")
    parser.add_argument("-D", dest="define", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--set", dest="config", action="append", default=[], metavar="NAME=VALUE")
    given = parser.parse_args()
    define, config = (
        {n: int(v) for n, v in (re.split("=", text, maxsplit=1) for text in texts)}
        for texts in (given.define, given.config)
    )
    cases = [
        Case(name, file, name, given.target, define, config)
        for file in given.files
        for name in dslc.compile(file, "interp", define=define, cache=False)
        if given.kernel in (None, name)
    ]
    for case in cases or standard():
        for line in rows(case):
            print(line, flush=True)


if __name__ == "__main__":
    main()
