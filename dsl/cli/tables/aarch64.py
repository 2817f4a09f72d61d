"""What `dslc inspect` says of code for Arm CPUs: the library, and the speed of its products."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dslc.compilation.specialization import Specialization


def arm_lines(made: Specialization) -> Iterator[tuple[str, str]]:
    """Labels and texts."""
    library = made.binary("dylib" if sys.platform == "darwin" else "so")
    assert library is not None
    from dslc.cli.tables.table import size_text

    yield "library", f"{size_text(len(library))}, {', '.join(_symbols(made))}"
    if "features" in made.artifact.launch:
        features = ", ".join(made.artifact.launch["features"]) or "nothing beyond Armv8.0"
        yield "needs", features
        yield "a thread has", f"{size_text(made.artifact.launch['scratch'])} of scratch"
    yield from _products(made)


def _symbols(made: Specialization) -> list[str]:
    launch = made.artifact.launch
    parts = launch.get("variants", [made.artifact.to_manifest()])
    calls = [k for p in parts for k in p["launch"].get("kernels", [p])]
    return [k["entry"] for k in calls]


def _products(made: Specialization) -> Iterator[tuple[str, str]]:
    from dslc.codegen.aarch64.products.throughput import DEPTH, loops, throughputs
    from dslc.codegen.aarch64.tools.mca import PINNED, VERSIONS, mca_path, models

    text = made.source("asm")
    if not loops(text):
        return
    if not any(map(mca_path, VERSIONS)):
        yield "multiply-adds", f"apt install llvm-{PINNED} shows how many a cycle"
        return
    for throughput in throughputs(text, models()):
        cpu = f"{throughput.model.cpu}, LLVM {throughput.model.version}"
        rate = f"{throughput.rate:.1f} multiply-adds a cycle at K = {DEPTH}"
        loop = f"{throughput.steady:.1f} in the loop of {throughput.bound:.1f} that its pipes allow"
        parts = f"{loop}, {throughput.whole:.1f} with panels"
        yield throughput.name, f"{rate} ({parts}), tile of {throughput.tile} ({cpu})"
