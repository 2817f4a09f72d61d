"""The table of the language: every operation by dtype, shape class and machine, against the oracle."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from dslc.checker import functions  # noqa: F401 - importing them registers them
from dslc.checker.arithmetic import OPERATORS
from dslc.checker.calls import FUNCTIONS

from support.machines import require
from support.oracle import table
from support.oracle.cells import operations
from support.oracle.dtypes import DTYPES
from support.oracle.profiles import profile
from support.oracle.running import Outcome, run
from support.oracle.tree import Program

MACHINES = ("interp", "aarch64:i8mm", "nki:trn2", "aie:npu2", "cuda:sm_90a", "hip:gfx950")
BYTES = [n for n, d in DTYPES.items() if d.is_integer and d.bits <= 8]


def wrong(target: str, cells: Iterable[tuple[tuple[str, ...], Program]]) -> list[str]:
    """Which cells are wrong. A program that is refused may be so for one of its cells alone."""
    found = []
    for names, program in cells:
        outcome: Outcome = run(target, program)
        assert outcome.kind != "unspecified", (names, outcome)
        if outcome.kind == "refused":
            print(f"{', '.join(names)}: {outcome.detail}")
        elif outcome.is_failure:
            found.append(f"{', '.join(names)}: {outcome.detail}")
    return found


def test_every_function_and_operator_of_the_language_is_in_the_table() -> None:
    """One that is new is listed here: with a cell, or with the reason why it has none."""
    made = {op for name in DTYPES for op in operations(name)}
    made |= {names[0] for name in DTYPES for names, _ in table.rest(profile("interp"), name)}
    made |= {"transpose"}  # a shape class
    assert set(FUNCTIONS) | set(OPERATORS) <= made | set(table.OUTSIDE)
    assert set(table.OUTSIDE) <= set(FUNCTIONS) | set(OPERATORS)
    assert not made & set(table.OUTSIDE)


@pytest.mark.parametrize("kind", table.CLASSES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.sampled(13)
def test_operations_on_the_interpreter(dtype: str, kind: str) -> None:
    assert wrong("interp", table.programs(profile("interp"), dtype, kind)) == []


@pytest.mark.deep
@pytest.mark.parametrize("kind", table.CLASSES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("target", MACHINES[1:])
def test_operations(target: str, dtype: str, kind: str) -> None:
    require(target)
    assert wrong(target, table.programs(profile(target), dtype, kind)) == []


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.sampled(5)
def test_all_pairs_of_codes_on_the_interpreter(dtype: str) -> None:
    assert wrong("interp", table.pairs(profile("interp"), dtype)) == []


@pytest.mark.deep
@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("target", MACHINES[1:])
def test_all_pairs_of_codes(target: str, dtype: str) -> None:
    require(target)
    assert wrong(target, table.pairs(profile(target), dtype)) == []


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.sampled(15)
def test_casts_of_every_code_on_the_interpreter(source: str, saturate: bool) -> None:
    assert wrong("interp", table.casts(profile("interp"), source, saturate)) == []


@pytest.mark.deep
@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", MACHINES[1:])
def test_casts_of_every_code(target: str, source: str, saturate: bool) -> None:
    require(target)
    assert wrong(target, table.casts(profile(target), source, saturate)) == []


@pytest.mark.parametrize("how", ["", "a", "b", "ab"])
@pytest.mark.sampled(3)
def test_products_on_the_interpreter(how: str) -> None:
    assert wrong("interp", table.products(profile("interp"), how, (5, 7, 9))) == []


@pytest.mark.deep
@pytest.mark.parametrize("extents", [(5, 7, 9), (16, 16, 32), (1, 8, 16)])
@pytest.mark.parametrize("how", ["", "a", "b", "ab"])
@pytest.mark.parametrize("target", MACHINES[1:])
def test_products(target: str, how: str, extents: tuple[int, int, int]) -> None:
    require(target)
    assert wrong(target, table.products(profile(target), how, extents)) == []


@pytest.mark.deep
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("target", MACHINES)
def test_making_gathering_scattering(target: str, dtype: str) -> None:
    require(target)
    assert wrong(target, table.rest(profile(target), dtype)) == []
