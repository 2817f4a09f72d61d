"""What each pass makes of the programs of tests/ir. `--update-golden` writes what it makes now."""

from __future__ import annotations

import difflib
import re
from dataclasses import replace
from pathlib import Path

import pytest
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_program

from support.ir_cases import UNCHANGED, Case, cases, passes, read_case, same_meaning

ALL = cases()
ROOT = Path(__file__).resolve().parents[2]
CHECKS = {"register-limit", "capacity"}  # passes that refuse or do nothing


def check(case: Case, found: str) -> None:
    """Fail with the difference where the pass makes something else of a case."""
    if found != case.after:
        lines = (text.splitlines() for text in (case.after, found))
        difference = difflib.unified_diff(*lines, "expected", "found", lineterm="", n=9)
        pytest.fail(f"{case.path}: {case.says}\n" + "\n".join(difference), pytrace=False)


@pytest.mark.parametrize("case", ALL, ids=[c.name for c in ALL])
def test_a_pass_makes_of_a_program_what_the_case_says(
    case: Case, request: pytest.FixtureRequest
) -> None:
    found = case.outcome()
    if request.config.getoption("--update-golden"):
        before = print_program(case.program())
        written = Case(case.path, case.head, before, found)
        case.path.write_text(written.text, "utf-8")
        return
    check(case, found)
    assert print_program(case.program()) == case.before
    if found == UNCHANGED or re.match(r"DSL\d+: ", found):
        return
    assert print_program(parse_program(found)) == found
    assert found != case.before, "a pass that finds nothing to do gives back the program itself"
    same_meaning(case)


def test_every_pass_has_a_case_that_changes_a_program_and_one_that_does_not() -> None:
    now = cases()  # --update-golden may have written some since
    changed = {c.path.parent.name for c in now if c.after.startswith("kernel ")}
    unchanged = {c.path.parent.name for c in now if c.after == UNCHANGED}
    assert changed == passes().keys() - CHECKS
    assert unchanged == set(passes())


def test_every_refusal_of_a_pass_has_a_case() -> None:
    sources = "".join(p.read_text("utf-8") for p in (ROOT / "compiler" / "passes").rglob("*.py"))
    refused = {c.after.partition(":")[0] for c in ALL if c.after.startswith("DSL")}
    assert set(re.findall(r'"(DSL05\d\d)"', sources)) == refused


def test_every_case_says_what_it_shows() -> None:
    assert not [c.name for c in ALL if not c.says.endswith(".")]
    assert len({c.says for c in ALL}) == len(ALL)


def _case(folder: Path, text: str) -> Case:
    path = folder / "dead-code" / "case.tir"
    path.parent.mkdir()
    path.write_text(text, "utf-8")
    return read_case(path)


LOADED = "kernel f[](@x: in f32[4], @y: out f32[4]) {\n  %a = load @x[0 : +4!] : f32[4]\n"
KEPT = LOADED + "  store @y[0 : +4!], %a\n}\n"


def test_another_text_than_expected_fails_with_the_difference(tmp_path: Path) -> None:
    before = KEPT.replace("  store", "  %b = neg %a : f32[4]\n  store")
    case = _case(tmp_path, f"# Nobody reads b.\n\n{before}=>\n{before}")
    found = case.outcome()
    assert found == KEPT
    with pytest.raises(pytest.fail.Exception, match=r"(?s)Nobody reads b.*\n-  %b = neg %a"):
        check(case, found)
    check(replace(case, after=KEPT), found)


def test_another_meaning_fails(tmp_path: Path) -> None:
    other = KEPT.replace(
        "  store @y[0 : +4!], %a", "  %b = neg %a : f32[4]\n  store @y[0 : +4!], %b"
    )
    case = _case(tmp_path, f"# The numbers are others.\n\n{KEPT}=>\n{other}")
    with pytest.raises(AssertionError, match="y"):
        same_meaning(case)
