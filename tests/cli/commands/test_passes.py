"""`dslc passes`."""

from __future__ import annotations

import pytest
from dslc.cli.main import run
from dslc.compiler.targets import TARGETS
from dslc.machines.registry import find_machine


def test_one_list_has_a_line_for_each_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["passes", "cuda:sm_90a"]) == 0
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split() == ["pass", "what", "it", "does"]
    names = [p.name for p in find_machine("cuda:sm_90a").passes({})]
    assert [line.split()[:2] for line in lines] == [[str(i), n] for i, n in enumerate(names, 1)]
    assert all(len(line.split()) > 4 for line in lines), "each says what it does"


def test_without_a_target_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["passes"]) == 0
    out = capsys.readouterr().out
    heads = [line for line in out.splitlines() if line.endswith(":")]
    named = [t for line in heads for t in line.removesuffix(":").split(", ")]
    assert sorted(named) == sorted(TARGETS)
    assert "\n  unthread, masked-accesses, simplify, dynamic-starts," in out


def test_the_long_form_shows_the_ir_before_and_after(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["passes", "aarch64:bf16", "--long"]) == 0
    out = capsys.readouterr().out
    assert "01-simplify: compiler/passes/simplification/simplify.py\n" in out
    assert "Before (tests/ir/simplify/one_iteration.tir):" in out
    assert "After:" in out


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--long"], 2), (["cuda:sm_99"], 2), (["nki"], 2)]
)
def test_what_is_no_target_is_said(
    arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["passes", *arguments]) == code
    assert capsys.readouterr().err
