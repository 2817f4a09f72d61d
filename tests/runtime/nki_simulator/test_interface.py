"""The tables of nki's interface: the simulator is of them, and emitted sources keep to them."""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path

import pytest
from dslc.runtime.nki_simulator import find_core
from dslc.runtime.nki_simulator.engines.operators import OPERATORS
from dslc.runtime.nki_simulator.interface.instructions import INSTRUCTION_ROWS
from dslc.runtime.nki_simulator.interface.names import LANGUAGE_NAMES
from dslc.runtime.nki_simulator.interface.operators import ACTIVATION_ROWS, ALU_ROWS, KINDS
from dslc.runtime.nki_simulator.interface.uses import wrong_uses
from dslc.runtime.nki_simulator.modules import kernel_modules
from dslc.runtime.nki_simulator.neuroncore import INSTRUCTIONS, Core

GOLDEN = Path(__file__).parents[2] / "golden" / "nki"


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_an_instruction_has_the_parameters_of_its_page(name: str) -> None:
    given = list(inspect.signature(INSTRUCTIONS[name]).parameters.values())[1:]
    wanted = list(INSTRUCTION_ROWS[name].signature.parameters.values())
    assert [p.name for p in given] == [p.name for p in wanted]
    for p, row in zip(given, wanted, strict=True):
        assert (p.default is p.empty) == (row.default is row.empty), p.name


def test_every_row_is_simulated_or_says_that_it_is_not() -> None:
    registers = {n for n in INSTRUCTION_ROWS if n.startswith("register_")} | {"get_nc_version"}
    for name, row in INSTRUCTION_ROWS.items():
        assert row.simulated == (name in INSTRUCTIONS or name in registers), name
        assert row.page.startswith(("nki/", "release-notes/"))
        assert set(row.operators.values()) <= set(KINDS)
        assert set(row.operators) <= set(row.signature.parameters)


def test_operators_are_those_of_the_tables() -> None:
    for name, op in OPERATORS.items():
        if name in ("max", "min", "bypass"):
            continue
        assert (op.alu is not None) == (name in ALU_ROWS), name
        assert (op.act is not None) == (name in ACTIVATION_ROWS), name
        assert name in LANGUAGE_NAMES


def test_the_language_has_no_name_of_its_own() -> None:
    modules, _ = kernel_modules(Core(find_core("trn2"), "<kernel>"))
    own = {n for n in vars(modules["nki.language"]) if not n.startswith("_")}
    assert own <= LANGUAGE_NAMES | {"outputs", "program"}


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.nki")), ids=lambda p: p.stem)
def test_golden_sources_keep_to_the_tables(path: Path) -> None:
    assert not list(wrong_uses(ast.parse(path.read_text(encoding="utf-8")), 3))


@pytest.mark.deep
@pytest.mark.parametrize("target", ["nki:trn1", "nki:trn2", "nki:trn3"])
def test_sources_of_all_examples_keep_to_the_tables(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every kernel that runs is checked as well: `simulate` reads the whole text first."""
    import dslc

    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "examples")
    calls = __import__("calls")
    for kernel, (file, definitions, config, sizes) in calls.TABLE.items():
        for define in definitions:
            library = dslc.compile(
                calls.EXAMPLES / f"{file}.tile", target, define=dict(define), cache=False
            )
            text = library[kernel].specialize(**config, **sizes[1]).source("nki")
            found = list(wrong_uses(ast.parse(text), find_core(target).version))
            assert not found, (kernel, found)
    assert "calls" in sys.modules
