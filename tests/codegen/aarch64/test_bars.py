"""What the products of examples/w4a8.tile reach in multiply-adds a cycle, by LLVM 22's models."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import dslc
import pytest
from dslc.codegen.aarch64.products.throughput import DEPTH, main_loops
from dslc.codegen.aarch64.tools.mca import CPUS, mca_path, models

from support.aarch64 import needs_assembler

FILE = Path(__file__).parents[3] / "examples" / "w4a8.tile"
# The rate of a register tile with its ends and epilogue at K = 4096, on Neoverse V2 and N2.
BARS = {
    ("i8mm", None, 256): (115, 58), ("dotprod", None, 256): (60, 30), ("i8mm", 128, 256): (92, 46),
    ("i8mm", 64, 256): (86, 43), ("i8mm", 32, 256): (73, 36), ("i8mm", None, 1): (40, 20),
    ("i8mm", 128, 1): (36, 18), ("i8mm", 32, 1): (30, 16),
}  # fmt: skip


@functools.cache
def text(variant: str, group: int | None, rows: int) -> str:
    needs_assembler()
    define = {"K": 4096, "N": 4096, "M": rows, **({"G": group} if group else {})}
    library = dslc.compile(FILE, f"aarch64:{variant}", define=define, cache=False)
    kernel = library["gemm_w4a8_group" if group else "gemm_w4a8_channel"]
    config = {
        "BM": 128 if rows > 1 else 16,
        "BN": 256,
        "BK": min(group or 256, 128 if group else 256),
    }
    return kernel.specialize(**config).source("asm")


@pytest.mark.parametrize(("variant", "group", "rows"), BARS)
@pytest.mark.sampled(3)
def test_tiles_are_as_fast_as_they_have_to_be(variant: str, group: int | None, rows: int) -> None:
    if mca_path(22) is None:
        pytest.skip("there is no llvm-mca of LLVM 22 (apt install llvm-22)")
    found = main_loops(text(variant, group, rows))
    (loop,) = (x for x in found if bool(re.search(r"\.1x\d+$", x.body.name)) == (rows == 1))
    trace = loop.trace(DEPTH)
    for model in models((22,)):
        rate = loop.tile * DEPTH / model.marginal(trace, 1, 2)
        assert rate >= BARS[variant, group, rows][CPUS.index(model.cpu)]
        # No wait for a load is left to hide (decision 30): the loop is as fast as its pipes are.
        cycles = model.marginal(loop.body.lines, 20, 60)
        assert cycles <= 1.03 * model.bound(loop.body.lines)


def test_weights_that_are_read_once_are_asked_for_ahead() -> None:
    loop = text("i8mm", 32, 1).partition(".1x")[2]
    assert "prfm pldl1keep" in loop
