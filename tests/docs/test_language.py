"""The kernels of docs/language.md compile, its errors are those that it says, its Python runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import dslc.checker.functions  # noqa: F401 - registers them
import pytest
from dslc.checker.calls import FUNCTIONS
from dslc.checker.source import check_source
from dslc.compiler.diagnostics import Severity
from dslc.compiler.layout import LAYOUT_FUNCTIONS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/language.md").read_text()
BLOCKS = [
    (TEXT.count("\n", 0, match.start()) + 1, match[1], match[2].strip(), match[3])
    for match in re.finditer(r"^```(\w+)([^\n]*)\n(.*?)^```$", TEXT, re.M | re.S)
]


def blocks(language: str) -> list[object]:
    chosen = [b for b in BLOCKS if b[1] == language]
    return [pytest.param(option, text, id=f"line{line}") for line, _, option, text in chosen]


def test_every_block_is_of_a_kind_that_is_tested() -> None:
    assert {language for _, language, _, _ in BLOCKS} == {"tile", "python"}


def test_every_function_has_its_row() -> None:
    """A new function is documented in the page, not in its stub alone."""
    prose = re.sub(r"```.*?```", "", TEXT + (ROOT / "docs/layouts.md").read_text(), flags=re.S)
    shown = {
        word for code in re.findall(r"`([^`\n]+)`", prose) for word in re.findall(r"\w+", code)
    }
    assert {*FUNCTIONS, *LAYOUT_FUNCTIONS} - shown == set()


@pytest.mark.parametrize(("code", "text"), blocks("tile"))
def test_tile(code: str, text: str) -> None:
    found = check_source(text, "docs/language.md")
    errors = [d for d in found if d.severity is Severity.ERROR]
    assert [d.code for d in errors] == ([code] if code else []), errors


@pytest.mark.parametrize(("_", "text"), blocks("python"))
def test_python(_: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("DSLC_CACHE", "off")
    script = tmp_path / "snippet.py"
    script.write_text(text)
    runpy.run_path(str(script), run_name="__main__")
