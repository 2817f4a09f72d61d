"""Tools that are run: one that does not end is stopped, and the error says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from dslc.codegen import tools
from dslc.compiler.diagnostics import DiagnosticError


def test_a_tool_that_does_not_end_is_stopped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tools, "_LONGEST", 0.2)
    with pytest.raises(DiagnosticError, match=r"DSL0957.*sleep was stopped"):
        tools.run(("sleep", "30"), str(tmp_path))


def test_what_a_tool_says_comes_back(tmp_path: Path) -> None:
    done = tools.run(("sh", "-c", "echo out; echo err >&2; exit 3"), str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")
