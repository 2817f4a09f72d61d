"""`dslc layout`: tables, pictures, judgements and mistakes."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from dslc.cli.main import run

MMA_C = "local(2, 1).spatial(8, 4).local(1, 2)"


def test_the_table_and_the_facts(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["layout", MMA_C]) == 0
    out = capsys.readouterr().out
    assert "31:3" in out
    assert "16 x 8" in out
    assert "\x1b[" not in out


def test_colour_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["layout", MMA_C, "--color", "always"]) == 0
    assert "\x1b[" in capsys.readouterr().out


def test_conflicts_depend_on_memory_and_machine(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["layout", "--no-table", "spatial(8, 4).local(1, 8)"]
    assert run([*asked, "--memory", "local(8, 32)"]) == 0
    assert "conflicts" in capsys.readouterr().out
    assert run([*asked, "--memory", "local(8, 32)", "--machine", "aarch64:i8mm"]) == 0
    assert "conflicts" not in capsys.readouterr().out


def test_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["layout", "--no-table", MMA_C, "--compare", MMA_C]) == 0
    assert "equal           yes" in capsys.readouterr().out


def test_a_picture_is_svg(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, expr in (("threads", MMA_C), ("banks", "local(16, 64)")):
        file = tmp_path / f"{name}.svg"
        assert run(["layout", "--no-table", expr, "--svg", str(file)]) == 0
        assert ET.parse(file).getroot().tag.endswith("svg")


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (["spatial(8, 4"], "DSL0310"),
        (["__import__('os')"], "DSL0310"),
        (["local(2)", "--machine", "cuda:sm90"], "DSL0901"),
        (["spatial(8, 4).local(1, 8)", "--memory", "local(2, 2)"], "DSL0313"),
    ],
)
def test_mistakes(asked: list[str], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["layout", *asked]) in (1, 2)
    captured = capsys.readouterr()
    assert f"error[{code}]" in captured.err
    assert "Traceback" not in captured.err
