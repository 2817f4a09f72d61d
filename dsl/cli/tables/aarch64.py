"""What `dslc inspect` says of code for Arm CPUs: the library, and the speed of its products."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from dslc.machines.patience import UNLIMITED, Patience

if TYPE_CHECKING:
    from dslc.codegen.aarch64.products.throughput import Throughput
    from dslc.compilation.specialization import Specialization


def arm_lines(made: Specialization, patience: Patience = UNLIMITED) -> Iterator[tuple[str, str]]:
    """Labels and texts."""
    library = made.binary("dylib" if sys.platform == "darwin" else "so")
    assert library is not None
    from dslc.cli.tables.table import size_text

    yield "library", f"{size_text(len(library))}, {', '.join(_symbols(made))}"
    if "features" in made.artifact.launch:
        features = ", ".join(made.artifact.launch["features"]) or "nothing beyond Armv8.0"
        yield "needs", features
        yield "a thread has", f"{size_text(made.artifact.launch['scratch'])} of scratch"
    yield from _products(made, patience)


def _symbols(made: Specialization) -> list[str]:
    launch = made.artifact.launch
    parts = launch.get("variants", [made.artifact.to_manifest()])
    calls = [k for p in parts for k in p["launch"].get("kernels", [p])]
    return [k["entry"] for k in calls]


def _products(made: Specialization, patience: Patience) -> Iterator[tuple[str, str]]:
    from dslc.codegen.aarch64.products.throughput import (
        DEPTH,
        each_throughput,
        loops,
        main_loops,
    )
    from dslc.codegen.aarch64.tools.mca import PINNED, VERSIONS, mca_path, models

    text = made.source("asm")
    if not loops(text):
        return
    if not any(map(mca_path, VERSIONS)):
        yield "multiply-adds", f"apt install llvm-{PINNED} shows how many a cycle"
        return
    timed = [replace(m, until=patience.until) for m in models()]
    every = len(main_loops(text)) * len(timed)
    known = 0
    try:
        patience.tell(f"llvm-mca: {every} simulations of products")
        for throughput in each_throughput(text, timed):
            known += 1
            patience.tell(f"llvm-mca: {known} of {every} simulations of products")
            yield _product(throughput, DEPTH)
    except TimeoutError:
        told = f"{known} of {every} simulations within {patience.seconds:g} s"
        yield "llvm-mca", f"{told}; {patience.more}"


def _product(throughput: Throughput, depth: int) -> tuple[str, str]:
    """A product by a model."""
    cpu = f"{throughput.model.cpu}, LLVM {throughput.model.version}"
    rate = f"{throughput.rate:.1f} multiply-adds a cycle at K = {depth}"
    loop = f"{throughput.steady:.1f} in the loop of {throughput.bound:.1f} that its pipes allow"
    parts = f"{loop}, {throughput.whole:.1f} with panels"
    return throughput.name, f"{rate} ({parts}), tile of {throughput.tile} ({cpu})"
