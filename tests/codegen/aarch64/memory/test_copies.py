"""Copies that come back vanish where nothing else reads the value meanwhile, and there alone."""

from __future__ import annotations

import pytest
from dslc.codegen.aarch64.machine_code.blocks import MOVE_V, File, Inst, Label, Line, Reg
from dslc.codegen.aarch64.memory.copies import in_place

TOTAL, COPY, X = (Reg(File.V) for _ in range(3))


def move(out: Reg, source: Reg) -> Inst:
    return Inst(MOVE_V, (out, source), 1)


def added(out: Reg) -> Inst:
    return Inst("fmla {0}.4s, {1}.4s, {1}.4s", (out, X), 1, reads_result=True)


def test_a_copy_that_comes_back_is_changed_where_it_is() -> None:
    lines: list[Line] = [move(COPY, TOTAL), added(X), added(COPY), move(TOTAL, COPY)]
    found = in_place(lines)
    assert [x.operands for x in found if isinstance(x, Inst)] == [(X, X), (TOTAL, X)]
    assert found[0] is lines[1]


KEPT: dict[str, list[Line]] = {
    "the value is read meanwhile": [
        move(COPY, TOTAL), added(COPY), Inst("fadd {0}.4s, {1}.4s, {1}.4s", (X, TOTAL), 1),
        move(TOTAL, COPY),
    ],
    "the copy is read later": [move(COPY, TOTAL), added(COPY), move(TOTAL, COPY), move(X, COPY)],
    "it goes elsewhere": [move(COPY, TOTAL), added(COPY), move(X, COPY)],
    "another way leads between": [
        move(COPY, TOTAL), Label(".L"), added(COPY), move(TOTAL, COPY),
    ],
}  # fmt: skip


@pytest.mark.parametrize("case", KEPT)
def test_other_copies_stay(case: str) -> None:
    assert in_place(KEPT[case]) == KEPT[case]
