"""What examples/tilus_pipelined.tile says of its shared memory: no access meets in a bank."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from dslc.compiler.layout import bank_conflicts, parse_layout
from dslc.compiler.targets import find_target

SOURCE = (Path(__file__).parents[3] / "examples/tilus_pipelined.tile").read_text()
TEXTS = dict(re.findall(r"^    (warps|\w*layout_\w) = (.*)$", SOURCE, re.M))
LAYOUTS = {
    name: parse_layout(text.replace("warps", TEXTS["warps"])) for name, text in TEXTS.items()
}
BANKS = find_target("cuda:sm_80").banks
# The copies move 16 bytes a thread, row by row.
COPY_A = parse_layout("local(4, 1).spatial(4, 32).local(1, 8)")
ROWS_C = parse_layout("spatial(16, 8).local(1, 4)")


@pytest.mark.parametrize(
    ("register", "memory", "bits", "offset", "store"),
    [
        (LAYOUTS["layout_a"], LAYOUTS["shared_layout_a"], 16, (2, 0, 64), False),
        (COPY_A, LAYOUTS["shared_layout_a"], 16, (1, 0, 0), True),
        (LAYOUTS["layout_t"], parse_layout("local(3, 1536)"), 32, (1, 384), False),
        (LAYOUTS["layout_c"], LAYOUTS["shared_layout_c"], 16, (0, 0), True),
        (ROWS_C, LAYOUTS["shared_layout_c"], 16, (0, 0), False),
    ],
    ids=["load a", "copy a", "load b", "store c", "load c"],
)
def test_no_bank_conflict(
    register: object, memory: object, bits: int, offset: tuple[int, ...], store: bool
) -> None:
    found = bank_conflicts(register, memory, bits, BANKS, offset, store=store)  # type: ignore[arg-type]
    assert found.ways == 1


def test_row_major_memory_would_conflict() -> None:
    plain = parse_layout("local(3, 16, 256)")
    assert bank_conflicts(LAYOUTS["layout_a"], plain, 16, BANKS, (0, 0, 0)).ways == 8


def test_the_figure_is_twice_as_wide() -> None:
    figure = parse_layout("local(1, 2).swizzle(local(16, 4), dim=1, log_step=1).local(1, 8)")
    assert figure.shape == (16, 64)
    assert LAYOUTS["shared_layout_c"].shape == LAYOUTS["layout_c"].shape == (16, 32)
