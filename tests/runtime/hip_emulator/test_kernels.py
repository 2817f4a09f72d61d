"""Whole kernels as clang compiles them: both chips, three levels, many interleavings."""

from __future__ import annotations

import pytest

from support.hip.subjects import SUBJECTS, body_lines, text_of
from support.hip.toolchain import CHIPS, needs_clang

pytestmark = needs_clang

# Of split_k's loop and what follows it each waits for the same scalar loads.
SUPERFLUOUS = {"split_k": 1}


@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3"])
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", SUBJECTS)
def test_a_kernel_gives_the_right_numbers(name: str, chip: str, level: str) -> None:
    if name == "gemm" and level == "-O1":
        pytest.skip("its copies are loops of single words there")
    assert SUBJECTS[name].run(text_of(name, chip, level)) is None


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", SUBJECTS)
def test_without_any_one_wait_or_barrier_a_kernel_is_refused(name: str, chip: str) -> None:
    text = text_of(name, chip)
    lines = text.splitlines()
    tried, missed = 0, []
    for number in body_lines(name, text):
        words = lines[number].split()
        if not words or words[0] not in ("s_waitcnt", "s_barrier"):
            continue
        before, after = lines[:number], lines[number + 1 :]
        reached = SUBJECTS[name].run("\n".join([*before, "\ts_trap 2", *after]))
        if reached is None:  # code for other sizes than these
            continue
        tried += 1
        if SUBJECTS[name].run("\n".join([*before, *after])) is None:
            missed.append((number + 1, lines[number].strip()))
    assert tried
    assert len(missed) == SUPERFLUOUS.get(name, 0), missed
