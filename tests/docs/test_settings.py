"""docs/settings.md names every environment variable that the sources read, and no other."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
ROOMS = ("dsl", "compiler", "codegen", "runtime", "examples", "tests")


def read_by_the_sources() -> set[str]:
    """Texts of Python that are such a name and nothing else, and what C asks `getenv` for."""
    found: set[str] = set()
    for path in (file for room in ROOMS for file in (ROOT / room).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "DSLC_" in text:
            texts = (n.value for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Constant))
            found |= {
                t for t in texts if isinstance(t, str) and re.fullmatch(r"DSLC_[A-Z0-9_]+", t)
            }
    for path in (file for room in ROOMS for file in (ROOT / room).rglob("*.c")):
        found |= set(re.findall(r'getenv\("(DSLC_\w+)"\)', path.read_text(encoding="utf-8")))
    return found


def test_the_table_has_every_variable_and_no_other() -> None:
    listed = re.findall(r"^\| `(DSLC_\w+)` \|", PAGE, re.M)
    assert len(listed) == len(set(listed)) > 20
    assert set(listed) == read_by_the_sources()
