"""Each diagnostic shows as its golden text says.

tests/golden/diagnostics holds programs named after the code that they are wrong by: `CODE.tile` is
parsed and, where that succeeds, checked; `CODE.py` is run. `--update-golden` writes the texts anew.
"""

from __future__ import annotations

import importlib
import runpy
from pathlib import Path

import pytest
from dslc.compiler.diagnostics import Diagnostic, DiagnosticError
from dslc.compiler.diagnostics.catalogue import entries
from dslc.compiler.diagnostics.render import render
from dslc.frontend import parse_tile, read_source

FOLDER = Path(__file__).parents[2] / "golden" / "diagnostics"
PROGRAMS = sorted(p for p in FOLDER.iterdir() if p.suffix in (".tile", ".py"))


def findings(path: Path) -> list[Diagnostic]:
    try:
        if path.suffix == ".py":
            runpy.run_path(str(path))
            return []
        text = read_source(path)
        parse_tile(text, str(path))
    except DiagnosticError as found:
        return list(found.diagnostics)
    checker = importlib.import_module("dslc.checker.source")
    found_by_checker: list[Diagnostic] = checker.check_source(text, str(path))
    return found_by_checker


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.name)
def test_a_diagnostic_shows_as_its_golden_text_says(
    path: Path, request: pytest.FixtureRequest
) -> None:
    found = findings(path)
    text = render(found).replace(f"{FOLDER}/", "").replace(str(FOLDER), "FOLDER")
    golden = path.with_suffix(".txt")
    if request.config.getoption("--update-golden"):
        golden.write_text(text, "utf-8")
    assert path.stem in {d.code for d in found}
    assert text == golden.read_text("utf-8")


def test_every_code_of_the_front_ends_has_a_golden_text() -> None:
    codes = {code for code in entries() if code.startswith(("DSL00", "DSL01"))}
    assert codes <= {p.stem for p in PROGRAMS}


def test_every_code_in_a_golden_text_is_in_the_catalogue() -> None:
    assert {d.code for p in PROGRAMS for d in findings(p)} <= set(entries())
