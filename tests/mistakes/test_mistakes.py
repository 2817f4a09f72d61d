"""Mistakes are located, with a cause and a hint: on the shell, in Python, in the editor."""

from __future__ import annotations

from pathlib import Path

import dslc
import pytest
from dslc.cli.main import run
from dslc.compiler.diagnostics import Diagnostic
from dslc.language_server.checking import Checker
from dslc.language_server.document import Document

from mistakes.others import OTHERS
from mistakes.sources import MISTAKES, RIGHT

pytestmark = pytest.mark.parametrize(
    "mistake",
    [*MISTAKES, *OTHERS],
    ids=[name.replace(" ", "-") for name, *_ in (*MISTAKES, *OTHERS)],
)
Mistake = tuple[str, str, str, str, int, str]


def wrong(mistake: Mistake) -> str:
    _, old, new, *_ = mistake
    assert old in RIGHT
    return RIGHT.replace(old, new, 1)


def check(found: Diagnostic, mistake: Mistake) -> None:
    *_, code, line, hint = mistake
    assert found.code == code
    assert found.loc is not None
    assert found.loc.line == line
    assert found.loc.end_col > 0
    assert hint
    assert hint in (found.hint or "")


def test_on_the_shell(mistake: Mistake, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.tile"
    path.write_text(wrong(mistake))
    assert run(["check", str(path), "--color", "never"]) == 1
    shown = capsys.readouterr().err
    *_, code, line, hint = mistake
    first, place, *_ = shown.splitlines()
    assert first.startswith(f"error[{code}]: ")
    assert f"wrong.tile:{line}:" in place
    assert "^" in shown
    assert f"hint: {hint}" in shown


def compile_all(text: str) -> None:
    """Every kernel, with each choice."""
    for kernel in dslc.compile(text, "interp", cache=False).values():
        for choices in _choices(kernel):
            kernel.specialize_for({"M": 64, "N": 256, "K": 128}, choices)


def test_in_python(mistake: Mistake) -> None:
    with pytest.raises(dslc.DiagnosticError) as caught:
        compile_all(wrong(mistake))
    check(caught.value.diagnostics[0], mistake)
    shown = str(caught.value)
    assert mistake[-1] in shown
    assert "^" in shown


def _choices(kernel: dslc.Kernel) -> list[dict[str, object]]:
    """The first choices, and each other one alone."""
    return [{}, *({name: v} for name, values in kernel.tunes.items() for v in values)]


def test_in_the_editor(mistake: Mistake) -> None:
    document = Document(Path("/nowhere/wrong.tile"), wrong(mistake))
    found = Checker().check(document)
    assert found
    check(found[0], mistake)
